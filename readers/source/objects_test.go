package source_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"varve/readers/source"
	"varve/readers/source/internal/object"
	"varve/readers/source/sourcetest"
	"varve/readers/source/storetest"
)

// bucketOf serves objects as s3://bucket/…, and counts requests. The fault answer may answer instead.
func bucketOf(t *testing.T, content []byte, answer fault) *atomic.Int64 {
	t.Helper()
	files := sourcetest.NewServer(t)
	files.Put("/bucket/x.nc", content)
	n := &atomic.Int64{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if i := n.Add(1); answer == nil || !answer(int(i), w, r) {
			files.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close)
	storetest.Setenv(t, map[string]string{
		"AWS_ENDPOINT_URL": server.URL, "AWS_ACCESS_KEY_ID": "AKID", "AWS_SECRET_ACCESS_KEY": "hunter2", "AWS_SESSION_TOKEN": "hunter3",
	})
	return n
}

func quickOpener() *source.Opener { return openerWithStall(400 * time.Millisecond) }

// openerWithStall returns an opener with short pauses between attempts, and with the given Options.Stall.
func openerWithStall(stall time.Duration) *source.Opener {
	return source.NewOpener(&source.Options{Backoff: time.Millisecond, Stall: stall, Patience: 10 * time.Second})
}

// says returns a fault that answers like an object store when a request fails.
func says(status int, code string, headers ...string) fault {
	return func(_ int, w http.ResponseWriter, _ *http.Request) bool {
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(status)
		fmt.Fprintf(w, "<?xml version=\"1.0\"?><Error><Code>%s</Code><Message>hunter4</Message></Error>", code)
		return true
	}
}

func TestObjectFaults(t *testing.T) {
	content := sourcetest.Content(1<<20, 3)
	for _, c := range []struct {
		name     string
		fault    fault
		want     error
		says     string
		requests int64
	}{
		{"none", nil, nil, "", 1},
		{"SlowDown once", once(says(503, "SlowDown", "Retry-After", "0")), nil, "", 2},
		{"SlowDown for an hour", says(503, "SlowDown", "Retry-After", "3600"), nil, "SlowDown", 1},
		{"no such key, and nothing below it", says(404, "NoSuchKey"), fs.ErrNotExist, "NoSuchKey", 2},
		{"denied", says(403, "AccessDenied"), fs.ErrPermission, "AWS_NO_SIGN_REQUEST", 1},
		{"a secret key that is wrong", says(403, "SignatureDoesNotMatch"), fs.ErrPermission, "SignatureDoesNotMatch", 1},
		{"a token that has expired", says(400, "ExpiredToken"), fs.ErrPermission, "ExpiredToken", 1},
		{"a code of several words", says(400, "hunter4 and a lot more"), nil, "400 Bad Request", 1},
		{"an object in the archive", says(403, "InvalidObjectState"), fs.ErrPermission, "InvalidObjectState", 1},
		{"breaks off", once(raw(begin(1000))), nil, "", 2},
		{"hangs", once(raw(silence)), nil, "", 2},
		{"an object without bytes", says(416, "InvalidRange"), nil, "", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := bucketOf(t, content, c.fault)
			s, err := quickOpener().Open(t.Context(), "s3://bucket/x.nc")
			if wrong := c.want != nil || c.says != ""; wrong != (err != nil) || c.want != nil && !errors.Is(err, c.want) || !strings.Contains(fmt.Sprint(err), c.says) {
				t.Errorf("got %v, want %v with %q", err, c.want, c.says)
			}
			if strings.Contains(fmt.Sprint(err), "hunter") || strings.Contains(fmt.Sprint(err), "127.0.0.1") {
				t.Errorf("the error contains a secret: %v", err)
			}
			if n.Load() != c.requests {
				t.Errorf("%d requests, want %d", n.Load(), c.requests)
			}
			if err == nil {
				_ = s.Close()
			}
		})
	}
}

