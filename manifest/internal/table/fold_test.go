package table

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"varve/fixtures/soak"
	"varve/manifest"
)

// stretches divides n rows among a few tables.
func stretches(rng *rand.Rand, n int) (cuts []int) {
	cuts = []int{0, n}
	for range 1 + rng.IntN(6) {
		cuts = append(cuts, 1+rng.IntN(n-1))
	}
	slices.Sort(cuts)
	return slices.Compact(cuts)
}

// folded is a kind of table whose rows are divided anywhere, and folded.
type folded struct {
	kind  manifest.TableKind
	rows  int
	write func(from, to int) []byte
}

func foldedKinds(t *testing.T, rng *rand.Rand) []folded {
	refs := randomRefs(rng, 600_000)
	values := testValues(rng, 500)
	var sources []*SourceRow
	for i := range 20_000 {
		sources = append(sources, randomSource(rng, i))
	}
	var inline [][]byte
	for i := range 500 {
		inline = append(inline, bytes.Repeat(fmt.Append(nil, i), rng.IntN(200)))
	}
	headers := map[string]*manifest.FileHeader{}
	for i := range 100 {
		h := testHeader(i)
		headers[h.ID] = manifest.NewFileHeader(h)
	}
	inOrder := sorted(headers)
	return []folded{
		{manifest.Refs, len(refs), func(from, to int) []byte { return writeRefs(t, rng, refs[from:to]) }},
		{manifest.Sources, len(sources), func(from, to int) []byte { return write(t, start(NewSources), sources[from:to]...) }},
		{manifest.Blobs, len(inline), func(from, to int) []byte { return write(t, start(NewInline), inline[from:to]...) }},
		{manifest.ValueOf, len(values), func(from, to int) []byte { return write(t, start(NewValues), values[from:to]...) }},
		{manifest.Headers, len(inOrder), func(from, to int) []byte { return write(t, start(NewHeaders), inOrder[from:to]...) }},
	}
}

// TestFold checks that folded tables equal the table that writing all rows at once gives.
func TestFold(t *testing.T) {
	seed := soak.Seed(t)
	rng := rand.New(rand.NewPCG(seed, 0))
	for _, f := range foldedKinds(t, rng) {
		t.Run(string(f.kind), func(t *testing.T) {
			cuts := stretches(rng, f.rows)
			var m memoryTables
			for i, from := range cuts[:len(cuts)-1] {
				m.add(f.kind, int64(cuts[i+1]-from), f.write(from, cuts[i+1]))
			}
			first := cuts[rng.IntN(len(cuts)-1)]
			var out bytes.Buffer
			rows, err := m.reader(t, 1<<20).Fold(t.Context(), f.kind, int64(first), &out)
			if err != nil || rows != int64(f.rows-first) {
				t.Fatalf("%d rows from %d on of %d: %v", rows, first, f.rows, err)
			}
			if !bytes.Equal(out.Bytes(), f.write(first, f.rows)) {
				t.Errorf("rows from %d on, in tables that start at %d, give other bytes", first, cuts)
			}
			checkBegins(t, &m, f.kind, first, rows, out.Bytes())
		})
	}
}

// checkBegins compares tables with themselves, after folding from a row on and with rows added.
func checkBegins(t *testing.T, m *memoryTables, kind manifest.TableKind, first int, rows int64, fold []byte) {
	t.Helper()
	if kind != manifest.Refs && kind != manifest.Sources && kind != manifest.Blobs {
		return
	}
	now := &memoryTables{data: map[string][]byte{}}
	for _, table := range m.tables {
		if table.First < int64(first) {
			now.tables = append(now.tables, table)
			now.data[table.Name] = m.data[table.Name]
		}
	}
	now.tables = slices.Clip(now.tables)
	for len(now.tables) < len(m.tables) { // so that names differ
		now.tables = append(now.tables, manifest.Table{Kind: "other"})
	}
	now.add(kind, rows, fold)
	now.tables = slices.DeleteFunc(now.tables, func(t manifest.Table) bool { return t.Kind == "other" })
	was, is := m.reader(t, 1<<20), now.reader(t, 1<<20)
	if same, err := Begins(t.Context(), was, is, true); err != nil || !same {
		t.Errorf("folded rows: got %v, %v", same, err)
	}
	longer := &memoryTables{tables: slices.Clone(now.tables), data: now.data}
	longer.add(kind, rows, fold)
	if same, err := Begins(t.Context(), is, longer.reader(t, 1<<20), true); err != nil || !same || longer.opened > 0 {
		t.Errorf("added rows: got %v, %v, with %d tables read", same, err, longer.opened)
	}
	if same, err := Begins(t.Context(), longer.reader(t, 1<<20), is, true); err != nil || same {
		t.Errorf("fewer rows count as the same: %v", err)
	}
}

