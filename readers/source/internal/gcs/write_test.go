package gcs

import (
	"net/http"
	"strings"
	"testing"

	"golang.org/x/oauth2"

	"varve/readers/source/internal/object"
)

// TestScopes checks that a token for reading does not also permit writing.
func TestScopes(t *testing.T) {
	s := service(t, nil)
	s.find = func(scope string) (oauth2.TokenSource, error) {
		return oauth2.StaticTokenSource(&oauth2.Token{AccessToken: scope[strings.LastIndexByte(scope, '.')+1:]}), nil
	}
	q := s.Put(&object.Put{Bucket: "b", Key: "k", If: &object.Condition{Version: "17"}})
	if got := q.URL.Query(); got.Get("ifGenerationMatch") != "17" || got.Get("name") != "k" {
		t.Errorf("put at %s", q.URL)
	}
	for method, want := range map[string]string{http.MethodGet: "read_only", http.MethodHead: "read_only", http.MethodPost: "read_write", http.MethodDelete: "read_write"} {
		req, err := http.NewRequestWithContext(t.Context(), method, q.URL.String(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.authorize(req); err != nil || req.Header.Get("Authorization") != "Bearer "+want {
			t.Errorf("%s: %v, %v", method, req.Header, err)
		}
	}
}

// TestSession checks that all parts of an upload are sent to the session's address.
func TestSession(t *testing.T) {
	s := service(t, nil)
	for at, ok := range map[string]bool{
		"https://storage.googleapis.com/upload?upload_id=1": true, "https://evil.example/upload": false,
		"http://storage.googleapis.com/upload": false, "": false, "/upload": false, "::": false,
	} {
		begun, err := s.Session(nil, http.Header{"Location": {at}}, nil)
		if (err == nil) != ok {
			t.Errorf("%q: %v", at, err)
		}
		if err == nil && begun.Part(&object.Part{Offset: 10, Length: 5, Size: 15}).Header.Get("Content-Range") != "bytes 10-14/15" {
			t.Error("a part has another range")
		}
	}
}
