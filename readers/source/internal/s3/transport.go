package s3

import (
	"bytes"
	"context"
	"encoding/xml"
	"io"
	"net/http"
	"strings"

	"varve/readers/source/internal/object"
)

// Transport returns a transport that signs requests for a bucket's objects and sends them to the bucket's region.
func (s *Service) Transport(bucket string, base http.RoundTripper) http.RoundTripper {
	return &transport{s, bucket, base}
}

type transport struct {
	*Service
	bucket string
	base   http.RoundTripper
}

// RoundTrip makes a request, and repeats it if the bucket turns out to be in another region. It does not sign requests to
// other hosts, to which redirects lead.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if !object.IsHome(req, t.Service.base(t.bucket, t.region)) {
		return t.base.RoundTrip(req)
	}
	region := t.regionOf()
	for again := false; ; again = true {
		signed, err := t.sign(req, region)
		if err != nil {
			return nil, err
		}
		resp, err := t.base.RoundTrip(signed)
		if err != nil {
			return nil, err
		}
		// The signed request must not be visible to callers: errors and logs may contain it.
		resp.Request = req
		elsewhere := t.elsewhere(resp)
		if again || elsewhere == "" || elsewhere == region {
			return resp, nil
		}
		_ = resp.Body.Close()
		t.regions.Store(t.bucket, elsewhere)
		region = elsewhere
		if req, err = object.Again(req); err != nil {
			return nil, err
		}
	}
}

// regionOf returns the region in which the bucket was last found, or the configured one.
func (t *transport) regionOf() string {
	if found, ok := t.regions.Load(t.bucket); ok {
		return found.(string)
	}
	return t.region
}

// sign returns the signed request for a region.
func (t *transport) sign(req *http.Request, region string) (*http.Request, error) {
	signed := req.Clone(req.Context())
	if t.endpoint == nil {
		signed.URL.Host = t.Service.base(t.bucket, region).Host
		signed.Host = signed.URL.Host
	}
	if t.pays {
		signed.Header.Set("X-Amz-Request-Payer", "requester")
	}
	found, ok, err := t.keys.get(req.Context())
	if err != nil || !ok {
		return signed, err
	}
	// The body's hash is not signed, because computing it would need a second pass; TLS protects the body.
	const unsigned = "UNSIGNED-PAYLOAD"
	signed.Header.Set("X-Amz-Content-Sha256", unsigned)
	err = t.signer.SignHTTP(context.WithoutCancel(req.Context()), found, signed, unsigned, "s3", region, t.now())
	return signed, err
}

// elsewhere returns the region of the bucket in an answer that rejects the request for its region, or "". Amazon sends the
// region in a header, other servers in the body.
func (t *transport) elsewhere(resp *http.Response) string {
	switch resp.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusTemporaryRedirect, http.StatusPermanentRedirect,
		http.StatusBadRequest, http.StatusForbidden:
	default:
		return ""
	}
	region := resp.Header.Get("X-Amz-Bucket-Region")
	// Other statuses with a body are not worth the read: only the code AuthorizationHeaderMalformed names a region.
	if region == "" && resp.StatusCode == http.StatusBadRequest {
		region = regionIn(resp)
	}
	if !isRegion(region) {
		return ""
	}
	return region
}

// regionIn returns the region in the body of an error, or "". The body can be read again afterwards.
func regionIn(resp *http.Response) string {
	const most = 16 << 10
	head, err := io.ReadAll(io.LimitReader(resp.Body, most))
	resp.Body = &again{io.MultiReader(bytes.NewReader(head), resp.Body), resp.Body}
	var body struct {
		Code   string
		Region string
	}
	if err != nil || xml.Unmarshal(head, &body) != nil || !strings.HasPrefix(body.Code, "AuthorizationHeaderMalformed") {
		return ""
	}
	return body.Region
}

// again is a body whose beginning was read and is put back.
type again struct {
	io.Reader
	io.Closer
}
