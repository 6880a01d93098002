package gcs

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"varve/readers/source/internal/object"
)

// Put returns the request that stores an object, if its generation matches p.If: "Objects: insert" of the JSON API. Its
// body has two parts, the metadata and the content.
func (s *Service) Put(p *object.Put) *object.Request {
	about := map[string]string{"contentType": "application/octet-stream", "md5Hash": object.Sum(p.MD5)}
	if p.If != nil {
		about["cacheControl"] = "no-cache"
	}
	text, err := json.Marshal(about)
	if err != nil {
		panic(err) // a map of strings can always be encoded
	}
	line := rand.Text()
	r := object.NewRequest(http.MethodPost, s.upload(p, "multipart"), "Content-Type", "multipart/related; boundary="+line)
	r.Before = fmt.Appendf(nil, "--%s\r\nContent-Type: application/json; charset=UTF-8\r\n\r\n%s\r\n--%s\r\nContent-Type: application/octet-stream\r\n\r\n", line, text, line)
	r.After = fmt.Appendf(nil, "\r\n--%s--\r\n", line)
	return r
}

// upload returns the address to which an object is sent. how is the type of the upload.
func (s *Service) upload(p *object.Put, how string) *url.URL {
	u := object.WithQuery(object.Under(s.endpoint, "upload/storage/v1/b", p.Bucket, "o"), "uploadType", how, "name", p.Key)
	switch {
	case p.If == nil:
	case p.If.Version == "":
		u = object.WithQuery(u, "ifGenerationMatch", "0")
	default:
		u = object.WithQuery(u, "ifGenerationMatch", p.If.Version)
	}
	return u
}

// Remove returns the request that removes an object: "DELETE Object" of the XML API.
func (s *Service) Remove(bucket, key string) *object.Request {
	return object.NewRequest(http.MethodDelete, object.Under(s.endpoint, bucket, key))
}

// Version returns the generation.
func (s *Service) Version(h http.Header) string { return h.Get("X-Goog-Generation") }

// Unsigned returns the reason why requests are not signed, or "".
func (s *Service) Unsigned() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.anonymous
}

// Begin returns the request that begins a resumable upload.
func (s *Service) Begin(p *object.Put) *object.Request {
	return object.NewRequest(http.MethodPost, s.upload(p, "resumable"), "X-Upload-Content-Type", "application/octet-stream")
}

// Session returns the requests of the upload whose address is in the answer to Begin. Each part is appended to the previous
// ones, and the last part ends the upload:
//
//	PUT LOCATION                                    308 Resume Incomplete
//	Content-Range: bytes 0-16777215/50000000        Range: bytes=0-16777215
//
// The address is a secret. It must be on the same server.
func (s *Service) Session(_ *object.Put, h http.Header, _ []byte) (*object.Session, error) {
	at, err := url.Parse(h.Get("Location"))
	if err != nil || at.Host == "" {
		return nil, errors.New("the server's answer to beginning an upload has no Location")
	}
	// The address receives the token and the data, so it must not lead to another server.
	if !object.IsHome(&http.Request{URL: at}, s.endpoint) {
		return nil, fmt.Errorf("the server's answer to beginning an upload has a Location on another server (%s)", at.Host)
	}
	return &object.Session{
		Ordered: true,
		Part: func(part *object.Part) *object.Request {
			span := fmt.Sprintf("bytes %d-%d/%d", part.Offset, part.Offset+part.Length-1, part.Size)
			return object.NewRequest(http.MethodPut, at, "Content-Range", span)
		},
		Abort: object.NewRequest(http.MethodDelete, at),
	}, nil
}
