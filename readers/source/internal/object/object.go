// Package object defines the common interface of object stores: buckets of objects with keys, read and listed over HTTP.
//
//	s3://bucket/model/2020/day 1.nc
//	     ├────┘ ├──────────────────┘
//	     bucket  key: never percent-encoded
//
// A key is one string. Folders exist only in listings: a listing of a prefix groups keys that have another slash after the
// prefix.
//
// A Service implements one kind of store: the addresses of its objects, the signing of its requests, and the format of its
// listings. Package source makes the requests, in the same way for all servers.
package object

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Service is an object store. Any number of goroutines may use it. The addresses that it returns contain no secrets.
type Service interface {
	// Address returns the address of an object.
	Address(bucket, key string) (*url.URL, error)
	// ListAddress returns the address of a page of a listing.
	ListAddress(q *Query) (*url.URL, error)
	// ParsePage parses a page of a listing.
	ParsePage(body []byte, q *Query) (*Page, error)
	// Transport returns a transport for the requests of a bucket's objects. It signs requests to the store, and
	// passes all requests to base.
	Transport(bucket string, base http.RoundTripper) http.RoundTripper
	// Hint returns advice for a user whose request was denied.
	Hint() string
}

// Query describes a page of a listing.
type Query struct {
	Bucket string
	Prefix string // prefix of the keys
	Deep   bool   // list all objects, and no folders
	Most   int    // maximum number of objects and folders; 0 means the store's default
	After  string // Page.Next of the previous page
}

// Page is a part of a listing.
type Page struct {
	Entries []Entry
	Next    string // continues the listing; empty for the last page
}

// Entry is an object, or a folder: the common beginning of keys up to a slash.
type Entry struct {
	Key      string // ends with a slash for a folder
	Folder   bool
	Size     int64
	Modified time.Time // the zero time if it is not known
	ETag     string    // in the form of the ETag header; empty if it may differ from the header
}

// Split returns the scheme, the bucket and the key of a name such as s3://bucket/key.
func Split(name string) (scheme, bucket, key string, err error) {
	scheme, rest, _ := strings.Cut(name, "://")
	scheme = strings.ToLower(scheme)
	bucket, key, _ = strings.Cut(rest, "/")
	if bucket == "" || len(bucket) > 255 || strings.ContainsFunc(bucket, notOfBucket) || strings.Trim(bucket, ".") == "" {
		return "", "", "", fmt.Errorf("%s://%q is not a name like %s://bucket/key: a bucket has 1 to 255 letters, digits, '-', '_' and '.'", scheme, bucket, scheme)
	}
	return scheme, bucket, key, nil
}

// notOfBucket reports whether r is not allowed in the name of a bucket.
func notOfBucket(r rune) bool {
	letter := 'a' <= r|0x20 && r|0x20 <= 'z'
	return !letter && (r < '0' || r > '9') && r != '-' && r != '_' && r != '.' && r != '$'
}

// Under returns base with parts appended to its path. It escapes every byte except letters, digits and -._~/, because the
// services sign paths in this form.
func Under(base *url.URL, parts ...string) *url.URL {
	u := *base
	plain, raw := strings.TrimSuffix(base.Path, "/"), strings.TrimSuffix(base.EscapedPath(), "/")
	for _, part := range parts {
		plain += "/" + part
		raw += "/" + Escape(part)
	}
	u.Path, u.RawPath = plain, raw
	return &u
}

// Escape percent-encodes a key for a path, except its slashes.
func Escape(key string) string {
	const digits = "0123456789ABCDEF"
	out := make([]byte, 0, len(key)+16)
	for i := range len(key) {
		switch c := key[i]; {
		case 'a' <= c|0x20 && c|0x20 <= 'z', '0' <= c && c <= '9', strings.IndexByte("-._~/", c) >= 0:
			out = append(out, c)
		default:
			out = append(out, '%', digits[c>>4], digits[c&15])
		}
	}
	return string(out)
}

// Endpoint parses the URL of a server in a setting. Errors contain the setting's name, but not its value, which may contain a
// secret.
func Endpoint(setting, text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%s: must be a URL like https://host:port", setting)
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("%s: must be a URL without user, query and fragment", setting)
	}
	return u, nil
}

// IsHome reports whether a request goes to the server of the address base. Signatures must not be sent elsewhere.
func IsHome(req *http.Request, base *url.URL) bool {
	return strings.EqualFold(req.URL.Host, base.Host) && req.URL.Scheme == base.Scheme
}

// IsSet reports whether the value of an environment variable means "on".
func IsSet(value string) bool {
	switch strings.ToLower(value) {
	case "1", "yes", "true", "on":
		return true
	}
	return false
}

// First returns the value of the first named variable that is not empty.
func First(getenv func(string) string, names ...string) string {
	for _, name := range names {
		if v := getenv(name); v != "" {
			return v
		}
	}
	return ""
}

// CredentialsError is the error of credentials that are configured but cannot be obtained.
type CredentialsError struct {
	Service string
	Err     error
}

func (e *CredentialsError) Error() string {
	return fmt.Sprintf("the configured credentials for %s cannot be obtained: %v", e.Service, e.Err)
}

// Unwrap returns fs.ErrPermission and the cause.
func (e *CredentialsError) Unwrap() []error { return []error{fs.ErrPermission, e.Err} }

// ErrListing marks errors of listings that violate their format.
var ErrListing = errors.New("the server's listing is invalid")

// Quoted returns the ETag of a listing in the form of the ETag header, with quotes. It returns "" for a weak one.
func Quoted(tag string) string {
	tag = strings.Trim(tag, `"`)
	if tag == "" || strings.HasPrefix(tag, "W/") {
		return ""
	}
	return `"` + tag + `"`
}

// Signing returns a transport that signs requests to the server of the address home, and passes all requests to base. The
// Request field of answers is the request before signing, so that its address contains no signature.
func Signing(home *url.URL, base http.RoundTripper, sign func(*http.Request) error) http.RoundTripper {
	return &signing{home, base, sign}
}

type signing struct {
	home *url.URL
	base http.RoundTripper
	sign func(*http.Request) error
}

// RoundTrip makes a request.
func (t *signing) RoundTrip(req *http.Request) (*http.Response, error) {
	if !IsHome(req, t.home) {
		return t.base.RoundTrip(req)
	}
	signed := req.Clone(req.Context())
	if err := t.sign(signed); err != nil {
		return nil, err
	}
	resp, err := t.base.RoundTrip(signed)
	if err == nil {
		resp.Request = req
	}
	return resp, err
}
