package table

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"varve/codec"
	"varve/manifest"
)

// everyKind returns small tables of all kinds.
func everyKind(t testing.TB) map[manifest.TableKind][]byte {
	rng := rand.New(rand.NewPCG(4, 4))
	points, _ := writePoints(t, testPoints(3, 5), testPoints(4, 1), testPoints(9, 60))
	return map[manifest.TableKind][]byte{
		manifest.Refs:    writeRefs(t, rng, randomRefs(rng, 40)),
		manifest.Sources: write(t, start(NewSources), randomSource(rng, 0), randomSource(rng, 1), randomSource(rng, 2), randomSource(rng, 3)),
		manifest.Headers: write(t, start(NewHeaders), fileHeaders(testHeader(3))...),
		manifest.Groups:  write(t, start(NewGroups), manifest.NewFileGroups(testGroups(3))),
		manifest.ValueOf: write(t, start(NewValues), testValues(rng, 5)...),
		manifest.Blobs:   write(t, start(NewInline), []byte("a"), []byte("bb"), bytes.Repeat([]byte("c"), 300)),
		manifest.Tiles: write(t, func(b *bytes.Buffer) *Writer[manifest.Tile] { return NewTiles(b, 1) },
			manifest.Tile{File: 1, Origin: []int64{0}, Start: []int64{0}, Shape: []int64{5}},
			manifest.Tile{File: 2, Origin: []int64{5}, Start: []int64{0}, Shape: []int64{5}}),
		manifest.Patches: write(t, start(NewPatches), Patch{1, 0, 5, 9}, Patch{7, 5, 3, 1 << 31}),
		manifest.Points:  points,
	}
}

// readEverything calls all read methods of a table, and returns the first error.
func readEverything(r *Reader, kind manifest.TableKind, name string) error {
	ctx := context.Background()
	rows := r.Rows(kind)
	var all error
	keep := func(err error) {
		if all == nil && !errors.Is(err, fs.ErrNotExist) {
			all = err
		}
	}
	switch kind {
	case manifest.Refs:
		keep(r.ReadRefs(ctx, 0, make([]manifest.Ref, min(rows, 100_000))))
		for _, err := range r.ScanRefs(ctx, 0, rows) {
			keep(err)
		}
	case manifest.Sources:
		_, err := r.Source(ctx, 0)
		keep(err)
		for _, err := range r.ScanSources(ctx, 0, rows) {
			keep(err)
		}
		_, err = r.Index(ctx)
		keep(err)
	case manifest.Headers:
		keep(first(r.Header(ctx, testHeader(3).ID)))
		keep(ended(r.ScanHeaders(ctx)))
	case manifest.Groups:
		keep(first(r.Groups(ctx, testGroups(3).ID)))
		keep(ended(r.ScanGroups(ctx)))
	case manifest.ValueOf:
		keep(first(r.Values(ctx, "8")))
		keep(ended(r.ScanValues(ctx)))
	case manifest.Blobs:
		for row := range min(rows, 1000) {
			keep(first(r.Inline(ctx, row)))
		}
	case manifest.Tiles:
		keep(ended(r.ScanTiles(ctx, manifest.Segment{Table: name, Rows: rows})))
	case manifest.Points:
		for _, ref := range []int64{3, 4, 9} {
			c, ok, err := r.ReadPoints(ctx, ref)
			keep(err)
			if ok && len(c.Points) > 0 && c.Points[len(c.Points)-1].HasWindow {
				keep(first(c.ReadWindows(ctx, []int{len(c.Points) - 1})))
			}
		}
		keep(ended(r.ScanPoints(ctx, 0, rows)))
	case manifest.Patches:
		_, _, err := r.Patch(ctx, &manifest.Patched{Table: name, Rows: rows}, 7)
		keep(err)
	}
	return all
}

func first[T any](_ T, err error) error { return err }

func ended[T any](all func(func(T, error) bool)) (last error) {
	all(func(_ T, err error) bool {
		last = err
		return true
	})
	return last
}

// TestDamage checks that a table that is truncated, changed or replaced by another is an error that
// names the file, or reads without a difference.
func TestDamage(t *testing.T) {
	for kind, data := range everyKind(t) {
		rows := rowsOf(t, kind, data)
		open := func(bad []byte, table manifest.Table) error {
			m := memoryTables{tables: []manifest.Table{table}, data: map[string][]byte{table.Name: bad}}
			return readEverything(m.reader(t, 1<<20), kind, table.Name)
		}
		table := manifest.Table{Kind: kind, Name: "tables/the-file", Rows: rows, Bytes: int64(len(data))}
		if err := open(data, table); err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		for n := range len(data) {
			damageOf(t, open(data[:n], table), manifest.FileTruncated)
			short := table
			short.Bytes = int64(n)
			damageOf(t, open(data[:n], short), manifest.FileCorrupt)
		}
		noticed := 0
		for i := len("PAR1"); i < len(data); i++ {
			bad := bytes.Clone(data)
			bad[i] ^= 0x41
			if err := open(bad, table); err != nil {
				noticed++
				if !errors.Is(err, codec.ErrCorrupt) && !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "tables/the-file") {
					t.Fatalf("%s: byte %d of %d: %v", kind, i, len(data), err)
				}
			}
		}
		t.Logf("%s: %d of %d changes were noticed", kind, noticed, len(data)-4)
		other := table
		other.Rows++
		damageOf(t, open(data, other), manifest.FileCorrupt)
	}
}

func damageOf(t *testing.T, err error, want manifest.Damage) {
	t.Helper()
	var damage *manifest.DamageError
	if !errors.As(err, &damage) || damage.Damage != want || damage.Name != "tables/the-file" {
		t.Fatalf("got %v, want that the file %s", err, want)
	}
}

func rowsOf(t testing.TB, kind manifest.TableKind, data []byte) int64 {
	t.Helper()
	return map[manifest.TableKind]int64{
		manifest.Refs: 40, manifest.Sources: 4, manifest.Headers: 1, manifest.Groups: 1,
		manifest.ValueOf: 5, manifest.Blobs: 3, manifest.Tiles: 2, manifest.Patches: 2, manifest.Points: 35,
	}[kind]
}

func TestOtherVersionAndKind(t *testing.T) {
	data := everyKind(t)[manifest.Headers]
	m := memoryTables{}
	m.add(manifest.Groups, 1, data)
	if _, err := m.reader(t, 0).Groups(context.Background(), "x"); !errors.Is(err, codec.ErrCorrupt) {
		t.Errorf("headers as groups: %v", err)
	}
	newer := rewrite(t, data, `{"version":1,`, `{"version":2,`)
	m = memoryTables{}
	m.add(manifest.Headers, 1, newer)
	if _, err := m.reader(t, 0).Header(context.Background(), "x"); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("version 2: %v", err)
	}
}

// TestAllocation checks that a reader's allocations are bounded by the size of the file.
func TestAllocation(t *testing.T) {
	for kind, data := range everyKind(t) {
		var before, after runtime.MemStats
		for i := 4; i < len(data); i += 7 {
			bad := bytes.Clone(data)
			bad[i] = 0xff
			fixFooter(bad)
			runtime.ReadMemStats(&before)
			readHostile(kind, bad)
			runtime.ReadMemStats(&after)
			if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20 {
				t.Errorf("%s: byte %d: allocated %d bytes for a file of %d bytes", kind, i, n, len(data))
			}
		}
	}
}
