// Package gcs reads Google Cloud Storage with its XML API, and writes with its JSON API:
//
//	GET /bucket/model/x.nc                Authorization: Bearer …
//	Host: storage.googleapis.com          X-Goog-User-Project: …
//	Range: bytes=0-262143
//
// Listings use the format of Amazon S3, which Google supports, because there the ETags equal those in headers.
//
// Credentials are found as by Google's tools. Other settings have the names of GDAL's settings.
package gcs

import (
	"context"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"

	"varve/readers/source/internal/object"
)

// Scopes of tokens. Reading uses only read-only tokens.
const (
	readOnly  = "https://www.googleapis.com/auth/devstorage.read_only"
	readWrite = "https://www.googleapis.com/auth/devstorage.read_write"
)

// Service is Google Cloud Storage.
type Service struct {
	object.OneByOne

	endpoint *url.URL
	project  string // the project that pays for requests, or ""
	find     func(scope string) (oauth2.TokenSource, error)

	mu        sync.Mutex
	tokens    map[string]oauth2.TokenSource // by scope
	anonymous string                        // the reason why requests are not signed, or ""
}

// New returns the Service for the configuration in the environment. It makes no requests.
func New() (*Service, error) {
	s := &Service{
		endpoint: &url.URL{Scheme: "https", Host: "storage.googleapis.com"},
		project:  object.First(os.Getenv, "GS_USER_PROJECT", "GOOGLE_CLOUD_QUOTA_PROJECT"),
		find:     find,
	}
	if object.IsSet(os.Getenv("GS_NO_SIGN_REQUEST")) {
		s.anonymous = "the request was not signed, because GS_NO_SIGN_REQUEST is set"
	}
	emulator := os.Getenv("STORAGE_EMULATOR_HOST")
	if emulator == "" {
		return s, nil
	}
	s.anonymous = "the request was not signed, because STORAGE_EMULATOR_HOST is set"
	if !strings.Contains(emulator, "://") {
		emulator = "http://" + emulator
	}
	var err error
	s.endpoint, err = object.Endpoint("STORAGE_EMULATOR_HOST", emulator)
	return s, err
}

// find returns the first credentials of: the file in GOOGLE_APPLICATION_CREDENTIALS, the file of gcloud, the machine's
// metadata server.
func find(scope string) (oauth2.TokenSource, error) {
	const patience = 15 * time.Second
	ctx := context.WithValue(context.Background(), oauth2.HTTPClient, &http.Client{Timeout: patience})
	found, err := google.FindDefaultCredentials(ctx, scope)
	if err != nil {
		return nil, err
	}
	return found.TokenSource, nil
}

// Address returns the address of an object.
func (s *Service) Address(bucket, key string) (*url.URL, error) {
	return object.Under(s.endpoint, bucket, key), nil
}

// ListAddress returns the address of a page of a listing.
func (s *Service) ListAddress(q *object.Query) (*url.URL, error) {
	u := object.Under(s.endpoint, q.Bucket)
	object.AddBucketQuery(u, q)
	return u, nil
}

// ParsePage reads a page of a listing.
func (s *Service) ParsePage(body []byte, q *object.Query) (*object.Page, error) {
	return object.ParseBucketResult(body, q)
}

// Hint returns advice for a request that was denied.
func (s *Service) Hint() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.anonymous != "" {
		return s.anonymous
	}
	return "GS_NO_SIGN_REQUEST=YES reads a public bucket; GS_USER_PROJECT=PROJECT a bucket whose readers pay"
}

// Transport returns a transport that adds a token to requests to Google.
func (s *Service) Transport(_ string, base http.RoundTripper) http.RoundTripper {
	return object.Signing(s.endpoint, base, s.authorize)
}

// authorize adds a token to a request.
func (s *Service) authorize(req *http.Request) error {
	if s.project != "" {
		req.Header.Set("X-Goog-User-Project", s.project)
	}
	token, err := s.token(scopeOf(req.Method))
	if err != nil {
		return &object.CredentialsError{Service: "Google Cloud Storage", Err: err}
	}
	if token != nil {
		token.SetAuthHeader(req)
	}
	return nil
}

// scopeOf returns the scope that a request of the given method needs.
func scopeOf(method string) string {
	if method == http.MethodGet || method == http.MethodHead {
		return readOnly
	}
	return readWrite
}

// token returns a valid token, or nil if there are no credentials.
func (s *Service) token(scope string) (*oauth2.Token, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.anonymous != "" {
		return nil, nil
	}
	if s.tokens[scope] == nil {
		found, err := s.find(scope)
		// Only the text of the library's error distinguishes missing credentials from invalid ones.
		if err != nil && strings.Contains(err.Error(), "could not find default credentials") {
			s.anonymous = "the request was not signed, because no credentials for Google Cloud Storage were found (GOOGLE_APPLICATION_CREDENTIALS, gcloud, or the machine's identity)"
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		if s.tokens == nil {
			s.tokens = map[string]oauth2.TokenSource{}
		}
		s.tokens[scope] = found
	}
	return s.tokens[scope].Token()
}
