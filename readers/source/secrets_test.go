package source_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"varve/readers/source"
	"varve/readers/source/sourcetest"
)

func TestShown(t *testing.T) {
	for name, want := range map[string]string{
		"/a b?sig=c":                    "/a b?sig=c",
		"file:///a?sig=c":               "file:///a?sig=c",
		"https://u:hunter2@host/a?b=c":  "https://host/a?b=c",
		"https://host/a?sst[0:1],lat":   "https://host/a?sst[0:1],lat",
		"https://host/a?sp=1&sv=2":      "https://host/a?sp=1&sv=2",
		"https://host/a#mode=bytes":     "https://host/a",
		"https://host/a?token=hunter2":  "https://host/a",
		"HTTPS://host/a?Token=hunter2":  "https://host/a",
		"https://host/a?b=c&%73ig=x&d":  "https://host/a?b=c&d",
		"https://host/a?api%5Fkey=x":    "https://host/a",
		"https://u:hunter2@host\x7f/?a": "https://host\x7f/",
		"https://b.s3.amazonaws.com/k?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKID&X-Amz-Security-Token=t&X-Amz-Signature=s&versionId=v": "https://b.s3.amazonaws.com/k?versionId=v",
		"https://b.s3.amazonaws.com/k?AWSAccessKeyId=A&Expires=1&Signature=s":                                                                      "https://b.s3.amazonaws.com/k",
		"https://storage.googleapis.com/b/k?X-Goog-Credential=c&X-Goog-Signature=s":                                                                "https://storage.googleapis.com/b/k",
		"https://a.blob.core.windows.net/c/k?sv=2021&st=1&se=2&sr=b&sp=r&sig=s%3D&snapshot=x":                                                      "https://a.blob.core.windows.net/c/k?snapshot=x",
		"S3://bucket/a?sig=c%20#d": "s3://bucket/a?sig=c%20#d",
		"gs://bucket/store.zarr/":  "gs://bucket/store.zarr",
	} {
		if got := source.Shown(name); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
		if again := source.Shown(source.Shown(name)); again != source.Shown(name) {
			t.Errorf("%q: shown again: %q", name, again)
		}
	}
}

// TestSignedURLs checks that a signature is sent, but does not appear in a name or an error. Opening the name
// with the same Opener reads the same file.
func TestSignedURLs(t *testing.T) {
	server := sourcetest.NewServer(t)
	at := server.Put("/x.nc", []byte("12345"))
	files := server.Config.Handler
	server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("X-Amz-Signature") != "hunter2" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		files.ServeHTTP(w, r)
	})
	opener := quickOpener()
	const query = "?X-Amz-Credential=hunter3&X-Amz-Signature=hunter2"
	s, err := opener.Open(t.Context(), at+query)
	if err != nil || s.Name() != at {
		t.Fatalf("%v; it is called %s", err, s.Name())
	}
	if _, err := opener.OpenVersion(t.Context(), s.Name(), s.Identity()); err != nil {
		t.Error(err)
	}
	if _, err := opener.Open(t.Context(), s.Name()); err != nil {
		t.Error(err)
	}
	for _, name := range []string{server.URL + "/absent" + query, at + strings.ReplaceAll(query, "hunter2", "hunter4"), "http://127.0.0.1:1/x" + query, at + query + "#x"} {
		if _, err := quickOpener().Open(t.Context(), name); err == nil || strings.Contains(fmt.Sprint(err), "hunter") {
			t.Errorf("got %v, want an error without secrets", err)
		}
	}
}
