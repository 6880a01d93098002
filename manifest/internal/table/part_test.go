package table

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"varve/codec"
	"varve/fixtures/soak"
	"varve/manifest"
)

// testFiles returns the files of a scan, with the refs that their headers need.
func testFiles(rng *rand.Rand, n int) (files []*manifest.File, refs []manifest.Ref) {
	shared := &manifest.Values{Data: []byte("12345678")}
	shared.SetID()
	for i := range n {
		f := &manifest.File{
			Source: manifest.Source{URL: "/archive/" + string(rune('a'+i%26)), Size: 1000, Modified: time.Unix(int64(i), 5).UTC(), Format: "netCDF-4"},
			Header: manifest.NewFileHeader(testHeader(10 + i%3)), Groups: manifest.NewFileGroups(testGroups(i % 4)), Values: []*manifest.Values{nil, shared}, Row: int64(len(refs)), Bytes: 17,
		}
		switch i % 10 {
		case 3:
			f.Parts = map[int][]manifest.Part{0: {{File: i + 1, Origin: []int64{0}, Start: []int64{0}, Shape: []int64{3}}}}
		case 4:
			*f = manifest.File{Source: manifest.Source{URL: "/raw", Size: 9}, Row: int64(len(refs)), Hidden: true}
		}
		files = append(files, f)
		if f.Header != nil {
			refs = append(refs, randomRefs(rng, int(f.Header.Rows()))...)
		}
	}
	return files, refs
}

func writePart(t testing.TB, files []*manifest.File, refs []manifest.Ref, inline [][]byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := NewPart(&out)
	b := refColumnsOf(refs)
	half := len(refs) / 2
	first := b.Slice(0, half)
	if err := w.Append(&first); err != nil {
		t.Fatal(err)
	}
	for i, p := range inline {
		if row, err := w.Inline(p); err != nil || row != int64(i) {
			t.Fatalf("got inline row %d, want %d: %v", row, i, err)
		}
	}
	rest := b.Slice(half, len(refs))
	if err := w.Append(&rest); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(files, nil); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestPart(t *testing.T) {
	seed := soak.Seed(t)
	rng := rand.New(rand.NewPCG(seed, 0))
	ctx := context.Background()
	files, refs := testFiles(rng, 200)
	refs = append(refs, randomRefs(rng, 600_000)...) // several row groups
	inline := [][]byte{[]byte("one"), {}, bytes.Repeat([]byte("large"), 3<<20)}
	data := writePart(t, files, refs, inline)
	if !bytes.Equal(data, writePart(t, files, refs, inline)) {
		t.Error("equal parts have different bytes")
	}
	if is, err := IsPart(inMemory(data), int64(len(data))); !is || err != nil {
		t.Errorf("IsPart is false: %v", err)
	}
	p, err := OpenPart("part.parquet", inMemory(data), NewCache(1<<20))
	if err != nil {
		t.Fatal(err)
	}
	checkRefs(t, rng, p.Reader, refs)
	for i, want := range inline {
		if got, err := p.Inline(ctx, int64(i)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("inline row %d: got %d bytes, want %d: %v", i, len(got), len(want), err)
		}
	}
	got, err := p.Files(ctx, manifest.NewShared())
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range files {
		if f.Hidden { // which may have none when they are written
			f.Header, f.Groups = manifest.NewFileHeader(&manifest.Header{}), manifest.NewFileGroups(&manifest.GroupAttributes{})
		}
		// FileHeaders and FileGroups with equal contents may share memory in other ways.
		a, b := *got[i], *f
		if !reflect.DeepEqual(a.Header.Expand(), b.Header.Expand()) || !reflect.DeepEqual(a.Groups.Expand(), b.Groups.Expand()) {
			t.Fatalf("file %d:\ngot  %+v, %+v\nwant %+v, %+v", i, a.Header, a.Groups, b.Header, b.Groups)
		}
		a.Header, b.Header, a.Groups, b.Groups = nil, nil, nil, nil
		if !reflect.DeepEqual(a, b) {
			t.Fatalf("file %d:\ngot  %+v\nwant %+v", i, a, b)
		}
	}
	if got[0].Header != got[6].Header || got[0].Values[1] != got[6].Values[1] {
		t.Error("equal headers and values are not shared")
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if err := p.ReadRefs(ctx, 0, make([]manifest.Ref, 1)); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("a lookup after Close: %v", err)
	}
}

func TestEmptyPart(t *testing.T) {
	data := writePart(t, nil, nil, nil)
	p, err := OpenPart("empty", inMemory(data), NewCache(0))
	if err != nil {
		t.Fatal(err)
	}
	if files, err := p.Files(context.Background(), manifest.NewShared()); len(files) != 0 || err != nil {
		t.Errorf("%d files: %v", len(files), err)
	}
	if p.Rows(manifest.Refs) != 0 {
		t.Errorf("%d refs", p.Rows(manifest.Refs))
	}
}

func TestIsPart(t *testing.T) {
	part := writePart(t, nil, nil, nil)
	var table bytes.Buffer
	if err := NewRefs(&table).Close(); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		data []byte
		is   bool
		err  error
	}{
		"a part":             {part, true, nil},
		"a part, damaged":    {append([]byte("PAR1x"), part[5:]...), true, nil},
		"a part, cut off":    {part[:len(part)-1], false, codec.ErrCorrupt},
		"a table":            {table.Bytes(), false, nil},
		"nothing":            {nil, false, nil},
		"something else":     {bytes.Repeat([]byte("CDF\x01"), 10), false, nil},
		"a long footer":      {[]byte("PAR1\xff\xff\xff\xffPAR1"), false, codec.ErrCorrupt},
		"only its beginning": {[]byte("PAR1"), false, nil},
	} {
		if is, err := IsPart(inMemory(c.data), int64(len(c.data))); is != c.is || !errors.Is(err, c.err) {
			t.Errorf("%s: %v, %v; want %v, %v", name, is, err, c.is, c.err)
		}
	}
	if _, err := OpenPart("refs.parquet", inMemory(table.Bytes()), NewCache(0)); !errors.Is(err, codec.ErrCorrupt) {
		t.Errorf("a table opened as a part: %v", err)
	}
}

