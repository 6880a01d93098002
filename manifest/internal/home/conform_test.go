package home

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"varve/readers/source"
	"varve/readers/source/storetest"
)

// kinds are the kinds of homes. Each function returns a function that opens the same home, as another process does.
func kinds(t *testing.T) map[string]func(t *testing.T) func() Home {
	prefix := func(t *testing.T, root string) func() Home {
		return func() Home {
			p, err := OpenPrefix(t.Context(), root+"/a b/m 100%.varve", nil)
			if err != nil {
				t.Fatal(err)
			}
			return p
		}
	}
	all := map[string]func(t *testing.T) func() Home{
		"folder": func(t *testing.T) func() Home {
			dir := filepath.Join(t.TempDir(), "a", "b")
			return func() Home { return At(dir) }
		},
		"folder of a repository": func(t *testing.T) func() Home {
			dir := filepath.Join(t.TempDir(), "a", "b")
			return func() Home {
				f, err := CreateFolder(dir)
				if err != nil {
					t.Fatal(err)
				}
				f.Drafts = "drafts"
				return f
			}
		},
		"folder without links": func(t *testing.T) func() Home {
			dir := t.TempDir()
			return func() Home { return NewFolder(dir, noLinks{systemDisk{below(dir)}}) }
		},
		"nfs": func(t *testing.T) func() Home {
			dir := t.TempDir()
			return func() Home { return NewFolder(dir, &forgetful{systemDisk{below(dir)}}) }
		},
		"memory": func(t *testing.T) func() Home {
			storetest.NewMemory(t)
			return prefix(t, "s3://bucket")
		},
		"memory, opaque versions": func(t *testing.T) func() Home {
			storetest.NewMemory(t).Opaque = true
			return prefix(t, "s3://bucket")
		},
		"memory, one by one": func(t *testing.T) func() Home {
			storetest.NewMemory(t).OneByOne = true
			return prefix(t, "s3://bucket")
		},
	}
	for scheme, start := range storetest.Kinds {
		all["store "+scheme] = func(t *testing.T) func() Home { return prefix(t, start(t).Root) }
	}
	return all
}

// noLinks is a disk without hard links, as FAT.
type noLinks struct{ systemDisk }

func (noLinks) Link(string, string) error { return errors.ErrUnsupported }

// forgetful is a client of NFS which believes that a name does not exist although another client has made it.
type forgetful struct{ systemDisk }

func (forgetful) Stat(key string) (fs.FileInfo, error) {
	return nil, &fs.PathError{Op: "stat", Path: key, Err: fs.ErrNotExist}
}

// TestHomes checks that all kinds of homes behave alike.
func TestHomes(t *testing.T) {
	for kind, make := range kinds(t) {
		t.Run(kind, func(t *testing.T) {
			open := make(t)
			h := open()
			t.Run("files", func(t *testing.T) { conformFiles(t, h, kind) })
			t.Run("replace", func(t *testing.T) { conformReplace(t, open, kind == "store s3") })
			t.Run("drafts", func(t *testing.T) { conformDrafts(t, h) })
			t.Run("remove", func(t *testing.T) { conformRemove(t, h) })
			boom := errors.New("boom")
			if err := h.Close(boom); !errors.Is(err, boom) {
				t.Errorf("closing returns %v", err)
			}
		})
	}
}

