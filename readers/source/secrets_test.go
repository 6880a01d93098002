package source_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"varve/readers/source"
	"varve/readers/source/sourcetest"
)

func TestShown(t *testing.T) {
	for name, want := range map[string]string{
		"/a b?sig=c":                    "/a b?sig=c",
		"file:///a?sig=c":               "file:///a?sig=c",
		"https://u:hunter2@host/a?b=c":  "https://host/a",
		"https://host/a?sst[0:1],lat":   "https://host/a?sst[0:1],lat",
		"https://host/a?sst%5B0%3A1%5D": "https://host/a?sst%5B0%3A1%5D",
		"https://host/a?sst[(2020-01-01T00:00:00Z):1:(last)][0]&time%3E=2020-01-01&x!=2&y<3": "https://host/a?sst[(2020-01-01T00:00:00Z):1:(last)][0]&time%3E=2020-01-01&x!=2&y<3",
		"https://host/a?dap4.ce=/sst[0:1];/lat":                                              "https://host/a?dap4.ce=/sst[0:1];/lat",
		"https://host/a?var=sst&North=1&time=x":                                              "https://host/a?var=sst&North=1&time=x",
		"https://host/a?file=gfs&var_TMP=on&lev_":                                            "https://host/a?file=gfs&var_TMP=on",
		"https://host/a?var=sst;token=hunter2":                                               "https://host/a",
		"https://host/a?hunter2":                                                             "https://host/a",
		"https://host/a?hunter2=&=hunter2&var=":                                              "https://host/a",
		"https://host/a?hunter2,lat":                                                         "https://host/a",
		"https://host/a?var%zz=1":                                                            "https://host/a",
		"https://host/a?":                                                                    "https://host/a?",
		"https://host/a#mode=bytes":                                                          "https://host/a",
		"https://host/a?token=hunter2":                                                       "https://host/a",
		"HTTPS://host/a?Token=hunter2":                                                       "https://host/a",
		"https://host/a?var=c&%73ig=x&d":                                                     "https://host/a?var=c",
		"https://host/a?api%5Fkey=x":                                                         "https://host/a",
		"https://u:hunter2@host\x7f/?a":                                                      "https://host\x7f/",
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

// TestKeptQuery checks which parameters an Opener stores, and that the stored name is opened with the whole URL.
func TestKeptQuery(t *testing.T) {
	const whole = "https://u:hunter2@host/a?id=1&ID=2&token=hunter2&text&%69d=3"
	for want, keep := range map[string][]string{
		"https://host/a":                       nil,
		"https://host/a?id=1&ID=2&%69d=3":      {"Id"},
		"https://host/a?text":                  {"text"},
		"https://host/a?id=1&ID=2&text&%69d=3": {source.Nameless, "id"},
	} {
		got := source.Stored(whole, keep)
		if got != want || source.Stored(got, keep) != got {
			t.Errorf("%q: got %s, want %s", keep, got, want)
		}
	}
	o := quickOpener()
	stored, err := o.Remember(whole, []string{"id"})
	if err != nil || !o.Remembers(stored) || !slices.Equal(o.NotStored(stored), []string{"?", "token"}) {
		t.Errorf("%s, %v: not stored: %q", stored, err, o.NotStored(stored))
	}
	for name, parameters := range map[string][]string{
		whole: nil, "https://v:w@host/a?%69d=3&text&id=1&token=hunter2&ID=2": nil, strings.Replace(whole, "n=h", "n=g", 1): {"token"}, stored: {"?", "token"},
	} {
		_, err := o.Remember(name, []string{"id"})
		var same *source.SameNameError
		if errors.As(err, &same); same == nil && parameters != nil || same != nil && !slices.Equal(same.Parameters, parameters) || strings.Contains(fmt.Sprint(err), "hunter2") {
			t.Errorf("%s: got %v, want an error about %q", name, err, parameters)
		}
	}
}