// TestBeginsWithOthers checks that rows which differ in one column are found, whatever the pages are.
func TestBeginsWithOthers(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	refs := randomRefs(rng, 20_000)
	one := func(refs []manifest.Ref, cut int) *Reader {
		var m memoryTables
		m.add(manifest.Blobs, 1, write(t, start(NewInline), []byte("x")))
		for _, some := range [][]manifest.Ref{refs[:cut], refs[cut:]} {
			m.add(manifest.Refs, int64(len(some)), writeRefs(t, rng, some))
			m.tables[len(m.tables)-1].Name += fmt.Sprint(cut)
			m.data[m.tables[len(m.tables)-1].Name] = writeRefs(t, rng, some)
		}
		return m.reader(t, 1<<20)
	}
	was := one(refs, 5000)
	for name, change := range map[string]func(*manifest.Ref){
		"nothing": func(*manifest.Ref) {},
		"offset":  func(r *manifest.Ref) { r.Offset++ },
		"size":    func(r *manifest.Ref) { r.Size++ },
		"mask":    func(r *manifest.Ref) { r.Mask ^= 4 },
		"other":   func(r *manifest.Ref) { r.Other ^= 1 },
	} {
		now := slices.Clone(refs)
		at := rng.IntN(len(now))
		for now[at].Offset < 0 || now[at].Offset == 1<<62 {
			at = rng.IntN(len(now))
		}
		change(&now[at])
		if same, err := Begins(t.Context(), was, one(now, 7000), true); err != nil || same != (name == "nothing") {
			t.Errorf("%s of row %d: %v, %v", name, at, same, err)
		}
	}
}

// TestFoldTwice checks that a row whose ID is in several tables is written once.
func TestFoldTwice(t *testing.T) {
	all := testValues(rand.New(rand.NewPCG(3, 4)), 300)
	var m memoryTables
	for _, some := range [][]*manifest.Values{all[:200], all[100:], all[150:160]} {
		m.add(manifest.ValueOf, int64(len(some)), write(t, start(NewValues), some...))
	}
	var out bytes.Buffer
	rows, err := m.reader(t, 1<<20).Fold(t.Context(), manifest.ValueOf, 0, &out)
	if err != nil || rows != 300 || !bytes.Equal(out.Bytes(), write(t, start(NewValues), all...)) {
		t.Errorf("%d rows, %v", rows, err)
	}
	if _, err := m.reader(t, 1<<20).Fold(t.Context(), manifest.ValueOf, 600, &out); err == nil {
		t.Error("folding rows that do not exist succeeds, want an error")
	}
	if _, err := m.reader(t, 1<<20).Fold(t.Context(), manifest.Patches, 0, &out); err == nil {
		t.Error("folding patches succeeds, want an error")
	}
}

// TestFoldRefusesDisorder checks that tables whose IDs do not increase are not folded.
func TestFoldRefusesDisorder(t *testing.T) {
	var m memoryTables
	b := &bytes.Buffer{}
	w := newTable(b, manifest.ValueOf, valueColumns)
	for _, id := range []string{"b", "a"} {
		w.text(idColumn, id)
		w.null(dataColumn)
		w.null(textsColumn)
		if err := w.endRow(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.close(); err != nil {
		t.Fatal(err)
	}
	m.add(manifest.ValueOf, 2, b.Bytes())
	var damage *manifest.DamageError
	if _, err := m.reader(t, 1<<20).Fold(t.Context(), manifest.ValueOf, 0, &bytes.Buffer{}); !errors.As(err, &damage) || damage.Damage != manifest.FileCorrupt {
		t.Errorf("got %v, want FileCorrupt", err)
	}
}

func TestFoldTiles(t *testing.T) {
	tile := func(i, at int64) manifest.Tile {
		return manifest.Tile{File: int(i), Origin: []int64{at}, Start: []int64{0}, Shape: []int64{1}}
	}
	var m memoryTables
	newTiles := func(b *bytes.Buffer) *Writer[manifest.Tile] { return NewTiles(b, 1) }
	a := m.add(manifest.Tiles, 3, write(t, newTiles, tile(0, 0), tile(1, 1), tile(2, 2)))
	b := m.add(manifest.Tiles, 1, write(t, newTiles, tile(7, 0)))
	var out bytes.Buffer
	rows, err := m.reader(t, 1<<20).FoldTiles(t.Context(), []manifest.Segment{
		{Table: a.Name, Row: 1, Rows: 2, Shift: []int64{-1}}, {Table: b.Name, Rows: 1, Shift: []int64{2}}}, 1, &out)
	if want := write(t, newTiles, tile(1, 0), tile(2, 1), tile(7, 2)); err != nil || rows != 3 || !reflect.DeepEqual(out.Bytes(), want) {
		t.Errorf("%d rows, %v", rows, err)
	}
	if _, err := m.reader(t, 1<<20).FoldTiles(t.Context(), []manifest.Segment{{Table: a.Name, Rows: 4}}, 1, &out); err == nil {
		t.Error("folding tiles that do not exist succeeds, want an error")
	}
}

func BenchmarkFold(b *testing.B) {
	var m memoryTables
	for range 8 {
		var data bytes.Buffer
		newSynthetic(inFileOrder).write(b, &data, 1<<18)
		m.add(manifest.Refs, 1<<18, data.Bytes())
	}
	r := m.reader(b, 1<<20)
	b.ReportAllocs()
	for b.Loop() {
		var out counter
		if _, err := r.Fold(b.Context(), manifest.Refs, 0, &out); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)*8*(1<<18)/b.Elapsed().Seconds()/1e6, "Mrefs/s")
}
