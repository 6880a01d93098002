package table

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"varve/codec"
	"varve/fixtures/soak"
	"varve/manifest"
)

// refColumnsOf returns refs in columns.
func refColumnsOf(refs []manifest.Ref) (b RefBatch) {
	for _, r := range refs {
		b.Offsets, b.Sizes = append(b.Offsets, r.Offset), append(b.Sizes, r.Size)
		b.Masks, b.Others = append(b.Masks, r.Mask), append(b.Others, r.Other)
	}
	return b
}

// writeRefs writes refs in batches of random length.
func writeRefs(t testing.TB, rng *rand.Rand, refs []manifest.Ref) []byte {
	t.Helper()
	var out bytes.Buffer
	w := NewRefs(&out)
	for rest := refs; len(rest) > 0; {
		n := min(1+rng.IntN(1+rng.IntN(100000)), len(rest))
		b := refColumnsOf(rest[:n])
		if err := w.Append(&b.RefColumns); err != nil {
			t.Fatal(err)
		}
		rest = rest[n:]
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if w.Rows() != int64(len(refs)) {
		t.Fatalf("wrote %d rows, want %d", w.Rows(), len(refs))
	}
	return out.Bytes()
}

// randomRefs returns refs that occur in archives: in file order with gaps, in another order, missing,
// inline, masked, in other files, and with extreme numbers.
func randomRefs(rng *rand.Rand, n int) []manifest.Ref {
	refs := make([]manifest.Ref, n)
	at := int64(0)
	style := 0
	for i := range refs {
		if rng.IntN(3000) == 0 {
			style = rng.IntN(8)
		}
		r := &refs[i]
		r.Offset, r.Size = at, rng.Int64N(1<<19)
		at += r.Size
		switch style {
		case 1:
			r.Offset = rng.Int64N(1 << 40)
		case 2:
			*r = manifest.Ref{Offset: manifest.NotStored}
		case 3:
			*r = manifest.Ref{Offset: manifest.InlineRow(rng.Int64N(1000)), Size: rng.Int64N(100)}
		case 4:
			r.Mask = rng.Uint32()
		case 5:
			r.Other = rng.Int32()
		case 6:
			*r = manifest.Ref{Offset: 1 << 62, Size: 1 << 62, Mask: math.MaxUint32, Other: math.MaxInt32}
		case 7:
			at += int64(rng.IntN(2)) * 512
		}
	}
	return refs
}

func TestRefs(t *testing.T) {
	seed := soak.Seed(t)
	rng := rand.New(rand.NewPCG(seed, 0))
	var m memoryTables
	var refs []manifest.Ref
	for _, n := range []int{1, 4096, 300_000, 0, 4097, 2} {
		some := randomRefs(rng, n)
		data := writeRefs(t, rng, some)
		if !bytes.Equal(data, writeRefs(t, rng, some)) {
			t.Fatalf("%d refs: other batches give other bytes", n)
		}
		refs = append(refs, some...)
		m.add(manifest.Refs, int64(n), data)
	}
	for _, cache := range []int64{0, 100_000, 1 << 30} {
		checkRefs(t, rng, m.reader(t, cache), refs)
	}
}

// TestIsPlain checks that all rows of plain pages are plain.
func TestIsPlain(t *testing.T) {
	seed := soak.Seed(t)
	rng := rand.New(rand.NewPCG(seed, 0))
	refs := make([]manifest.Ref, 100_000)
	for i := range refs {
		refs[i] = manifest.Ref{Offset: int64(100 * i), Size: 100}
	}
	copy(refs[20_000:], randomRefs(rng, 5000))
	refs[50_000].Mask, refs[60_000].Other, refs[70_000].Offset = 1, 1, manifest.NotStored
	w := NewRefs(io.Discard)
	for rest := refs; len(rest) > 0; {
		n := min(1+rng.IntN(10_000), len(rest))
		b := refColumnsOf(rest[:n])
		if rng.IntN(2) == 0 && !slices.ContainsFunc(b.Masks, func(m uint32) bool { return m != 0 }) {
			b.Masks = nil
		}
		if err := w.Append(&b.RefColumns); err != nil {
			t.Fatal(err)
		}
		rest = rest[n:]
	}
	plain := 0
	for range 1000 {
		row := rng.IntN(len(refs))
		rows := rng.IntN(min(len(refs)-row, 5000) + 1)
		if !w.IsPlain(int64(row), int64(rows)) {
			continue
		}
		plain++
		for _, r := range refs[row : row+rows] {
			if r.Offset < 0 || r.Mask != 0 || r.Other != 0 {
				t.Fatalf("plain rows %d to %d contain %+v", row, row+rows, r)
			}
		}
	}
	if plain < 300 {
		t.Errorf("%d of 1000 runs are plain", plain)
	}
	if w.IsPlain(-1, 1) || w.IsPlain(99_999, 2) {
		t.Error("rows that do not exist are plain")
	}
}

func checkRefs(t *testing.T, rng *rand.Rand, r *Reader, refs []manifest.Ref) {
	t.Helper()
	ctx := context.Background()
	rows := int64(len(refs))
	if r.Rows(manifest.Refs) != rows {
		t.Fatalf("got %d rows, want %d", r.Rows(manifest.Refs), rows)
	}
	dst := make([]manifest.Ref, 10_000)
	var columns manifest.RefColumns
	for range 300 {
		row := rng.Int64N(rows)
		some := dst[:rng.Int64N(min(int64(len(dst)), rows-row)+1)]
		if err := r.ReadRefs(ctx, row, some); err != nil {
			t.Fatal(err)
		}
		for i, got := range some {
			if got != refs[row+int64(i)] {
				t.Fatalf("row %d: got %+v, want %+v", row+int64(i), got, refs[row+int64(i)])
			}
		}
		if err := r.ReadColumns(ctx, row, len(some), &columns); err != nil || len(columns.Offsets) != len(some) {
			t.Fatalf("%d of %d refs by columns (%v)", len(columns.Offsets), len(some), err)
		}
		for i, want := range some {
			if got := columns.At(i); got != want {
				t.Fatalf("row %d: got %+v by columns, want %+v", row+int64(i), got, want)
			}
		}
	}
	for range 5 {
		row := rng.Int64N(rows)
		checkScan(t, r, refs, row, rng.Int64N(rows-row+1))
	}
	checkScan(t, r, refs, 0, rows)
}

func checkScan(t *testing.T, r *Reader, refs []manifest.Ref, row, rows int64) {
	t.Helper()
	next := row
	for b, err := range r.ScanRefs(context.Background(), row, rows) {
		if err != nil {
			t.Fatal(err)
		}
		if b.Row != next {
			t.Fatalf("a batch starts at row %d, want %d", b.Row, next)
		}
		for i := range b.Offsets {
			if got := (manifest.Ref{Offset: b.Offsets[i], Size: b.Sizes[i], Mask: b.Masks[i], Other: b.Others[i]}); got != refs[next] {
				t.Fatalf("row %d: got %+v, want %+v", next, got, refs[next])
			}
			next++
		}
	}
	if next != row+rows {
		t.Fatalf("the scan of %d rows from %d on ended at %d", rows, row, next)
	}
}

func TestRefsRefused(t *testing.T) {
	w := NewRefs(&bytes.Buffer{})
	for name, err := range map[string]error{
		"a size below 0":      w.Append(&manifest.RefColumns{Offsets: []int64{0}, Sizes: []int64{-1}}),
		"an offset too far":   w.Append(&manifest.RefColumns{Offsets: []int64{math.MaxInt64}, Sizes: []int64{1}}),
		"columns that differ": w.Append(&manifest.RefColumns{Offsets: []int64{1, 2}, Sizes: []int64{1}}),
		"masks that differ":   w.Append(&manifest.RefColumns{Offsets: []int64{1, 2}, Sizes: []int64{1, 2}, Masks: []uint32{0}}),
	} {
		if err == nil {
			t.Errorf("%s: writing succeeds, want an error", name)
		}
	}
	var m memoryTables
	m.add(manifest.Refs, 3, writeRefs(t, rand.New(rand.NewPCG(1, 1)), make([]manifest.Ref, 3)))
	r := m.reader(t, 0)
	for _, row := range []int64{-1, 3, 4, math.MaxInt64} {
		if err := r.ReadRefs(context.Background(), row, make([]manifest.Ref, 1)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("row %d of 3: %v", row, err)
		}
	}
	if err := r.ReadRefs(context.Background(), 2, make([]manifest.Ref, 2)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("rows 2 and 3 of 3: %v", err)
	}
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	if err := r.ReadRefs(canceled, 0, make([]manifest.Ref, 1)); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
	for _, err := range r.ScanRefs(canceled, 0, 3) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("scan, canceled: %v", err)
		}
	}
}