// TestObjectChanges checks that every read has the opened version as its condition.
func TestObjectChanges(t *testing.T) {
	content := sourcetest.Content(1<<20, 3)
	n := bucketOf(t, content, func(n int, w http.ResponseWriter, r *http.Request) bool {
		if n > 1 && r.Header.Get("If-Match") != `"version-1"` {
			t.Errorf("request %d has the condition %q", n, r.Header.Get("If-Match"))
		}
		return n == 3 && says(412, "PreconditionFailed")(n, w, r)
	})
	opener := quickOpener()
	s, err := opener.Open(t.Context(), "s3://bucket/x.nc")
	if err != nil {
		t.Fatal(err)
	}
	p := make([]byte, 10)
	if _, err := s.ReadAt(t.Context(), p, 600_000); err != nil || string(p) != string(content[600_000:600_010]) {
		t.Errorf("read %v, %v", p, err)
	}
	if _, err := s.ReadAt(t.Context(), p, 600_000); !errors.Is(err, source.ErrChanged) {
		t.Errorf("got %v, want ErrChanged", err)
	}
	before := n.Load()
	again, err := opener.OpenVersion(t.Context(), "s3://bucket/x.nc", s.Identity())
	if err != nil || n.Load() != before {
		t.Fatalf("opening a version: %v, %d requests", err, n.Load()-before)
	}
	if _, err := again.ReadAt(t.Context(), p, 0); err != nil {
		t.Error(err)
	}
}

// TestObjectRedirects checks that a redirect to another server does not carry the credentials.
func TestObjectRedirects(t *testing.T) {
	other := sourcetest.NewServer(t)
	other.Put("/bucket/x.nc", []byte("12345"))
	files := other.Config.Handler
	other.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, values := range r.Header {
			if name == "Authorization" || strings.HasPrefix(name, "X-Amz") {
				t.Errorf("another server received %s: %v", name, values)
			}
		}
		files.ServeHTTP(w, r)
	})
	bucketOf(t, nil, func(_ int, w http.ResponseWriter, r *http.Request) bool {
		if !strings.Contains(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256") || r.Header.Get("X-Amz-Security-Token") != "hunter3" {
			t.Errorf("the request is not signed: %v", r.Header)
		}
		http.Redirect(w, r, other.URL+r.URL.Path, http.StatusTemporaryRedirect)
		return true
	})
	s, err := quickOpener().Open(t.Context(), "s3://bucket/x.nc")
	if err != nil || s.Size() != 5 {
		t.Errorf("got %v", err)
	}
}

func TestListingFaults(t *testing.T) {
	page := func(body string) fault {
		return func(_ int, w http.ResponseWriter, _ *http.Request) bool {
			fmt.Fprint(w, `<?xml version="1.0"?>`+body)
			return true
		}
	}
	endless := func(n int, w http.ResponseWriter, r *http.Request) bool {
		return page(fmt.Sprintf("<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>%d</NextContinuationToken></ListBucketResult>", n))(n, w, r)
	}
	for _, c := range []struct {
		name  string
		fault fault
		fact  string // substring of the error
		want  error
	}{
		{"SlowDown once", once(says(503, "SlowDown")), "404", fs.ErrNotExist},
		{"no permission", says(403, "AccessDenied"), "AccessDenied", fs.ErrPermission},
		{"no such bucket", says(404, "NoSuchBucket"), "NoSuchBucket", fs.ErrNotExist},
		{"no listing", page("<html></html>"), "", object.ErrListing},
		{"entities that grow", page(`<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]><ListBucketResult><Prefix>&b;&b;</Prefix></ListBucketResult>`), "", object.ErrListing},
		{"nested without end", page(strings.Repeat("<a>", 1<<20)), "", object.ErrListing},
		{"more than there can be", page("<ListBucketResult>" + strings.Repeat("x", 33<<20)), "33554432", nil},
		{"a key outside the prefix", page("<ListBucketResult><Contents><Key>elsewhere/x.nc</Key></Contents></ListBucketResult>"), "elsewhere/x.nc", object.ErrListing},
		{"pages without end", endless, "1000", nil},
		{"the same page again", page("<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>a</NextContinuationToken></ListBucketResult>"), "", object.ErrListing},
		{"breaks off", raw(say("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n<List")), "5", nil},
		{"hangs", raw(silence), "", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			bucketOf(t, nil, c.fault)
			stall := 10 * time.Second // an answer of 33 MiB takes long on a busy machine
			if c.name == "hangs" {
				stall = 400 * time.Millisecond
			}
			s, err := openerWithStall(stall).Open(t.Context(), "s3://bucket/folder/")
			if err != nil {
				t.Fatal(err)
			}
			for _, err = range s.List(t.Context(), "") {
			}
			if err == nil || !strings.Contains(err.Error(), c.fact) || c.want != nil && !errors.Is(err, c.want) {
				t.Errorf("the error is %.300v, want %v and the text %q", err, c.want, c.fact)
			}
		})
	}
}