// TestFilesOfMissingRows checks that a source that refers to a missing row is an error.
func TestFilesOfMissingRows(t *testing.T) {
	for name, row := range map[string]*SourceRow{
		"no header":            {},
		"a header":             {Header: "x"},
		"groups":               {Groups: "x"},
		"values":               {Header: testHeader(1).ID, Values: map[string]string{"/v": "x"}},
		"a variable of values": {Header: testHeader(1).ID, Values: map[string]string{"/w": "x"}},
		"a variable of parts":  {Header: testHeader(1).ID, Parts: map[string][]manifest.Part{"/w": {{}}}},
	} {
		var m memoryTables
		m.add(manifest.Sources, 1, write(t, start(NewSources), row))
		m.add(manifest.Headers, 1, write(t, start(NewHeaders), fileHeaders(testHeader(1))...))
		if _, err := m.reader(t, 0).Files(context.Background(), manifest.NewShared()); !errors.Is(err, codec.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// failingWriter fails after a number of bytes.
type failingWriter struct{ left int }

func (w *failingWriter) Write(p []byte) (int, error) {
	if w.left -= len(p); w.left < 0 {
		return 0, io.ErrClosedPipe
	}
	return len(p), nil
}

// TestFullDisk checks that a failing write is an error wherever it happens, and that no later call
// succeeds.
func TestFullDisk(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	files, refs := testFiles(rng, 20)
	b := refColumnsOf(refs)
	size := len(writePart(t, files, refs, [][]byte{{1}}))
	for left := 0; left < size; left += 1 + left/30 {
		w := NewPart(&failingWriter{left})
		err := w.Append(&b.RefColumns)
		if err == nil {
			_, err = w.Inline([]byte{1})
		}
		if err == nil {
			err = w.Close(files, nil)
		}
		if !errors.Is(err, io.ErrClosedPipe) {
			t.Fatalf("after %d bytes of %d: %v", left, size, err)
		}
		if err := w.Close(files, nil); err == nil {
			t.Fatalf("after %d bytes of %d: a second Close succeeds", left, size)
		}
	}
}
