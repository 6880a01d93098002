package table

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"varve/manifest"
)

// TestRefChecksums writes refs to several tables, some of them without checksums, and reads and folds the tables.
func TestRefChecksums(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, rand.Uint64()))
	m := &memoryTables{}
	var want []manifest.Ref
	for i := range 4 {
		refs := randomRefs(rng, 1+rng.IntN(20000))
		start := NewRefs
		if i%2 == 1 {
			start = NewCheckedRefs
			for k := range refs {
				if refs[k].Checksum = rng.Uint32(); i == 3 && k > 5000 {
					refs[k].Checksum = 7 // one value in a page takes no room
				}
			}
		}
		var out bytes.Buffer
		w := start(&out)
		columns := refColumnsOf(refs)
		for _, r := range refs {
			columns.Checksums = append(columns.Checksums, r.Checksum)
		}
		if err := w.Append(&columns.RefColumns); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		m.add(manifest.Refs, w.Rows(), out.Bytes())
		want = append(want, refs...)
	}
	checkReading(t, m.reader(t, 1<<20), want)

	var out bytes.Buffer
	rows, err := m.reader(t, 1<<20).Fold(t.Context(), manifest.Refs, 0, &out)
	if err != nil || rows != int64(len(want)) {
		t.Fatal(rows, err)
	}
	folded := &memoryTables{}
	folded.add(manifest.Refs, rows, out.Bytes())
	checkReading(t, folded.reader(t, 1<<20), want)
	// Checksums make no difference: the same refs without them are the same.
	plain := slices.Clone(want)
	for i := range plain {
		plain[i].Checksum = 0
	}
	without := &memoryTables{}
	without.add(manifest.Refs, rows, writeRefs(t, rng, plain))
	if same, err := Begins(t.Context(), without.reader(t, 1<<20), folded.reader(t, 1<<20), false); !same || err != nil {
		t.Errorf("a snapshot with checksums differs from one without: %v", err)
	}
}

// checkReading reads refs in all three ways.
func checkReading(t *testing.T, r *Reader, want []manifest.Ref) {
	t.Helper()
	got := make([]manifest.Ref, len(want))
	if err := r.ReadRefs(t.Context(), 0, got); err != nil || !slices.Equal(got, want) {
		t.Errorf("ReadRefs gives other refs: %v", err)
	}
	var columns manifest.RefColumns
	if err := r.ReadColumns(t.Context(), 0, len(want), &columns); err != nil {
		t.Fatal(err)
	}
	for i := range want {
		if columns.At(i) != want[i] {
			t.Fatalf("ReadColumns: ref %d is %+v, want %+v", i, columns.At(i), want[i])
		}
	}
	at := 0
	for b, err := range r.ScanRefs(t.Context(), 0, int64(len(want))) {
		if err != nil {
			t.Fatal(err)
		}
		for i := range b.Offsets {
			if b.At(i) != want[at] {
				t.Fatalf("ScanRefs: ref %d is %+v, want %+v", at, b.At(i), want[at])
			}
			at++
		}
	}
}

// TestChecksumBytes checks the figure of docs/reference/reading.md: 4 bytes a checksum, and little more.
func TestChecksumBytes(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var plain, checked bytes.Buffer
	a, b := NewRefs(&plain), NewCheckedRefs(&checked)
	const n = 100_000
	for range n {
		c := manifest.RefColumns{Offsets: []int64{5}, Sizes: []int64{5}, Checksums: []uint32{rng.Uint32()}}
		if err := b.Append(&c); err != nil {
			t.Fatal(err)
		}
		if err := a.Append(&c); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if more := float64(checked.Len()-plain.Len()) / n; more > 4.3 {
		t.Errorf("a checksum takes %.2f bytes", more)
	} else {
		t.Logf("a checksum takes %.2f bytes", more)
	}
}