func conformFiles(t *testing.T, h Home, kind string) {
	ctx := t.Context()
	if names, err := Top(ctx, h); len(names) > 0 || err != nil {
		t.Errorf("an empty home has %q, %v", names, err)
	}
	var keys []string
	for how, name := range []string{InPlace: "in place", Flushed: "flushed", Whole: "whole", Durable: "durable"} {
		for _, content := range [][]byte{{}, []byte("one"), bytes.Repeat([]byte("large"), 300<<10)} {
			key := fmt.Sprintf("c/%s/%d.bin", name, len(content))
			keys = append(keys, key)
			if _, err := h.Read(ctx, key, 10); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s before it is written: %v", key, err)
			}
			write := func(w io.Writer) error { _, err := w.Write(content); return err }
			if err := errors.Join(h.Write(ctx, key, How(how), write), h.Settle()); err != nil {
				t.Fatal(err)
			}
			checkContent(t, h, key, content, kind)
			if How(how) == Flushed {
				continue
			}
			other := append([]byte("other"), content...)
			if err := h.Put(ctx, key, other, How(how)); err != nil {
				t.Fatal(err)
			}
			checkContent(t, h, key, other, kind)
			if err := h.Put(ctx, key, content, How(how)); err != nil {
				t.Fatal(err)
			}
			boom := errors.New("boom")
			if err := h.Write(ctx, key, How(how), func(io.Writer) error { return boom }); !errors.Is(err, boom) {
				t.Errorf("%s: %v", key, err)
			}
			if How(how) != InPlace {
				checkContent(t, h, key, content, kind)
			}
		}
	}
	slices.Sort(keys)
	if got := walked(t, h, ""); !slices.Equal(got, keys) {
		t.Errorf("walked %q, want %q", got, keys)
	}
	if got := walked(t, h, "c/wh"); !slices.Equal(got, keys[9:]) {
		t.Errorf("walked %q", got)
	}
	var listed []string
	for e, err := range h.List(ctx, "c/durable") {
		if err != nil || e.Folder || fmt.Sprintf("%d.bin", e.Size) != e.Name || e.Modified.IsZero() {
			t.Errorf("%+v, %v", e, err)
		}
		listed = append(listed, e.Name)
	}
	if slices.Sort(listed); !slices.Equal(listed, []string{"0.bin", "1536000.bin", "3.bin"}) {
		t.Errorf("listed %q", listed)
	}
	names, err := Top(ctx, h)
	names = slices.DeleteFunc(names, func(name string) bool { return name == "drafts/" })
	if !slices.Equal(names, []string{"c/"}) || err != nil {
		t.Errorf("the home has %q, %v", names, err)
	}
	for e, err := range h.List(ctx, "none") {
		t.Errorf("%+v, %v", e, err)
	}
	if err := PutChanged(ctx, h, "c/durable/3.bin", []byte("one"), Whole); err != nil {
		t.Error(err)
	}
	if same, err := Holds(ctx, h, "c/durable/3.bin", []byte("two")); same || err != nil {
		t.Errorf("%t, %v", same, err)
	}
	if _, err := h.Read(ctx, "c/durable/3.bin", 2); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file over the limit: %v", err)
	}
}

