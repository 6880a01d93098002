package s3

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/credentials/ec2rolecreds"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"

	"varve/readers/source/internal/object"
)

// answers is a server that records the requests and sends prepared answers in order.
type answers struct {
	requests []*http.Request
	next     []*http.Response
}

func (a *answers) RoundTrip(req *http.Request) (*http.Response, error) {
	a.requests = append(a.requests, req)
	resp := a.next[0]
	if len(a.next) > 1 {
		a.next = a.next[1:]
	}
	resp.Request = req
	return resp, nil
}

func answer(status int, body string, headers ...string) *http.Response {
	h := http.Header{}
	for i := 0; i < len(headers); i += 2 {
		h.Set(headers[i], headers[i+1])
	}
	return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body))}
}

// example is the service of the examples in Amazon's reference, "Authenticating Requests:
// Using the Authorization Header".
func example() *Service {
	s := newService(credentials.NewStaticCredentialsProvider("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", ""))
	s.now = func() time.Time { return time.Date(2013, 5, 24, 0, 0, 0, 0, time.UTC) }
	return s
}

func get(t *testing.T, s *Service, base http.RoundTripper, key string) *http.Response {
	t.Helper()
	at, err := s.Address("examplebucket", key)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, at.String(), nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Range", "bytes=0-9")
	resp, err := s.Transport("examplebucket", base).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	if resp.Request != req || req.Header.Get("Authorization") != "" {
		t.Error("the signature leaked into the caller's request")
	}
	return resp
}

// TestSignature signs Amazon's example of a GET request for the first ten bytes of an object. Amazon's example
// signs the hash of the body, this package states that the body is not signed. So the expected signature was made
// with botocore (testdata/sign.py).
func TestSignature(t *testing.T) {
	server := &answers{next: []*http.Response{answer(206, "0123456789")}}
	s := example()
	get(t, s, server, "test.txt")
	got := server.requests[0].Header.Get("Authorization")
	want := "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, Signature="
	if !strings.HasPrefix(got, want) {
		t.Errorf("got %s", got)
	}
	if signature := strings.TrimPrefix(got, want); signature != vectors["test.txt"] {
		t.Errorf("signature %s, want %s", signature, vectors["test.txt"])
	}
	for key, want := range vectors {
		server := &answers{next: []*http.Response{answer(206, "0123456789")}}
		get(t, s, server, key)
		if _, got, _ := strings.Cut(server.requests[0].Header.Get("Authorization"), "Signature="); got != want {
			t.Errorf("%q: signature %s, want %s; the path is %s", key, got, want, server.requests[0].URL.EscapedPath())
		}
	}
}

// TestSignatureOfTheReference checks the signature of the unchanged example.
func TestSignatureOfTheReference(t *testing.T) {
	s := example()
	const sumOfNothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	req, err := http.NewRequest(http.MethodGet, "https://examplebucket.s3.amazonaws.com/test.txt", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Range", "bytes=0-9")
	req.Header.Set("X-Amz-Content-Sha256", sumOfNothing)
	keys, _, err := s.keys.get(t.Context())
	if err == nil {
		err = s.signer.SignHTTP(t.Context(), keys, req, sumOfNothing, "s3", "us-east-1", s.now())
	}
	const want = "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"
	if err != nil || !strings.HasSuffix(req.Header.Get("Authorization"), want) {
		t.Errorf("%s, %v, want %s", req.Header.Get("Authorization"), err, want)
	}
}

func TestRegions(t *testing.T) {
	const malformed = `<Error><Code>AuthorizationHeaderMalformed</Code><Region>eu-west-2</Region></Error>`
	for _, c := range []struct {
		name   string
		first  *http.Response
		region string // of the next request; "" if there is none
	}{
		{"301", answer(301, "", "X-Amz-Bucket-Region", "eu-west-1"), "eu-west-1"},
		{"307 that leads elsewhere", answer(307, "", "X-Amz-Bucket-Region", "eu-west-1", "Location", "https://evil.example/"), "eu-west-1"},
		{"400", answer(400, "", "X-Amz-Bucket-Region", "ap-south-1"), "ap-south-1"},
		{"400 with a body", answer(400, malformed), "eu-west-2"},
		{"400 for another reason", answer(400, "<Error><Code>ExpiredToken</Code></Error>"), ""},
		{"403 in the same region", answer(403, "", "X-Amz-Bucket-Region", "us-east-1"), ""},
		{"no region but a server", answer(301, "", "X-Amz-Bucket-Region", "x.evil.example/"), ""},
		{"no region but a path", answer(400, strings.ReplaceAll(malformed, "eu-west-2", "a/b?c#")), ""},
		{"an answer", answer(206, "0123456789", "X-Amz-Bucket-Region", "eu-west-1"), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := &answers{next: []*http.Response{c.first, answer(206, "0123456789")}}
			s := example()
			body := readAll(t, get(t, s, server, "k"))
			if c.region == "" {
				if len(server.requests) != 1 || server.requests[0].URL.Host != "examplebucket.s3.us-east-1.amazonaws.com" {
					t.Errorf("%d requests, the last to %s", len(server.requests), server.requests[len(server.requests)-1].URL)
				}
				return
			}
			last := server.requests[len(server.requests)-1]
			if len(server.requests) != 2 || last.URL.Host != "examplebucket.s3."+c.region+".amazonaws.com" || last.Host != last.URL.Host ||
				!strings.Contains(last.Header.Get("Authorization"), "/"+c.region+"/s3/") || body != "0123456789" {
				t.Errorf("%d requests, the last to %s, signed %s", len(server.requests), last.URL, last.Header.Get("Authorization"))
			}
			get(t, s, server, "k2")
			if next := server.requests[len(server.requests)-1]; len(server.requests) != 3 || next.URL.Host != last.URL.Host {
				t.Errorf("the next request goes to %s", next.URL)
			}
		})
	}
}

