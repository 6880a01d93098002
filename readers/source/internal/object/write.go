package object

import (
	"encoding/base64"
	"net/http"
	"net/url"
)

// Writer builds the requests that store objects. Package source makes the requests.
type Writer interface {
	// Put returns the request that stores an object at once.
	Put(p *Put) *Request
	// Remove returns the request that removes an object.
	Remove(bucket, key string) *Request
	// RemoveAll returns the request that removes up to 1,000 objects, or nil if there is none.
	RemoveAll(bucket string, keys []string) *Request
	// Unremoved parses the answer to RemoveAll. It returns the keys of objects that could not be removed.
	Unremoved(body []byte) (keys []string, err error)
	// Version returns the version of the object in an answer's headers, for a Condition.
	Version(h http.Header) string
	// Begin returns the request that begins to store an object in parts, or nil if none is needed.
	Begin(p *Put) *Request
	// Session parses the answer to Begin.
	Session(p *Put, h http.Header, body []byte) (*Session, error)
	// Unsigned returns the reason why requests are not signed, or "" if they are.
	Unsigned() string
}

// Store is an object store for reading and writing.
type Store interface {
	Service
	Writer
}

// Put describes an object to store.
type Put struct {
	Bucket, Key string
	MD5         []byte     // digest of the content, which the store checks; nil if it is stored in parts
	If          *Condition // nil: replace any existing object
}

// Condition is a condition for storing an object: its current version, or "" if the object must not exist. Objects stored with
// a condition may be replaced later, so caches must not keep them.
type Condition struct{ Version string }

// Request is a request that changes an object, without the content that it carries.
type Request struct {
	Method        string
	URL           *url.URL
	Header        http.Header
	Before, After []byte // bytes of the body before and after the content
}

// Session builds the requests that store an object in parts.
type Session struct {
	// Part returns the request that stores a part.
	Part func(p *Part) *Request
	// Ordered means that each part is appended to the previous ones, and that answers contain the number of stored
	// bytes.
	Ordered bool
	// Done returns the request that makes an object of the parts with the given ETags. Done is nil if the last part
	// ends the session.
	Done func(tags []string) *Request
	// Abort is the request that drops the parts, or nil if the store drops them after some time.
	Abort *Request
}

// Part is a part of an object.
type Part struct {
	Number         int // from 0 on
	Offset, Length int64
	Size           int64 // size of the object
	MD5            []byte
}

// NewRequest returns a request. headers are names and values in turn; empty values are left out.
func NewRequest(method string, u *url.URL, headers ...string) *Request {
	r := &Request{Method: method, URL: u, Header: http.Header{}}
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i+1] != "" {
			r.Header.Set(headers[i], headers[i+1])
		}
	}
	return r
}

// Conditional adds the HTTP headers for a condition on the ETag. It does nothing if c is nil.
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

// Sum returns an MD5 digest in the form of headers, base64.
func Sum(md5 []byte) string { return base64.StdEncoding.EncodeToString(md5) }

// WithQuery returns u with parameters added to its query. pairs are names and values in turn. It escapes a space as %20,
// because all services sign queries in this form.
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

// Again returns a copy of a request whose body starts again from the beginning.
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

// OneByOne is a part of a Writer that has no request that removes many objects.
type OneByOne struct{}

// RemoveAll returns nil.
func (OneByOne) RemoveAll(string, []string) *Request { return nil }

// Unremoved returns nil.
func (OneByOne) Unremoved([]byte) ([]string, error) { return nil, nil }