func checkContent(t *testing.T, h Home, key string, want []byte, kind string) {
	t.Helper()
	got, err := h.Read(t.Context(), key, 1<<30)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s: %d bytes, %v", key, len(got), err)
	}
	if has, err := Has(t.Context(), h, key); has != (kind != "nfs") || err != nil {
		t.Errorf("%s: %t, %v", key, has, err)
	}
	for _, size := range []int64{-1, int64(len(want))} {
		if p, ok := h.(*Prefix); ok && size >= 0 {
			p.small.files = nil // the test changes files
		}
		f, err := h.Open(t.Context(), key, size)
		if err != nil {
			t.Fatal(err)
		}
		got = make([]byte, f.Size())
		if n, err := f.ReadAt(got, 0); n < len(got) || !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes, %v", key, n, err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}

func walked(t *testing.T, h Home, start string) (keys []string) {
	t.Helper()
	for key, err := range h.Walk(t.Context(), start) {
		if err != nil {
			t.Fatal(err)
		}
		if path.Dir(key) != "drafts" {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// conformReplace lets several writers replace a file at the same time, under a lock in a folder.
func conformReplace(t *testing.T, open func() Home, takesTurns bool) {
	ctx := t.Context()
	h := open()
	if _, err := h.Replace(ctx, "current", []byte("x"), VersionOf([]byte("another"))); !errors.Is(err, source.ErrConflict) {
		t.Errorf("a missing file: %v", err)
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	first := 0
	for n := range 4 {
		wg.Go(func() {
			_, err := open().Replace(ctx, "current", fmt.Append(nil, "first ", n), "")
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				first++
			} else if !errors.Is(err, source.ErrConflict) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if _, isLinked := h.(*Folder); first != 1 && !(isLinked && !hasLinks(h)) {
		t.Errorf("%d of 4 writers made the file", first)
	}
	data, version, err := h.ReadVersion(ctx, "current", 100)
	if err != nil {
		t.Fatal(err)
	}
	now, err := h.Replace(ctx, "current", []byte("second"), version)
	if err != nil {
		t.Fatal(err)
	}
	if again, is, err := h.ReadVersion(ctx, "current", 100); string(again) != "second" || is != now || is == version || err != nil {
		t.Errorf("%q has version %s, not %s: %v", again, is, now, err)
	}
	for _, old := range []string{version, ""} {
		if _, err := h.Replace(ctx, "current", []byte("third"), old); !errors.Is(err, source.ErrConflict) {
			t.Errorf("in place of %q: %v", data, err)
		}
		if err := Publish(ctx, h, "current", []byte("third"), old); !errors.Is(err, ErrConflict) {
			t.Errorf("in place of %q: %v", data, err)
		}
	}
	// versitygw compares and writes in two steps, so two writers may win at once: there they take turns.
	added, turns := 0, make(chan bool, 4)
	if takesTurns {
		turns = make(chan bool, 1)
	}
	for writer := range 4 {
		wg.Go(func() {
			turns <- true
			defer func() { <-turns }()
			own := open()
			for n := range 5 {
				if add(ctx, t, own, fmt.Sprintf(" %d%d", writer, n)) {
					mu.Lock()
					added++
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	if last, err := h.Read(ctx, "current", 100); len(last) != len("second")+3*added || added == 0 || err != nil {
		t.Errorf("%d writers won, but the file has %q: %v", added, last, err)
	}
	if got := walked(t, h, "current"); len(got) != 1 {
		t.Errorf("left %q", got)
	}
}

func hasLinks(h Home) bool {
	_, lacks := h.(*Folder).disk.(noLinks)
	return !lacks
}

// add appends a text, which nobody else appends, to the file. It reports whether it won.
func add(ctx context.Context, t *testing.T, h Home, text string) bool {
	if f, ok := h.(*Folder); ok {
		release, err := f.Wait(ctx, "locks/current", Exclusive)
		if err != nil {
			t.Error(err)
			return false
		}
		defer func() { _ = release() }()
	}
	data, version, err := h.ReadVersion(ctx, "current", 100)
	if err == nil {
		_, err = h.Replace(ctx, "current", append(data, text...), version)
	}
	if err != nil && !errors.Is(err, source.ErrConflict) {
		t.Error(err)
	}
	return err == nil
}

func conformDrafts(t *testing.T, h Home) {
	if f, ok := h.(*Folder); ok && f.Drafts == "" {
		f.Drafts = "drafts"
		defer func() { f.Drafts = "" }()
	}
	ctx := t.Context()
	var drafts []Named
	for n := range 6 {
		d, err := h.Begin()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Fprint(d, "table ", n); err != nil {
			t.Fatal(err)
		}
		drafts = append(drafts, Named{d, fmt.Sprintf("tables/%d", n)})
	}
	f, err := drafts[0].Draft.Open()
	if err != nil {
		t.Fatal(err)
	}
	got := make([]byte, f.Size())
	if _, err := f.ReadAt(got, 0); string(got) != "table 0" || err != nil && err != io.EOF {
		t.Errorf("a draft has %q, %v", got, err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if got := walked(t, h, "tables/"); len(got) > 0 {
		t.Errorf("before the end there are %q", got)
	}
	if err := h.Finish(ctx, drafts[:4]...); err != nil {
		t.Fatal(err)
	}
	for _, d := range drafts {
		if err := d.Draft.Discard(); err != nil {
			t.Error(err)
		}
	}
	if got := walked(t, h, "tables/"); len(got) != 4 {
		t.Errorf("there are %q", got)
	}
	for e, err := range h.List(ctx, "drafts") {
		t.Errorf("left %+v, %v", e, err)
	}
}

func conformRemove(t *testing.T, h Home) {
	ctx := t.Context()
	for _, key := range []string{"zarr.json", "x/y/z", StateFolder + "/journal", "lost"} {
		if err := h.Put(ctx, key, []byte("x"), InPlace); err != nil {
			t.Fatal(err)
		}
	}
	all := slices.Concat([]string{"absent"}, walked(t, h, "c/"), []string{"none/at all"})
	if n, err := h.Remove(ctx, all...); n != len(all) || err != nil {
		t.Errorf("removed %d of %d: %v", n, len(all), err)
	}
	if err := RemoveAll(ctx, h, h.Walk(ctx, "tables/")); err != nil {
		t.Error(err)
	}
	if got := walked(t, h, "c/"); len(got) > 0 || len(walked(t, h, "tables/")) > 0 {
		t.Errorf("there are %q", got)
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := h.Remove(ended, "lost"); err == nil {
		t.Error("removed after the end")
	}
	if err := h.Clear(ctx, "absent", "zarr.json"); err != nil {
		t.Fatal(err)
	}
	if got := walked(t, h, ""); len(got) > 0 {
		t.Errorf("there are %q", got)
	}
}
