package table

import (
	"bytes"
	"context"
	"errors"
	"reflect"
	"testing"

	"varve/codec"
	"varve/manifest"
)

// testPoints returns access points of a chunk. Every second one has a window.
func testPoints(ref int64, n int) *ChunkPoints {
	c := &ChunkPoints{Ref: ref, Source: "6c1b", Offset: 100 * ref, Length: 5000}
	c.Codecs, c.Size = "zlib", int64(n)*1000
	for i := range n {
		p := codec.AccessPoint{Out: int64(i) * 1000, Bit: 16 + int64(i)*77, HasWindow: i%2 == 1}
		if p.HasWindow {
			c.Windows = append(c.Windows, bytes.Repeat([]byte{byte(i), byte(i >> 8), byte(ref)}, 1000))
		}
		c.Points, c.Sums = append(c.Points, p), append(c.Sums, uint32(i*i))
	}
	return c
}

// plain returns the points without the position of their rows.
func (c *ChunkPoints) plain() *ChunkPoints {
	p := *c
	p.section, p.row = nil, 0
	return &p
}

// writePoints writes a table, and returns its number of rows.
func writePoints(t testing.TB, chunks ...*ChunkPoints) ([]byte, int64) {
	t.Helper()
	var b bytes.Buffer
	w := NewPoints(&b)
	if err := errors.Join(w.Append(chunks...), w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), w.Rows()
}

// pointsReader returns the reader of a table with these chunks.
func pointsReader(t *testing.T, chunks ...*ChunkPoints) *Reader {
	t.Helper()
	var m memoryTables
	data, rows := writePoints(t, chunks...)
	m.add(manifest.Points, rows, data)
	return m.reader(t, 1<<20)
}

func TestPoints(t *testing.T) {
	var chunks []*ChunkPoints
	for ref := range int64(60) {
		chunks = append(chunks, testPoints(3*ref, 1+int(ref*7%90)))
	}
	r := pointsReader(t, chunks...)
	for _, want := range chunks {
		got, ok, err := r.ReadPoints(t.Context(), want.Ref)
		if err != nil || !ok {
			t.Fatalf("ref %d: %v, %v", want.Ref, ok, err)
		}
		var with []int
		for i, p := range got.Points {
			if p.HasWindow {
				with = append(with, i)
			}
		}
		windows, err := got.ReadWindows(t.Context(), with)
		if err != nil {
			t.Fatal(err)
		}
		got = got.plain()
		got.Windows = windows
		if !reflect.DeepEqual(got, want) {
			t.Errorf("ref %d: got %v, want %v", want.Ref, got, want)
		}
	}
	for _, ref := range []int64{-1, 1, 100, 1000} {
		if _, ok, err := r.ReadPoints(t.Context(), ref); ok || err != nil {
			t.Errorf("ref %d: %v, %v", ref, ok, err)
		}
	}
	i := 0
	for c, err := range r.ScanPoints(t.Context(), 0, r.Rows(manifest.Points)) {
		if err != nil || !reflect.DeepEqual(c, chunks[i]) {
			t.Fatalf("chunk %d: %v, %v", i, c, err)
		}
		i++
	}
	if i != len(chunks) {
		t.Errorf("the scan has %d chunks of %d", i, len(chunks))
	}
}

// TestPointsOrder checks what the writer refuses.
func TestPointsOrder(t *testing.T) {
	for name, list := range map[string][]*ChunkPoints{
		"refs that do not rise": {testPoints(5, 3), testPoints(5, 3)},
		"windows are missing":   {{Source: "a", AccessPoints: codec.AccessPoints{Points: []codec.AccessPoint{{HasWindow: true}}}}},
		"an empty window":       {{Source: "a", Windows: [][]byte{{}}, AccessPoints: codec.AccessPoints{Points: []codec.AccessPoint{{HasWindow: true}}}}},
		"no source":             {{}},
	} {
		var b bytes.Buffer
		if err := NewPoints(&b).Append(list...); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestPointsChecksum checks that a change of any column of a row is noticed.
func TestPointsChecksum(t *testing.T) {
	for name, change := range map[string]func(*pointsRow){
		"ref":    func(r *pointsRow) { r.ref++ },
		"source": func(r *pointsRow) { r.source = []byte("6c1c") },
		"offset": func(r *pointsRow) { r.offset++ },
		"length": func(r *pointsRow) { r.length-- },
		"codecs": func(r *pointsRow) { r.codecs = []byte("gzip") },
		"size":   func(r *pointsRow) { r.size++ },
		"points": func(r *pointsRow) { r.points[0]++ },
		"sums":   func(r *pointsRow) { r.sums[0]++ },
	} {
		r := pointsRow{ref: 1, offset: 2, length: 3, size: 4, source: []byte("6c1b"), codecs: []byte("zlib"), points: []byte{0, 32}, sums: []byte{1, 2, 3, 4}}
		r.sum = int64(r.checksum())
		if _, err := r.parse(); err != nil {
			t.Fatal(err)
		}
		change(&r)
		if _, err := r.parse(); err == nil {
			t.Errorf("%s: a change is not noticed", name)
		}
	}
	// A table in which a window is that of another chunk.
	r := pointsReader(t, testPoints(1, 2), testPoints(2, 2))
	c, _, err := r.ReadPoints(context.Background(), 1)
	if err != nil {
		t.Fatal(err)
	}
	c.row += 2 // the window of ref 2
	var damage *manifest.DamageError
	if _, err := c.ReadWindows(t.Context(), []int{1}); !errors.As(err, &damage) {
		t.Errorf("the window of another chunk: %v", err)
	}
}
