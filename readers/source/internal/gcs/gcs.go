// Package gcs reads Google Cloud Storage through its XML API, and stores through its JSON API:
//
//	GET /bucket/model/x.nc                Authorization: Bearer …
//	Host: storage.googleapis.com          X-Goog-User-Project: …
//	Range: bytes=0-262143
//
// Listings are those of Amazon S3, which Google writes too, so that ETags are the same in
// listings and in headers.
//
// Credentials are those that Google's own tools find; what they have no setting for is called
// as GDAL calls it.
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

// What tokens are good for. Who only reads has none that is good for more.
const (
	readOnly  = "https://www.googleapis.com/auth/devstorage.read_only"
	readWrite = "https://www.googleapis.com/auth/devstorage.read_write"
)

// Service is Google Cloud Storage.
type Service struct {
	endpoint *url.URL
	project  string // that pays for requests
	find     func(scope string) (oauth2.TokenSource, error)

	mu        sync.Mutex
	tokens    map[string]oauth2.TokenSource // by scope
	anonymous string                        // why nothing is signed
}

// New reads the configuration. It asks nobody for anything yet.
func New() (*Service, error) {
	s := &Service{
		endpoint: &url.URL{Scheme: "https", Host: "storage.googleapis.com"},
		project:  object.First(os.Getenv, "GS_USER_PROJECT", "GOOGLE_CLOUD_QUOTA_PROJECT"),
		find:     find,
	}
	if object.IsSet(os.Getenv("GS_NO_SIGN_REQUEST")) {
		s.anonymous = "GS_NO_SIGN_REQUEST is set, so nothing is signed"
	}
	emulator := os.Getenv("STORAGE_EMULATOR_HOST")
	if emulator == "" {
		return s, nil
	}
	s.anonymous = "STORAGE_EMULATOR_HOST is set, so nothing is signed"
	if !strings.Contains(emulator, "://") {
		emulator = "http://" + emulator
	}
	var err error
	s.endpoint, err = object.Endpoint("STORAGE_EMULATOR_HOST", emulator)
	return s, err
}

// find looks for credentials in the file that GOOGLE_APPLICATION_CREDENTIALS names, in that
// of gcloud, and asks the machine.
func find(scope string) (oauth2.TokenSource, error) {
	const patience = 15 * time.Second
	ctx := context.WithValue(context.Background(), oauth2.HTTPClient, &http.Client{Timeout: patience})
	found, err := google.FindDefaultCredentials(ctx, scope)
	if err != nil {
		return nil, err
	}
	return found.TokenSource, nil
}

// Address returns where an object is.
func (s *Service) Address(bucket, key string) (*url.URL, error) {
	return object.Under(s.endpoint, bucket, key), nil
}

// ListAddress returns where a page of a listing is.
func (s *Service) ListAddress(q *object.Query) (*url.URL, error) {
	u := object.Under(s.endpoint, q.Bucket)
	object.AddBucketQuery(u, q)
	return u, nil
}

// ParsePage reads a page of a listing.
func (s *Service) ParsePage(body []byte, q *object.Query) (*object.Page, error) {
	return object.ParseBucketResult(body, q)
}

// Hint says what to do about a request that was refused.
func (s *Service) Hint() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.anonymous != "" {
		return s.anonymous
	}
	return "GS_NO_SIGN_REQUEST=YES reads a public bucket; GS_USER_PROJECT=PROJECT a bucket whose readers pay"
}

// Transport gives requests that go to Google a token.
func (s *Service) Transport(_ string, base http.RoundTripper) http.RoundTripper {
	return object.Signing(s.endpoint, base, s.authorize)
}

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

func scopeOf(method string) string {
	if method == http.MethodGet || method == http.MethodHead {
		return readOnly
	}
	return readWrite
}

// token returns a token that is good, or nil if there are no credentials.
func (s *Service) token(scope string) (*oauth2.Token, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.anonymous != "" {
		return nil, nil
	}
	if s.tokens[scope] == nil {
		found, err := s.find(scope)
		// The library has no other way of telling that there are none from that they are bad.
		if err != nil && strings.Contains(err.Error(), "could not find default credentials") {
			s.anonymous = "no credentials for Google Cloud Storage were found, in GOOGLE_APPLICATION_CREDENTIALS, gcloud's or from the machine, so nothing is signed"
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