// TestListedObjects checks that listed objects are opened without a request. Names that are not in the listing do
// not exist.
func TestListedObjects(t *testing.T) {
	const listing = `<ListBucketResult><Contents><Key>f/a</Key><Size>5</Size><ETag>"version-1"</ETag></Contents>
<Contents><Key>f/weak</Key><Size>5</Size></Contents><Contents><Key>f/</Key><Size>0</Size></Contents><Contents><Key>f/both</Key><Size>1</Size></Contents>
<CommonPrefixes><Prefix>f/both/</Prefix></CommonPrefixes><CommonPrefixes><Prefix>f//</Prefix></CommonPrefixes></ListBucketResult>`
	n := bucketOf(t, nil, func(_ int, w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Query().Has("list-type") {
			fmt.Fprint(w, listing)
			return true
		}
		return false
	})
	s, err := quickOpener().Open(t.Context(), "s3://bucket/f/")
	if err != nil || n.Load() != 0 || s.Name() != "s3://bucket/f" {
		t.Fatalf("%v, %d requests, called %s", err, n.Load(), s.Name())
	}
	var names []string
	for e, err := range s.List(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, e.Name)
	}
	if want := []string{"a", "weak", "both", "both"}; !slices.Equal(names, want) {
		t.Errorf("listed %q, want %q", names, want)
	}
	for key, want := range map[string]int64{"a": 0, "absent": 0, "absent/a": 0, "weak": 1, "both": 1, "both/b": 1, "a/b": 0} {
		before := n.Load()
		m, err := s.Member(t.Context(), key)
		if got := n.Load() - before; got != want || (err == nil) != (key == "a") || err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %d requests, want %d: %v", key, got, want, err)
		}
		if err == nil && m.Size() != 5 {
			t.Errorf("%s has %d bytes", key, m.Size())
		}
	}
}

// TestObjectSuite runs the suite of all sources against a bucket.
func TestObjectSuite(t *testing.T) {
	files := sourcetest.NewServer(t)
	storetest.Setenv(t, map[string]string{"AWS_ENDPOINT_URL": files.URL, "AWS_NO_SIGN_REQUEST": "YES"})
	n := 0
	opener := source.NewOpener(nil)
	sourcetest.Run(t, func(_ testing.TB, content []byte) sourcetest.Stored {
		n++
		key := fmt.Sprintf("bucket/%d %%.nc", n)
		files.Put("/"+key, content)
		return sourcetest.Stored{
			Release: opener.Close,
			Open:    func(ctx context.Context) (*source.Source, error) { return opener.Open(ctx, "s3://"+key) },
			Change: func(content []byte) error {
				if content == nil {
					files.Remove("/" + key)
				} else {
					files.Put("/"+key, content)
				}
				return nil
			},
		}
	})
}

// TestOtherNamesReadNoConfiguration checks that opening other names does not read the configuration of an object store.
func TestOtherNamesReadNoConfiguration(t *testing.T) {
	server := sourcetest.NewServer(t)
	at := server.Put("/x.nc", []byte("12345"))
	storetest.Setenv(t, map[string]string{"AWS_PROFILE": "none", "AZURE_STORAGE_KEY": "no key"})
	for name, ok := range map[string]bool{at: true, "s3://bucket/x.nc": false, "az://bucket/x.nc": false} {
		if _, err := quickOpener().Open(t.Context(), name); (err == nil) != ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}
