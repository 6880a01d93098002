package object

import (
	"encoding/base64"
	"net/http"
	"net/url"
)

// Writer is what a Service knows of storing objects. It says what to ask for; the requests
// are made by the package source.
type Writer interface {
	// Put stores an object at once.
	Put(p *Put) *Request
	// Remove removes an object.
	Remove(bucket, key string) *Request
	// Version tells which version of an object an answer is about, as a Condition takes it.
	Version(h http.Header) string
	// Begin begins to store an object in parts; nil if that takes no request.
	Begin(p *Put) *Request
	// Session reads the answer to Begin.
	Session(p *Put, h http.Header, body []byte) (*Session, error)
	// Unsigned says why nothing is signed; it is empty if all is.
	Unsigned() string
}

// Store is an object store that is read and written.
type Store interface {
	Service
	Writer
}

// Put is an object that is to be stored.
type Put struct {
	Bucket, Key string
	MD5         []byte     // of the content, for the store to compare; nil where it comes in parts
	If          *Condition // nil: whatever is there is replaced
}

// Condition is what has to be there for an object to be stored: some version, or, where
// that is empty, nothing. An object that is stored so may be replaced later, and is to be
// had from no cache.
type Condition struct{ Version string }

// Request is one that changes something, but for the content that it carries.
type Request struct {
	Method        string
	URL           *url.URL
	Header        http.Header
	Before, After []byte // around the content
}

// Session is an object that is being stored in parts.
type Session struct {
	// Part stores a part.
	Part func(p *Part) *Request
	// Ordered says that each part goes behind the one before, and that an answer says how
	// far the store has got.
	Ordered bool
	// Done makes an object of the parts, whose ETags it is told; nil if the last part does.
	Done func(tags []string) *Request
	// Abort gives the parts up; nil if they go by themselves.
	Abort *Request
}

// Part is a part of an object that is stored.
type Part struct {
	Number         int // from 0 on
	Offset, Length int64
	Size           int64 // of the object
	MD5            []byte
}

// NewRequest returns a request with headers, by their names.
func NewRequest(method string, u *url.URL, headers ...string) *Request {
	r := &Request{Method: method, URL: u, Header: http.Header{}}
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i+1] != "" {
			r.Header.Set(headers[i], headers[i+1])
		}
	}
	return r
}

// Conditional has a request be done on the condition of an ETag, as HTTP says it.
func (r *Request) Conditional(c *Condition) {
	if c == nil {
		return
	}
	r.Header.Set("Cache-Control", "no-cache")
	if c.Version == "" {
		r.Header.Set("If-None-Match", "*")
	} else {
		r.Header.Set("If-Match", c.Version)
	}
}

// Sum writes an MD5 as headers have it.
func Sum(md5 []byte) string { return base64.StdEncoding.EncodeToString(md5) }

// WithQuery returns a URL with parameters, by their names, as all services sign them: a
// space is %20.
func WithQuery(u *url.URL, pairs ...string) *url.URL {
	at := *u
	for i := 0; i+1 < len(pairs); i += 2 {
		if at.RawQuery != "" {
			at.RawQuery += "&"
		}
		at.RawQuery += pairs[i] + "=" + escapeQuery(pairs[i+1])
	}
	return &at
}

func escapeQuery(s string) string {
	out := make([]byte, 0, len(s))
	for _, c := range []byte(Escape(s)) {
		if c == '/' {
			out = append(out, "%2F"...)
		} else {
			out = append(out, c)
		}
	}
	return string(out)
}

// Again returns a request with its body from the beginning.
func Again(req *http.Request) (*http.Request, error) {
	if req.GetBody == nil {
		return req, nil
	}
	body, err := req.GetBody()
	if err != nil {
		return nil, err
	}
	again := req.Clone(req.Context())
	again.Body = body
	return again, nil
}
