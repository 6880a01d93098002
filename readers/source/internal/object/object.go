// Package object is what object stores have in common: buckets of objects with keys, read
// and listed over HTTP.
//
//	s3://bucket/model/2020/day 1.nc
//	     ├────┘ ├──────────────────┘
//	     bucket  key, as it is: nothing in it is percent-encoded
//
// A key is one string; that slashes make folders is only how listings show it: keys that
// begin with a prefix, with those rolled up that have another slash after it.
//
// A Service knows one kind of store: the addresses of its objects, how its requests are
// signed, and how its listings are written. The requests are made by the package source,
// which has one way of doing that for all servers.
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

// Service is an object store. It may be used by any number of goroutines. Addresses that it
// returns hold no secrets.
type Service interface {
	// Address returns where an object is read from.
	Address(bucket, key string) (*url.URL, error)
	// ListAddress returns where a page of a listing is read from.
	ListAddress(q *Query) (*url.URL, error)
	// ParsePage reads a page.
	ParsePage(body []byte, q *Query) (*Page, error)
	// Transport returns what makes the requests for a bucket's objects: it signs those that
	// go to the store, and passes them on to base.
	Transport(bucket string, base http.RoundTripper) http.RoundTripper
	// Hint says what a user can do about a request that was refused.
	Hint() string
}

// Query asks for a page of a listing.
type Query struct {
	Bucket string
	Prefix string // of the keys
	Deep   bool   // all objects, and no folders
	Most   int    // objects and folders; zero for as many as the store likes
	After  string // Next of the page before
}

// Page is a part of a listing.
type Page struct {
	Entries []Entry
	Next    string // empty: it is the last
}

// Entry is an object, or what keys have in common up to a slash.
type Entry struct {
	Key      string // that of a folder ends with a slash
	Folder   bool
	Size     int64
	Modified time.Time // the zero time where it is not known
	ETag     string    // as the header says it; empty where the two may differ
}

// Split returns the bucket and the key of a name such as s3://bucket/key.
func Split(name string) (scheme, bucket, key string, err error) {
	scheme, rest, _ := strings.Cut(name, "://")
	scheme = strings.ToLower(scheme)
	bucket, key, _ = strings.Cut(rest, "/")
	if bucket == "" || len(bucket) > 255 || strings.ContainsFunc(bucket, notOfBucket) || strings.Trim(bucket, ".") == "" {
		return "", "", "", fmt.Errorf("%s://%q is not a name like %s://bucket/key: buckets have letters, digits, '-', '_' and '.'", scheme, bucket, scheme)
	}
	return scheme, bucket, key, nil
}

func notOfBucket(r rune) bool {
	letter := 'a' <= r|0x20 && r|0x20 <= 'z'
	return !letter && (r < '0' || r > '9') && r != '-' && r != '_' && r != '.' && r != '$'
}

// Under returns the address of an object below that of a server or a bucket. Every byte
// that is not plain is escaped, which is how the services sign.
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

// Escape percent-encodes a key for a path; slashes stay.
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

// Endpoint reads the URL of a server that somebody has set.
func Endpoint(setting, text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%s: want a URL like https://host:port", setting)
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("%s: want a URL without user, query and fragment", setting)
	}
	return u, nil
}

// IsHome reports whether a request goes to the server that base is an address on. What is
// signed is meant for that and nobody else.
func IsHome(req *http.Request, base *url.URL) bool {
	return strings.EqualFold(req.URL.Host, base.Host) && req.URL.Scheme == base.Scheme
}

// IsSet reports whether a variable of the environment that is a switch is on.
func IsSet(value string) bool {
	switch strings.ToLower(value) {
	case "1", "yes", "true", "on":
		return true
	}
	return false
}

// First returns the first value that is not empty.
func First(getenv func(string) string, names ...string) string {
	for _, name := range names {
		if v := getenv(name); v != "" {
			return v
		}
	}
	return ""
}

// CredentialsError is the error of credentials that are configured and cannot be had.
type CredentialsError struct {
	Service string
	Err     error
}

func (e *CredentialsError) Error() string {
	return fmt.Sprintf("the credentials for %s cannot be had: %v", e.Service, e.Err)
}

// Unwrap says that without credentials nothing may be read.
func (e *CredentialsError) Unwrap() []error { return []error{fs.ErrPermission, e.Err} }

// ErrListing marks listings that are not as their service writes them.
var ErrListing = errors.New("the server's listing is wrong")

// Quoted returns an ETag as headers have it, also where listings leave the quotes out.
func Quoted(tag string) string {
	tag = strings.Trim(tag, `"`)
	if tag == "" || strings.HasPrefix(tag, "W/") {
		return ""
	}
	return `"` + tag + `"`
}

// Signing returns a transport that signs the requests which go to the server that home is an
// address on, and passes all on to base. Answers name the request as it was before, whose
// address has no signature in it.
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