func readAll(t *testing.T, resp *http.Response) string {
	t.Helper()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// TestMovesOnce checks that two regions that redirect to each other do not cause an endless loop.
func TestMovesOnce(t *testing.T) {
	server := &answers{next: []*http.Response{answer(301, "", "X-Amz-Bucket-Region", "a-1"), answer(301, "", "X-Amz-Bucket-Region", "b-1")}}
	if resp := get(t, example(), server, "k"); len(server.requests) != 2 || resp.StatusCode != 301 {
		t.Errorf("%d requests", len(server.requests))
	}
}

// TestOtherHosts checks that a redirect to another host carries neither the signature nor the token.
func TestOtherHosts(t *testing.T) {
	s := example()
	s.keys.provider = credentials.NewStaticCredentialsProvider("A", "B", "session-token")
	s.pays = true
	for _, at := range []string{"https://elsewhere.example/k", "http://examplebucket.s3.us-east-1.amazonaws.com/k", "https://other.s3.us-east-1.amazonaws.com/k"} {
		server := &answers{next: []*http.Response{answer(200, "")}}
		req, err := http.NewRequest(http.MethodGet, at, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Transport("examplebucket", server).RoundTrip(req); err != nil {
			t.Fatal(err)
		}
		if sent := server.requests[0]; len(sent.Header) > 0 || sent.URL.String() != at {
			t.Errorf("%s: sent to %s with %v", at, sent.URL, sent.Header)
		}
	}
	server := &answers{next: []*http.Response{answer(200, "")}}
	get(t, s, server, "k")
	if h := server.requests[0].Header; h.Get("X-Amz-Security-Token") != "session-token" || h.Get("X-Amz-Request-Payer") != "requester" ||
		!strings.Contains(h.Get("Authorization"), "x-amz-request-payer;x-amz-security-token") {
		t.Errorf("signed with a session: %v", h)
	}
}

func TestAddresses(t *testing.T) {
	for _, c := range []struct {
		name             string
		endpoint, region string
		virtual          bool
		bucket, key      string
		want             string
	}{
		{"Amazon's", "", "eu-west-1", false, "bucket", "a/b c.nc", "https://bucket.s3.eu-west-1.amazonaws.com/a/b%20c.nc"},
		{"China's", "", "cn-north-1", false, "bucket", "k", "https://bucket.s3.cn-north-1.amazonaws.com.cn/k"},
		{"dots break certificates", "", "us-east-1", false, "a.b", "k", "https://s3.us-east-1.amazonaws.com/a.b/k"},
		{"old buckets", "", "us-east-1", false, "Old_Bucket", "k", "https://s3.us-east-1.amazonaws.com/Old_Bucket/k"},
		{"another server", "http://host:9000", "us-east-1", false, "bucket", "k", "http://host:9000/bucket/k"},
		{"below a path", "https://host/s3/", "us-east-1", false, "bucket", "k", "https://host/s3/bucket/k"},
		{"by name", "https://host:9000", "us-east-1", true, "bucket", "k", "https://bucket.host:9000/k"},
		{"everything is escaped", "https://host", "us-east-1", false, "bucket", "é%20+?#&=*'", "https://host/bucket/%C3%A9%2520%2B%3F%23%26%3D%2A%27"},
		{"slashes stay", "https://host", "us-east-1", false, "bucket", "/a//b/../c", "https://host/bucket//a//b/../c"},
	} {
		s := example()
		s.region, s.virtual = c.region, c.virtual
		if c.endpoint != "" {
			var err error
			if s.endpoint, err = object.Endpoint("test", c.endpoint); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := s.Address(c.bucket, c.key); err != nil || got.String() != c.want {
			t.Errorf("%s: got %s, %v, want %s", c.name, got, err, c.want)
		}
	}
}

// TestConfiguration reads the configuration files and variables of Amazon's tools.
func TestConfiguration(t *testing.T) {
	for _, name := range []string{"AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE", "AWS_NO_SIGN_REQUEST", "AWS_REQUEST_PAYER", "AWS_VIRTUAL_HOSTING", "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_CONFIG_FILE", "testdata/config")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", "testdata/none")
	t.Setenv("AWS_ACCESS_KEY_ID", "A")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "B")
	for _, c := range []struct {
		name  string
		env   map[string]string
		want  string
		wrong bool
	}{
		{"nothing", nil, "https://bucket.s3.us-east-1.amazonaws.com/k", false},
		{"a region", map[string]string{"AWS_REGION": "eu-west-1"}, "https://bucket.s3.eu-west-1.amazonaws.com/k", false},
		{"a server for all services", map[string]string{"AWS_ENDPOINT_URL": "http://all:1"}, "http://all:1/bucket/k", false},
		{"a server for S3", map[string]string{"AWS_ENDPOINT_URL": "http://all:1", "AWS_ENDPOINT_URL_S3": "http://s3:2"}, "http://s3:2/bucket/k", false},
		{"a profile", map[string]string{"AWS_PROFILE": "minio"}, "http://profile:9000/bucket/k", false},
		{"a profile with a section", map[string]string{"AWS_PROFILE": "ceph"}, "http://section:9000/bucket/k", false},
		{"buckets in names", map[string]string{"AWS_ENDPOINT_URL": "http://all:1", "AWS_VIRTUAL_HOSTING": "TRUE"}, "http://bucket.all:1/k", false},
		{"a profile that is not there", map[string]string{"AWS_PROFILE": "none"}, "", true},
		{"no URL", map[string]string{"AWS_ENDPOINT_URL": "host:9000"}, "", true},
		{"a URL with a password", map[string]string{"AWS_ENDPOINT_URL": "http://u:hunter2@host"}, "", true},
		{"no region", map[string]string{"AWS_REGION": "x.evil.example/"}, "", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			for name, value := range c.env {
				t.Setenv(name, value)
			}
			s, err := New(t.Context(), nil)
			if c.wrong {
				if err == nil || strings.Contains(err.Error(), "hunter2") {
					t.Errorf("got %v, want an error", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got, err := s.Address("bucket", "k"); err != nil || got.String() != c.want {
				t.Errorf("got %s, %v, want %s", got, err, c.want)
			}
		})
	}
}

type failing struct{ err error }

func (f failing) Retrieve(context.Context) (aws.Credentials, error) { return aws.Credentials{}, f.err }

// TestNoCredentials checks that requests without credentials are not signed, and that invalid credentials are an
// error.
func TestNoCredentials(t *testing.T) {
	server := &answers{next: []*http.Response{answer(200, "")}}
	s := example()
	silent := imds.New(imds.Options{ClientEnableState: imds.ClientDisabled})
	s.keys.provider = aws.NewCredentialsCache(ec2rolecreds.New(func(o *ec2rolecreds.Options) { o.Client = silent }))
	get(t, s, server, "k")
	if h := server.requests[0].Header; h.Get("Authorization") != "" || !strings.Contains(s.Hint(), "no credentials") {
		t.Errorf("sent %v; the hint is %q", h, s.Hint())
	}
	s = example()
	s.keys.provider = failing{errors.New("the session has expired")}
	req, err := http.NewRequest(http.MethodGet, "https://examplebucket.s3.us-east-1.amazonaws.com/k", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Transport("examplebucket", server).RoundTrip(req); !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "expired") {
		t.Errorf("bad credentials: %v", err)
	}
}
