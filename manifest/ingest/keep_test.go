package ingest

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"varve/manifest"
	"varve/manifest/internal/table"
	"varve/manifest/plan"
	"varve/manifest/report"
	"varve/manifest/scan"
	"varve/manifest/store"
)

// kept counts how often each source is in the parts of a folder.
func kept(t *testing.T, folder string) map[string]int {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(folder, "*.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, name := range names {
		file, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		info, err := file.Stat()
		if err != nil {
			t.Fatal(err)
		}
		part, err := table.OpenPart(name, partFile{file, info.Size()}, table.NewCache(1<<20))
		if err != nil {
			t.Fatal(err)
		}
		files, err := part.Files(t.Context(), manifest.NewShared())
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if !f.Hidden {
				count[filepath.Base(f.URL)]++
			}
		}
		if err := part.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return count
}

// scans counts the sources in the kept parts of a folder.
func scans(t *testing.T, folder string) (n int) {
	for _, times := range kept(t, folder) {
		n += times
	}
	return n
}

// contents returns the elements of all arrays of a manifest.
func contents(t *testing.T, out string) map[string]string {
	t.Helper()
	st, err := store.Open(t.Context(), out, &store.Options{Trusted: true})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	all := map[string]string{}
	for _, a := range st.Arrays() {
		if !a.Schema().DataType.Type().Varies() {
			values, _ := decoded(t, out, a.Path(), false)
			all[a.Path()] = fmt.Sprint(a.Schema().Shape, values)
		}
	}
	return all
}

