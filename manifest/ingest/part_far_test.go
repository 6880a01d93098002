package ingest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"varve/codec"
	"varve/fixtures/classic"
	"varve/fixtures/soak"
	"varve/manifest"
	"varve/manifest/internal/table"
	"varve/manifest/scan"
	"varve/readers/source"
	"varve/readers/source/storetest"
)

// days writes files with one day each.
func days(t *testing.T, n int) (names []string) {
	t.Helper()
	dir := t.TempDir()
	for i := range n {
		f := &classic.File{
			Dims: []classic.Dim{{Name: "time", Length: 1, Records: true}, {Name: "x", Length: 2}},
			Vars: []classic.Var{
				{Name: "time", Dims: []string{"time"}, Attributes: []classic.Attribute{{Name: "units", Value: "days since 2000-01-01"}}, Data: []float64{float64(i)}},
				{Name: "v", Dims: []string{"time", "x"}, Data: []int16{int16(i), int16(-i)}},
			},
		}
		names = append(names, filepath.Join(dir, fmt.Sprintf("%03d.nc", i)))
		if err := f.Write(names[i]); err != nil {
			t.Fatal(err)
		}
	}
	return names
}

// TestFarParts: scan parts in an object store or on a server work as local ones do.
func TestFarParts(t *testing.T) {
	names := days(t, 40)
	m := storetest.NewMemory(t)
	local := t.TempDir()
	var urls []string
	server := httptest.NewServer(http.FileServer(http.Dir(local)))
	defer server.Close()
	for i, some := range slices.Collect(slices.Chunk(names, 10)) {
		base := fmt.Sprintf("%d.parquet", i)
		if _, err := Scan(t.Context(), "s3://bucket/parts/"+base, &Options{Sources: Sources{Names: some}}); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(local, base), m.Get("bucket/parts/"+base), 0o666); err != nil {
			t.Fatal(err)
		}
		urls = append(urls, server.URL+"/"+base+"?signature=mine")
	}
	dir := t.TempDir()
	built := func(name string, sources ...string) map[string]string {
		t.Helper()
		out := filepath.Join(dir, name)
		if _, err := Build(t.Context(), out, &Options{Sources: Sources{Names: sources}}); err != nil {
			t.Fatal(err)
		}
		return contents(t, out)
	}
	want := built("files.varve", names...)
	m.Log()
	if got := built("store.varve", "s3://bucket/parts/"); !maps.Equal(got, want) {
		t.Errorf("from parts in a store\n%v\nfrom files\n%v", got, want)
	}
	if log := m.Log(); len(log) > 13 {
		t.Errorf("four parts take %d requests: %q", len(log), log)
	}
	if got := built("server.varve", urls...); !maps.Equal(got, want) {
		t.Errorf("from parts on a server\n%v\nfrom files\n%v", got, want)
	}
}

// TestLargeFarPart: a part that is too large to be read at once is read in ranges.
func TestLargeFarPart(t *testing.T) {
	seed := soak.Seed(t)
	noise := rand.NewChaCha8([32]byte(binary.LittleEndian.AppendUint64(make([]byte, 24), seed)))
	var content bytes.Buffer
	part := table.NewPart(&content)
	blobs := make([][]byte, 5)
	for i := range blobs {
		blobs[i] = make([]byte, wholePart/4)
		_, _ = noise.Read(blobs[i])
		if _, err := part.Inline(blobs[i]); err != nil {
			t.Fatal(err)
		}
	}
	file := &manifest.File{Source: manifest.Source{URL: "s3://bucket/a.nc"}, Hidden: true}
	if err := part.Close([]*manifest.File{file}, nil); err != nil {
		t.Fatal(err)
	}
	m := storetest.NewMemory(t)
	m.Put("bucket/large.parquet", content.Bytes())
	j := newJob(nil, &Options{})
	if _, parts, err := j.splitParts(t.Context(), []string{"s3://bucket/large.parquet"}); len(parts) != 1 || err != nil {
		t.Fatalf("the names %q are taken for parts: %v", parts, err)
	}
	err := j.withPart(t.Context(), "s3://bucket/large.parquet", func(part *table.Part, _ []*manifest.File) error {
		for i, want := range blobs {
			if got, err := part.Inline(t.Context(), int64(i)); err != nil || !bytes.Equal(got, want) {
				t.Errorf("inline chunk %d differs: %v", i, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	err = j.withPart(t.Context(), "s3://bucket/large.parquet", func(part *table.Part, _ []*manifest.File) error {
		m.Put("bucket/large.parquet", content.Bytes()[1:])
		_, err := part.Inline(t.Context(), 0)
		return err
	})
	if !errors.Is(err, source.ErrChanged) {
		t.Errorf("a part that changed while it was read: %v", err)
	}
}

// TestFarNamesThatAreNoParts: an object with a Parquet name that is no part is a source, and the
// error for a damaged part names it.
func TestFarNamesThatAreNoParts(t *testing.T) {
	m := storetest.NewMemory(t)
	names := days(t, 1)
	file, err := os.ReadFile(names[0])
	if err != nil {
		t.Fatal(err)
	}
	m.Put("bucket/file.parquet", file)
	out, err := Check(t.Context(), &Options{Sources: Sources{Names: []string{"s3://bucket/file.parquet"}}})
	if err != nil || out.Files != 1 {
		t.Errorf("a file with the extension of parts: %v", err)
	}
	m.Put("bucket/cut.parquet", []byte("PAR1 and no more of it"))
	if _, err := Check(t.Context(), &Options{Sources: Sources{Names: []string{"s3://bucket/cut.parquet"}}}); !errors.Is(err, codec.ErrCorrupt) || !strings.Contains(err.Error(), "s3://bucket/cut.parquet") {
		t.Errorf("a part that is cut off: %v", err)
	}
	var broken *scan.BrokenError
	if _, err := Check(t.Context(), &Options{Sources: Sources{Names: []string{"s3://bucket/none.parquet"}}}); !errors.As(err, &broken) || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing part: %v", err)
	}
}

// TestPartsAreWhole: a scan that fails stores nothing, and does not touch an existing part.
func TestPartsAreWhole(t *testing.T) {
	m := storetest.NewMemory(t)
	names := days(t, 2)
	const part = "s3://bucket/part.parquet"
	if _, err := Scan(t.Context(), part, &Options{Sources: Sources{Names: names}}); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(names[1], 100); err != nil {
		t.Fatal(err)
	}
	m.Log()
	if _, err := Scan(t.Context(), part, &Options{Sources: Sources{Names: names}}); err == nil {
		t.Error("a scan of an unreadable source succeeded")
	}
	for _, entry := range m.Log() {
		if strings.HasPrefix(entry, "PUT") {
			t.Errorf("the failed scan wrote an object: %s", entry)
		}
	}
	out, err := Scan(t.Context(), part, &Options{Sources: Sources{Names: names}, SkipBroken: true})
	if err != nil || out.Files != 1 || len(out.Broken) != 1 || out.Broken[0].URL != names[1] {
		t.Errorf("got %+v, %v", out, err)
	}
	for _, name := range []string{"s3://bucket/part", "s3://bucket", "s3://bucket/parts/", "https://host/part.parquet", "file:///part.parquet"} {
		if _, err := Scan(t.Context(), name, &Options{Sources: Sources{Names: names}}); err == nil || !strings.Contains(err.Error(), strings.TrimSuffix(name, "/")) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
