package gcs

import (
	"errors"
	"io"
	"io/fs"
	"net/http"
	"strings"
	"testing"

	"golang.org/x/oauth2"

	"varve/readers/source/internal/object"
)

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func sent(t *testing.T, s *Service, at string) (*http.Request, error) {
	t.Helper()
	var out *http.Request
	base := roundTrip(func(req *http.Request) (*http.Response, error) {
		out = req
		return &http.Response{StatusCode: 206, Body: io.NopCloser(strings.NewReader(""))}, nil
	})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, at, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Transport("b", base).RoundTrip(req)
	if req.Header.Get("Authorization") != "" {
		t.Error("the token leaked into the caller's request")
	}
	return out, err
}

func service(t *testing.T, env map[string]string) *Service {
	t.Helper()
	for _, name := range []string{"GS_USER_PROJECT", "GOOGLE_CLOUD_QUOTA_PROJECT", "GS_NO_SIGN_REQUEST", "STORAGE_EMULATOR_HOST"} {
		t.Setenv(name, env[name])
	}
	s, err := New()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestTokens(t *testing.T) {
	const at = "https://storage.googleapis.com/b/k"
	static := oauth2.StaticTokenSource(&oauth2.Token{AccessToken: "tok"})
	for _, c := range []struct {
		name, at   string
		env        map[string]string
		find       func(string) (oauth2.TokenSource, error)
		want, hint string
	}{
		{"a token", at, nil, func(string) (oauth2.TokenSource, error) { return static, nil }, "Bearer tok", "GS_NO_SIGN_REQUEST"},
		{"elsewhere", "https://elsewhere.example/b/k", nil, func(string) (oauth2.TokenSource, error) { return static, nil }, "", ""},
		{"without TLS", "http://storage.googleapis.com/b/k", nil, func(string) (oauth2.TokenSource, error) { return static, nil }, "", ""},
		{"not wanted", at, map[string]string{"GS_NO_SIGN_REQUEST": "YES"}, nil, "", "GS_NO_SIGN_REQUEST is set"},
		{"emulator", "http://host:1/b/k", map[string]string{"STORAGE_EMULATOR_HOST": "host:1"}, nil, "", "STORAGE_EMULATOR_HOST"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := service(t, c.env)
			s.find = c.find
			req, err := sent(t, s, c.at)
			if err != nil || req.Header.Get("Authorization") != c.want || !strings.Contains(s.Hint(), c.hint) {
				t.Errorf("sent %v, %v; the hint is %q", req.Header, err, s.Hint())
			}
		})
	}
	s := service(t, map[string]string{"GS_USER_PROJECT": "p"})
	s.find = func(string) (oauth2.TokenSource, error) { return nil, errors.New("cannot read the key") }
	if _, err := sent(t, s, at); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("bad credentials: %v", err)
	}
	s.find = func(string) (oauth2.TokenSource, error) { return static, nil }
	if req, err := sent(t, s, at); err != nil || req.Header.Get("X-Goog-User-Project") != "p" {
		t.Errorf("sent %v, %v", req, err)
	}
}

// TestNoCredentials checks that the error of Google's library for missing credentials is recognized by its text.
func TestNoCredentials(t *testing.T) {
	s := service(t, nil)
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", "")
	t.Setenv("HOME", t.TempDir())
	t.Setenv("GCE_METADATA_HOST", "")
	t.Setenv("NO_GCE_CHECK", "true")
	s.find = find
	if req, err := sent(t, s, "https://storage.googleapis.com/b/k"); err != nil || req.Header.Get("Authorization") != "" || !strings.Contains(s.Hint(), "no credentials") {
		t.Errorf("got %v; the hint is %q", err, s.Hint())
	}
	s = service(t, nil)
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", "testdata/none.json")
	if _, err := sent(t, s, "https://storage.googleapis.com/b/k"); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("a missing file of credentials: %v", err)
	}
}

func TestAddresses(t *testing.T) {
	s := service(t, map[string]string{"STORAGE_EMULATOR_HOST": "http://host:1"})
	if got, err := s.Address("b", "a b/c%.nc"); err != nil || got.String() != "http://host:1/b/a%20b/c%25.nc" {
		t.Errorf("got %s, %v", got, err)
	}
	got, err := s.ListAddress(&object.Query{Bucket: "b", Prefix: "a b/", After: "+/=", Most: 1})
	if want := "http://host:1/b?continuation-token=%2B%2F%3D&delimiter=%2F&encoding-type=url&list-type=2&max-keys=1&prefix=a%20b%2F"; err != nil || got.String() != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}