// TestOpenReadsNothing checks that a table is opened when it is first needed, and that a lookup reads
// one page of each column with several values.
func TestOpenReadsNothing(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	refs := make([]manifest.Ref, 3*4096)
	for i := range refs {
		refs[i] = manifest.Ref{Offset: rng.Int64N(1 << 40), Size: rng.Int64N(1 << 19)}
	}
	var m memoryTables
	m.add(manifest.Refs, int64(len(refs)), writeRefs(t, rng, refs))
	m.add(manifest.Refs, int64(len(refs)), writeRefs(t, rng, refs))
	r := m.reader(t, 1<<20)
	if m.opened != 0 {
		t.Fatalf("Open opened %d tables", m.opened)
	}
	dst := make([]manifest.Ref, 1)
	read := func(row int64) int {
		before := m.reads
		if err := r.ReadRefs(context.Background(), row, dst); err != nil {
			t.Fatal(err)
		}
		return m.reads - before
	}
	if n := read(5000); n != 2+2+2 || m.opened != 1 { // footer, offset indexes, pages
		t.Errorf("the first lookup took %d reads and opened %d tables", n, m.opened)
	}
	if n := read(5001); n != 0 {
		t.Errorf("a lookup in the same page took %d reads", n)
	}
	if n := read(9000); n != 2 {
		t.Errorf("a lookup in the next page took %d reads", n)
	}
}

func TestGapsBetweenTables(t *testing.T) {
	for name, tables := range map[string][]manifest.Table{
		"a gap":        {{Kind: manifest.Refs, Rows: 3}, {Kind: manifest.Refs, First: 4, Rows: 1}},
		"an overlap":   {{Kind: manifest.Refs, Rows: 3}, {Kind: manifest.Refs, First: 2, Rows: 1}},
		"a late start": {{Kind: manifest.Refs, First: 1, Rows: 3}},
		"rows below 0": {{Kind: manifest.Refs, Rows: -1}},
	} {
		if _, err := Open(tables, nil, NewCache(0)); !errors.Is(err, codec.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
