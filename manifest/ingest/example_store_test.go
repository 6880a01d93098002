package ingest_test

import (
	"bytes"
	"context"
	"crypto/md5"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"varve/manifest/ingest"
	"varve/manifest/present"
	"varve/manifest/store"
	"varve/readers/source"
)

// memoryStore is an object store in memory. It answers the requests of Amazon S3 that varve makes.
type memoryStore struct {
	mu      sync.Mutex
	objects map[string][]byte // by bucket and key
	lists   int
}

// RoundTrip answers a request without a network.
func (s *memoryStore) RoundTrip(req *http.Request) (*http.Response, error) {
	var body []byte
	if req.Body != nil {
		var err error
		if body, err = io.ReadAll(req.Body); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	w := httptest.NewRecorder()
	s.answer(w, req, body)
	answer := w.Result()
	answer.Request = req
	return answer, nil
}

func (s *memoryStore) answer(w http.ResponseWriter, req *http.Request, body []byte) {
	key := strings.TrimPrefix(req.URL.Path, "/")
	content, found := s.objects[key]
	tag := fmt.Sprintf(`"%x"`, md5.Sum(content))
	match, none := req.Header.Get("If-Match"), req.Header.Get("If-None-Match")
	switch {
	case req.URL.Query().Has("list-type"):
		s.list(w, key, req.URL.Query().Get("prefix"))
	case req.Method == http.MethodPut && (none == "*" && found || match != "" && match != tag):
		w.WriteHeader(http.StatusPreconditionFailed)
	case req.Method == http.MethodPut:
		s.objects[key] = body
		w.Header().Set("ETag", fmt.Sprintf(`"%x"`, md5.Sum(body)))
	case req.Method == http.MethodDelete:
		delete(s.objects, key)
		w.WriteHeader(http.StatusNoContent)
	case !found:
		w.WriteHeader(http.StatusNotFound)
		io.WriteString(w, "<Error><Code>NoSuchKey</Code></Error>")
	default:
		w.Header().Set("ETag", tag)
		http.ServeContent(w, req, "", time.Unix(1e9, 0), bytes.NewReader(content))
	}
}

// list answers with all keys below a prefix. It has no pages.
func (s *memoryStore) list(w http.ResponseWriter, bucket, prefix string) {
	s.lists++
	var entries []string
	for name, content := range s.objects {
		key := strings.TrimPrefix(name, strings.TrimSuffix(bucket, "/")+"/")
		rest, ok := strings.CutPrefix(key, prefix)
		if !ok {
			continue
		}
		entry := fmt.Sprintf("<Contents><Key>%s</Key><LastModified>2001-09-09T01:46:40.000Z</LastModified><ETag>&quot;%x&quot;</ETag><Size>%d</Size></Contents>", key, md5.Sum(content), len(content))
		if folder, _, deeper := strings.Cut(rest, "/"); deeper {
			entry = "<CommonPrefixes><Prefix>" + prefix + folder + "/</Prefix></CommonPrefixes>"
		}
		entries = append(entries, entry)
	}
	slices.Sort(entries)
	w.Header().Set("Content-Type", "application/xml")
	io.WriteString(w, "<ListBucketResult>"+strings.Join(slices.Compact(entries), "")+"</ListBucketResult>")
}

// Files and a manifest are kept in a storage of the program, here in memory.
func Example_ownStore() {
	memory := &memoryStore{objects: map[string][]byte{}}
	if err := source.RegisterStore("memory", source.Store{Transport: memory}); err != nil {
		fmt.Println(err)
		return
	}
	for _, month := range []string{"2021-01.nc", "2021-02.nc"} {
		data, err := os.ReadFile(filepath.Join("../../fixtures/demo", month))
		if err != nil {
			fmt.Println(err)
			return
		}
		memory.objects["archive/t2m/"+month] = data
	}
	ctx := context.Background()
	files := ingest.Sources{Names: []string{"memory://archive/t2m/"}}
	made, err := ingest.Build(ctx, "memory://manifests/t2m.varve", &ingest.Options{Sources: files, Writer: "example"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(made.Snapshot.Sources, "files")
	s, err := store.Open(ctx, "memory://manifests/t2m.varve", &store.Options{Trusted: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	lat, err := present.Read[float64](ctx, s, "lat", present.Sel{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(lat.Data)
	// Output:
	// 2 files
	// [45 47 49 51 53 55]
}

// TestRegisterStore checks which schemes are refused.
func TestRegisterStore(t *testing.T) {
	if err := source.RegisterStore("twice", source.Store{}); err != nil {
		t.Fatal(err)
	}
	for _, scheme := range []string{"", "s3", "https", "twice", "Upper", "a+b"} {
		if source.RegisterStore(scheme, source.Store{}) == nil {
			t.Errorf("%q is accepted", scheme)
		}
	}
	if source.RegisterStore("other", source.Store{Endpoint: "no address"}) == nil {
		t.Error("an endpoint without a host is accepted")
	}
	for name, want := range map[string]bool{"twice://bucket/key": true, "TWICE://bucket/key": true, "other://bucket/key": false} {
		if source.IsObject(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
}
