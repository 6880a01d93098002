package source_test

import (
	"bytes"
	"context"
	"crypto/md5"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"varve/fixtures/soak"
	"varve/readers/source"
	"varve/readers/source/sourcetest"
	"varve/readers/source/storetest"
)

// placeIn returns a place in a store that uploads in small parts.
func placeIn(t *testing.T, name string, partBytes int64) *source.Place {
	t.Helper()
	opener := source.NewOpener(&source.Options{Backoff: time.Millisecond, PartBytes: partBytes})
	t.Cleanup(func() { _ = opener.Close() })
	p, err := opener.Place(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func put(t *testing.T, p *source.Place, key string, content []byte) {
	t.Helper()
	if err := p.Put(t.Context(), key, bytes.NewReader(content), int64(len(content))); err != nil {
		t.Fatal(err)
	}
}

// suite checks the documented behavior of places against a store.
func suite(t *testing.T, root string, part int64) {
	p := placeIn(t, root+"/a b/m 100%.varve/", part)
	ctx := t.Context()
	if err := p.Check(ctx, "locks/1", "nobody else's"); err != nil {
		t.Fatal(err)
	}
	t.Run("objects", func(t *testing.T) {
		for _, size := range []int{0, 1, 1000, int(part), int(part) + 1, 3*int(part) + 17} {
			key := fmt.Sprintf("tables/of %d+.parquet", size)
			content := sourcetest.Content(size, 7)
			put(t, p, key, content)
			put(t, p, key, content) // again, over itself
			id, err := p.Stat(ctx, key)
			if err != nil || id.Size != int64(size) || id.Modified.IsZero() || id.ETag == "" {
				t.Errorf("%s: is %+v, %v", key, id, err)
			}
			got, err := p.Read(ctx, key, 1<<30)
			if err != nil || !bytes.Equal(got, content) {
				t.Errorf("%s: read %d bytes, %v", key, len(got), err)
			}
			if size == 0 {
				continue
			}
			s, err := p.Open(key, int64(size))
			if err != nil {
				t.Fatal(err)
			}
			last, err := s.View(ctx, int64(size)-1, 1)
			if err != nil || last[0] != content[size-1] {
				t.Errorf("%s: the last byte is %v, %v", key, last, err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
		n := 0
		for e, err := range p.List(ctx, "tables") {
			if err != nil || e.Folder || !strings.HasSuffix(e.Name, "+.parquet") || e.Modified.IsZero() || e.Name == "of 1000+.parquet" && e.Size != 1000 {
				t.Errorf("listed %+v, %v", e, err)
			}
			n++
		}
		if n != 6 {
			t.Errorf("listed %d objects", n)
		}
		for e, err := range p.List(ctx, "") {
			if err != nil || !e.Folder || e.Name != "tables" && e.Name != "locks" {
				t.Errorf("listed %+v, %v", e, err)
			}
		}
		for e, err := range p.List(ctx, "none") {
			t.Errorf("listed %+v, %v", e, err)
		}
		if err := p.Remove(ctx, "tables/of 1+.parquet"); err != nil {
			t.Error(err)
		}
		if _, err := p.Stat(ctx, "tables/of 1+.parquet"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("after removal: %v", err)
		}
		if err := p.Remove(ctx, "tables/of 1+.parquet"); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("second removal: %v", err)
		}
		if _, err := p.Read(ctx, "absent", 10); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("missing object: %v", err)
		}
	})
	t.Run("remove", func(t *testing.T) { removed(t, p) })
	t.Run("conditions", func(t *testing.T) { race(t, p) })
	t.Run("replace", func(t *testing.T) { replaced(t, p, int(part)) })
	t.Run("walk", func(t *testing.T) { walked(t, root) })
}

// removed removes many objects, some of which are missing.
func removed(t *testing.T, p *source.Place) {
	ctx := t.Context()
	var keys []string
	for n := range 40 {
		key := fmt.Sprintf("removed/%d &<+'%% é.bin", n)
		if keys = append(keys, key); n%4 > 0 {
			if err := p.PutIf(ctx, key, []byte("x"), ""); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := p.PutIf(ctx, "kept", []byte("x"), ""); err != nil {
		t.Fatal(err)
	}
	if n, err := p.RemoveAll(ctx, keys); n != len(keys) || err != nil {
		t.Errorf("removed %d of %d: %v", n, len(keys), err)
	}
	for key, err := range p.Walk(ctx, "removed/") {
		t.Errorf("%s is left, %v", key, err)
	}
	if _, err := p.Stat(ctx, "kept"); err != nil {
		t.Error(err)
	}
}

// TestRemoveAll counts the requests by which many objects are removed.
func TestRemoveAll(t *testing.T) {
	m := storetest.NewMemory(t)
	var keys []string
	for n := range 2500 {
		keys = append(keys, fmt.Sprint("tables/", n))
	}
	for _, oneByOne := range []bool{false, true} {
		m.OneByOne = oneByOne
		for _, key := range keys {
			m.Put("bucket/a/"+key, nil)
		}
		p := placeIn(t, "s3://bucket/a", 1<<20)
		m.Log()
		n, err := p.RemoveAll(t.Context(), keys)
		want := 3
		if oneByOne {
			want = len(keys) + 1
		}
		if log := m.Log(); n != len(keys) || err != nil || len(log) != want || len(m.Names("bucket/")) > 0 {
			t.Errorf("removed %d with %d requests, not %d: %v", n, len(log), want, err)
		}
	}
}

// replaced checks conditional writes of objects, in one request and in parts.
func replaced(t *testing.T, p *source.Place, part int) {
	ctx := t.Context()
	for _, size := range []int{1000, 2*part + 17} {
		key := fmt.Sprintf("whole/of %d.bin", size)
		replace := func(with byte, version string) error {
			content := sourcetest.Content(size, with)
			_, err := p.Replace(ctx, key, bytes.NewReader(content), int64(size), version)
			if got, failed := p.Read(ctx, key, 1<<30); failed != nil || (err == nil) != bytes.Equal(got, content) {
				t.Errorf("%s: read %d bytes, %v, after writing: %v", key, len(got), failed, err)
			}
			return err
		}
		version := func() string {
			v, err := p.Version(ctx, key)
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
		none := version()
		if err := replace(1, none); none != "" || err != nil {
			t.Fatalf("%s: %q, %v", key, none, err)
		}
		if err := replace(2, ""); !errors.Is(err, source.ErrConflict) {
			t.Errorf("%s: create an existing object: %v", key, err)
		}
		if _, err := p.Replace(ctx, key, bytes.NewReader(sourcetest.Content(size, 1)), int64(size), ""); err != nil {
			t.Errorf("%s: create it again: %v, want a conflict", key, err)
		}
		first := version()
		if first == "" {
			t.Errorf("%s: has no version", key)
		}
		if err := replace(3, first); err != nil {
			t.Errorf("%s: replace the newest version: %v", key, err)
		}
		if err := replace(4, first); !errors.Is(err, source.ErrConflict) {
			t.Errorf("%s: replace a version that no longer exists: %v", key, err)
		}
	}
	for key, err := range p.Walk(ctx, "whole/") {
		if err != nil || strings.Contains(key, "check") {
			t.Errorf("content is %q, %v", key, err)
		}
	}
}

// walked checks recursive listings, also of a whole bucket.
func walked(t *testing.T, root string) {
	p := placeIn(t, root+"/deep", 5<<20)
	opener := source.NewOpener(nil)
	defer opener.Close()
	want := []string{"a", "b c/100%", "b c/d/e/f", "g"}
	for i := range 9 { // several pages
		want = append(want, fmt.Sprintf("h/%d/x", i))
	}
	for _, key := range want {
		at, name, err := opener.PlaceOf(t.Context(), root+"/deep/"+key)
		if err != nil || at.Name(name) != root+"/deep/"+key {
			t.Fatalf("%s: %v", key, err)
		}
		put(t, at, name, []byte(key))
	}
	put(t, placeIn(t, root+"/deeper", 5<<20), "x", nil)
	for start, want := range map[string][]string{"": want, "b": want[1:3], "b c/d/": want[2:3], "none": nil} {
		var got []string
		for key, err := range p.Walk(t.Context(), start) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, key)
		}
		if !slices.Equal(got, want) {
			t.Errorf("below %q: %q, want %q", start, got, want)
		}
	}
	bucket, name, err := opener.PlaceOf(t.Context(), root+"/alone.bin")
	if err != nil {
		t.Fatal(err)
	}
	put(t, bucket, name, []byte("alone"))
	if got, err := bucket.Read(t.Context(), "alone.bin", 10); err != nil || string(got) != "alone" || bucket.Name(name) != root+"/alone.bin" {
		t.Errorf("%s: read %q, %v", bucket.Name(name), got, err)
	}
}

// race lets several writers replace one object. Each adds to the number that it read, so a lost write would show
// in the sum.
func race(t *testing.T, p *source.Place) {
	const writers, rounds = 4, 6
	var lost atomic.Int64
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for done := 0; done < rounds; {
				now, version, err := p.ReadVersion(t.Context(), "current", 1<<20)
				if err != nil && !errors.Is(err, fs.ErrNotExist) {
					t.Error(err)
					return
				}
				err = p.PutIf(t.Context(), "current", fmt.Appendf(slices.Clone(now), "%d-%d\n", w, done), version)
				switch {
				case err == nil:
					done++
				case errors.Is(err, source.ErrConflict):
					lost.Add(1)
				default:
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	all, err := p.Read(t.Context(), "current", 1<<20)
	if n := bytes.Count(all, []byte("\n")); err != nil || n != writers*rounds {
		t.Errorf("%d of %d writes are counted: %v", n, writers*rounds, err)
	}
	t.Logf("%d lost races", lost.Load())
}

func TestPlace(t *testing.T) {
	storetest.NewMemory(t)
	suite(t, "s3://bucket", 64<<10)
}

// TestInteropPlaces runs the same checks against real object stores, with the smallest parts that they accept.
func TestInteropPlaces(t *testing.T) {
	for kind, start := range storetest.Kinds {
		t.Run(kind, func(t *testing.T) { suite(t, start(t).Root, 5<<20) })
	}
}

// TestPlaceFaults stores objects while requests fail at random. If a write reports success, the object must
// exist. If it reports a conflict, there must be one.
func TestPlaceFaults(t *testing.T) {
	seed := soak.Seed(t)
	random := rand.New(rand.NewPCG(seed, 0))
	m := storetest.NewMemory(t)
	var mu sync.Mutex
	m.SetFault(func(*http.Request) storetest.Fault {
		mu.Lock()
		defer mu.Unlock()
		return []storetest.Fault{storetest.Busy, storetest.Cut, storetest.Lost, nil, nil, nil, nil, nil, nil}[random.IntN(9)]
	})
	p := placeIn(t, "s3://bucket/a", 64<<10)
	content := sourcetest.Content(300<<10, 3)
	stored, replaced := 0, 0
	for n := range 40 {
		whole := fmt.Sprint("whole/", n)
		switch _, err := p.Replace(t.Context(), whole, bytes.NewReader(content[n:]), int64(len(content)-n), ""); {
		case err == nil && !bytes.Equal(m.Get("bucket/a/"+whole), content[n:]):
			t.Errorf("%s differs from the stored bytes", whole)
		case errors.Is(err, source.ErrConflict), errors.Is(err, errors.ErrUnsupported):
			t.Errorf("%s: %v", whole, err)
		}
		key := fmt.Sprint("tables/", n)
		if err := p.Put(t.Context(), key, bytes.NewReader(content[n:]), int64(len(content)-n)); err == nil {
			stored++
			if !bytes.Equal(m.Get("bucket/a/"+key), content[n:]) {
				t.Errorf("%s differs from the stored bytes", key)
			}
		}
		old := m.Get("bucket/a/current")
		_, version, err := p.ReadVersion(t.Context(), "current", 100)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			continue // all attempts failed
		}
		text := fmt.Sprint("state ", n)
		err = p.PutIf(t.Context(), "current", []byte(text), version)
		now := string(m.Get("bucket/a/current"))
		switch {
		case errors.Is(err, source.ErrConflict):
			t.Errorf("a conflict without another writer: %v", err)
		case err == nil && now != text, err != nil && now != text && now != string(old):
			t.Errorf("content is %q after %v", now, err)
		case err == nil:
			replaced++
		}
	}
	if stored < 20 || replaced < 20 {
		t.Errorf("only %d objects were stored and %d replaced", stored, replaced)
	}
}

// TestFailedUploadIsAborted checks that a failed upload is aborted. Otherwise the store keeps its parts, which cost
// money.
func TestFailedUploadIsAborted(t *testing.T) {
	m := storetest.NewMemory(t)
	content := sourcetest.Content(300<<10, 3)
	p := placeIn(t, "s3://bucket/a", 64<<10)
	for _, what := range []string{"denied", "cancelled"} {
		t.Run(what, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			m.SetFault(func(r *http.Request) storetest.Fault {
				if r.URL.Query().Get("partNumber") != "3" {
					return nil
				}
				if what == "cancelled" {
					cancel()
				}
				return storetest.Denied
			})
			err := p.Put(ctx, "x", bytes.NewReader(content), int64(len(content)))
			if want := map[string]error{"denied": fs.ErrPermission, "cancelled": context.Canceled}[what]; !errors.Is(err, want) {
				t.Errorf("got %v, want %v", err, want)
			}
			if m.Uploads() != 0 || m.Get("bucket/a/x") != nil {
				t.Error("parts or an object are left")
			}
		})
	}
}

// TestConditionsAreRequired checks that stores that ignore conditions are rejected with an error that names the
// place.
func TestConditionsAreRequired(t *testing.T) {
	m := storetest.NewMemory(t)
	p := placeIn(t, "s3://bucket/a.varve", 64<<10)
	refused := func(what, says string) {
		t.Helper()
		err := p.Check(t.Context(), "locks/"+what, "content")
		if !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "s3://bucket/a.varve") {
			t.Errorf("%s: %v", what, err)
		}
	}
	m.SetCareless(true)
	refused("careless", "If-None-Match")
	m.SetCareless(false)
	m.SetFault(func(r *http.Request) storetest.Fault {
		if r.Header.Get("If-Match") != "" {
			r.Header.Del("If-Match")
		}
		return nil
	})
	refused("half", "If-Match")
	m.SetFault(func(r *http.Request) storetest.Fault {
		if r.Method != http.MethodPut {
			return nil
		}
		return func(w http.ResponseWriter, _ func()) { w.WriteHeader(http.StatusNotImplemented) }
	})
	refused("unknown", "501")
}

// TestConditionsOfParts checks stores that support conditions, but not when an upload in parts is completed.
func TestConditionsOfParts(t *testing.T) {
	m := storetest.NewMemory(t)
	m.CarelessInParts = true
	p := placeIn(t, "s3://bucket/a", 64<<10)
	if err := p.Check(t.Context(), "lock", "content"); err != nil {
		t.Fatal(err)
	}
	content := sourcetest.Content(100<<10, 3)
	_, err := p.Replace(t.Context(), "x", bytes.NewReader(content), int64(len(content)), "")
	if !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "s3://bucket/a") {
		t.Errorf("got %v", err)
	}
	if got := m.Names("bucket/"); !slices.Equal(got, []string{"bucket/a/lock"}) || m.Uploads() != 0 {
		t.Errorf("left %q and %d uploads", got, m.Uploads())
	}
}

func TestPlaceNames(t *testing.T) {
	storetest.NewMemory(t)
	opener := source.NewOpener(nil)
	defer opener.Close()
	for name, want := range map[string]string{
		"s3://bucket/a.varve": "s3://bucket/a.varve", "s3://bucket/a b/c%.varve/": "s3://bucket/a b/c%.varve",
		"s3://bucket": "", "s3://bucket/": "", "s3://bucket/a//b": "", "s3://bucket/../a": "", "s3://bucket/a/.": "", "s3://b u/a": "",
	} {
		p, err := opener.Place(t.Context(), name)
		if (err == nil) != (want != "") || err == nil && p.Name("") != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestNewerVersionThanContent checks stores that send the version of a newer state than the content. After Check, a reader gets
// the version and the content of the same state.
func TestNewerVersionThanContent(t *testing.T) {
	m := storetest.NewMemory(t)
	m.Put("bucket/a/current", []byte("new"))
	p := placeIn(t, "s3://bucket/a", 1<<20)
	if err := p.Check(t.Context(), "locks/1", "own"); err != nil {
		t.Fatal(err)
	}
	fresh := fmt.Sprintf("\"%x\"", md5.Sum([]byte("new")))
	torn := 0
	m.SetFault(func(*http.Request) storetest.Fault {
		if torn++; torn > 3 {
			return nil
		}
		return func(w http.ResponseWriter, _ func()) {
			w.Header().Set("ETag", fresh)
			fmt.Fprint(w, "old")
		}
	})
	if got, version, err := p.ReadVersion(t.Context(), "current", 100); err != nil || string(got) != "new" || version != fresh || torn != 4 {
		t.Errorf("read %q of version %s, %v", got, version, err)
	}
}

// TestOpaqueTags checks stores whose ETags are not hashes of the content, for instance because of the customer's
// own encryption keys. Nothing is compared with such ETags.
func TestOpaqueTags(t *testing.T) {
	m := storetest.NewMemory(t)
	m.Opaque = true
	p := placeIn(t, "s3://bucket/a", 1<<20)
	if err := p.Check(t.Context(), "locks/1", "own"); err != nil {
		t.Fatal(err)
	}
	m.Log()
	if _, _, err := p.ReadVersion(t.Context(), "locks/1", 100); err != nil || len(m.Log()) != 1 {
		t.Error(err)
	}
}