// TestKeepScan: only changed sources are scanned again, even after a failed build, and the result
// equals that of a full scan.
func TestKeepScan(t *testing.T) {
	configured(t)
	ctx := t.Context()
	archive, folder := t.TempDir(), filepath.Join(t.TempDir(), "kept")
	if err := os.CopyFS(archive, os.DirFS("../../fixtures/demo")); err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join(archive, "*.nc"))
	if err != nil || len(names) != 3 {
		t.Fatal(names, err)
	}
	how := func(names ...string) *Options {
		return &Options{Sources: Sources{Names: names}, KeepScan: folder, Writer: "test"}
	}
	out, plain := filepath.Join(t.TempDir(), "out"), filepath.Join(t.TempDir(), "plain")
	same := func(want int, o *Options) {
		t.Helper()
		o.Force = true
		if _, err := Build(ctx, out, o); err != nil {
			t.Fatal(err)
		}
		if n := scans(t, folder); n != want {
			t.Errorf("%d kept scans, want %d: %v", n, want, kept(t, folder))
		}
		o.KeepScan = ""
		if _, err := Build(ctx, plain, o); err != nil {
			t.Fatal(err)
		}
		if got, want := contents(t, out), contents(t, plain); !maps.Equal(got, want) {
			t.Errorf("with kept scans the arrays are %v, without them %v", got, want)
		}
	}
	whole, err := os.ReadFile(names[1])
	if err != nil {
		t.Fatal(err)
	}
	write := func(data []byte) {
		t.Helper()
		if err := os.WriteFile(names[1], data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write(whole[:1000])
	var broken *scan.BrokenError
	if _, err := Build(ctx, out, how(names...)); !errors.As(err, &broken) || len(broken.Broken) != 1 || scans(t, folder) != 2 {
		t.Fatal(err, kept(t, folder))
	}
	write(whole)
	var refused *plan.Error
	o := how(names...)
	o.Plan.Strict = true
	if _, err := Check(ctx, o); !errors.As(err, &refused) || scans(t, folder) != 3 {
		t.Fatal(err, kept(t, folder))
	}
	same(3, how(names...))
	same(3, how(names[2], names[1])) // the parts also hold a source that is not wanted
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(names[2], later, later); err != nil {
		t.Fatal(err)
	}
	same(4, how(names...))
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	same(3, how(names...)) // one part holds all sources
	for _, left := range [][]string{names[1:], {names[0], names[2]}, names[:1]} {
		same(3, how(left...))
	}
	other, err := os.ReadFile(names[0])
	if err != nil {
		t.Fatal(err)
	}
	write(other) // names[1] now holds another month
	same(4, how(names[1:]...))
	if err := os.Remove(names[0]); err != nil {
		t.Fatal(err)
	}
	if _, err := Build(ctx, out, how(names...)); err == nil || !strings.Contains(err.Error(), names[0]) {
		t.Errorf("a source that was removed: %v", err)
	}
	o = how(names[1:]...)
	o.ValueBytes = 1 << 20
	same(4+2, o)
	var twice *plan.Error
	if _, err := Check(ctx, how(names[1], names[1])); !errors.As(err, &twice) || twice.Findings[0].Code != report.RepeatedSource {
		t.Errorf("a source given twice: %v", err)
	}
}

// TestKeepScanOfAppend: an append uses kept scans, too, and the folder may be among the sources.
func TestKeepScanOfAppend(t *testing.T) {
	configured(t)
	ctx := t.Context()
	a := newSeries(t, rand.New(rand.NewPCG(1, 2)), 60)
	archive := filepath.Dir(a.files[0])
	folder := filepath.Join(archive, "kept")
	out := filepath.Join(t.TempDir(), "out")
	how := func(names ...string) *Options {
		return &Options{Sources: Sources{Names: names}, KeepScan: folder}
	}
	if _, err := Check(ctx, how(archive)); err != nil || scans(t, folder) != 60 {
		t.Fatal(err, kept(t, folder))
	}
	if parts, _ := filepath.Glob(filepath.Join(folder, "*")); len(parts) != 3 { // blocks of 16, 32 and 12 sources
		t.Errorf("%v", parts)
	}
	if _, err := Build(ctx, out, how(a.files[:20]...)); err != nil {
		t.Fatal(err)
	}
	o := how(archive)
	o.SkipKnown = true
	if _, err := Append(ctx, out, o); err != nil || scans(t, folder) != 60 {
		t.Fatal(err, kept(t, folder))
	}
	a.check(t, out)
}

// TestKeepScanOfOthers: sources that name other files are scanned each time.
func TestKeepScanOfOthers(t *testing.T) {
	configured(t)
	ctx := t.Context()
	archive, folder, out := t.TempDir(), filepath.Join(t.TempDir(), "kept"), filepath.Join(t.TempDir(), "out")
	for _, name := range []string{"virtual.h5", "virtual_source.h5"} {
		data, err := os.ReadFile(filepath.Join("../../fixtures/hdf5", name))
		if err == nil {
			err = os.WriteFile(filepath.Join(archive, name), data, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	var before map[string]string
	for _, there := range []bool{true, false} {
		if !there {
			if err := os.Remove(filepath.Join(archive, "virtual_source.h5")); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := Build(ctx, out, &Options{Sources: Sources{Names: []string{filepath.Join(archive, "virtual.h5")}}, KeepScan: folder, Force: true}); err != nil {
			t.Fatal(err)
		}
		now := contents(t, out)
		if scans(t, folder) != 0 || maps.Equal(now, before) {
			t.Errorf("kept scans %v; the values are %v, and were %v", kept(t, folder), now, before)
		}
		before = now
	}
}

// TestKeepScanInBadFolders: a damaged part is named in the error, and other files are left alone.
func TestKeepScanInBadFolders(t *testing.T) {
	configured(t)
	ctx := t.Context()
	dir := t.TempDir()
	folder := filepath.Join(dir, "kept")
	o := &Options{Sources: demo("01"), KeepScan: folder}
	if _, err := Check(ctx, o); err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join(folder, "scan-*"))
	if err != nil || len(names) != 1 {
		t.Fatal(names, err)
	}
	writeText(t, filepath.Join(folder, "notes.txt"), "other things")
	writeText(t, filepath.Join(folder, ".scan-old"), "of a writer that was killed")
	writeText(t, filepath.Join(folder, ".scan-new"), "of one that is at work")
	before := time.Now().Add(-2 * staleDraft)
	if err := os.Chtimes(filepath.Join(folder, ".scan-old"), before, before); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(names[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(names[0], bytes.Repeat([]byte{1}, len(data)), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Check(ctx, o); err == nil || !strings.Contains(err.Error(), names[0]) {
		t.Errorf("damaged: %v", err)
	}
	for name, there := range map[string]bool{"notes.txt": true, ".scan-old": false, ".scan-new": true} {
		if _, err := os.Stat(filepath.Join(folder, name)); (err == nil) != there {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := os.Remove(names[0]); err != nil {
		t.Fatal(err)
	}
	if _, err := Check(ctx, o); err != nil {
		t.Error(err)
	}
	for _, name := range []string{filepath.Join(folder, "notes.txt"), "s3://bucket/kept"} {
		o.KeepScan = name
		if _, err := Check(ctx, o); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
