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

// Put stores an object, on condition of its generation. What is said about it comes before
// its content, in one body of two parts: "Objects: insert" of the JSON API.
func (s *Service) Put(p *object.Put) *object.Request {
	about := map[string]string{"contentType": "application/octet-stream", "md5Hash": object.Sum(p.MD5)}
	if p.If != nil {
		about["cacheControl"] = "no-cache"
	}
	text, err := json.Marshal(about)
	if err != nil {
		panic(err) // texts can be written
	}
	line := rand.Text()
	r := object.NewRequest(http.MethodPost, s.upload(p, "multipart"), "Content-Type", "multipart/related; boundary="+line)
	r.Before = fmt.Appendf(nil, "--%s\r\nContent-Type: application/json; charset=UTF-8\r\n\r\n%s\r\n--%s\r\nContent-Type: application/octet-stream\r\n\r\n", line, text, line)
	r.After = fmt.Appendf(nil, "\r\n--%s--\r\n", line)
	return r
}

// upload is where objects are sent to.
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

// Remove removes an object: "DELETE Object" of the XML API.
func (s *Service) Remove(bucket, key string) *object.Request {
	return object.NewRequest(http.MethodDelete, object.Under(s.endpoint, bucket, key))
}

// Version is the generation.
func (s *Service) Version(h http.Header) string { return h.Get("X-Goog-Generation") }

// Unsigned says why nothing is signed.
func (s *Service) Unsigned() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.anonymous
}

// Begin begins a resumable upload.
func (s *Service) Begin(p *object.Put) *object.Request {
	return object.NewRequest(http.MethodPost, s.upload(p, "resumable"), "X-Upload-Content-Type", "application/octet-stream")
}

// Session is the upload at the address that the answer has. Each part goes behind the one
// before, and the last ends it:
//
//	PUT LOCATION                                    308 Resume Incomplete
//	Content-Range: bytes 0-16777215/50000000        Range: bytes=0-16777215
//
// The address is a secret, and is believed only on the server that was asked.
func (s *Service) Session(_ *object.Put, h http.Header, _ []byte) (*object.Session, error) {
	at, err := url.Parse(h.Get("Location"))
	if err != nil || at.Host == "" {
		return nil, errors.New("the server begins an upload without saying where it is")
	}
	if !object.IsHome(&http.Request{URL: at}, s.endpoint) {
		return nil, fmt.Errorf("the server begins an upload on another, %s", at.Host)
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
