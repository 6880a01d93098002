package store

import (
	"context"
	"fmt"
	"io/fs"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"

	"varve/codec"
	"varve/grid"
	"varve/manifest"
	"varve/manifest/internal/table"
)

// memoryTables implements tables in memory.
type memoryTables struct {
	refs       []manifest.Ref
	sources    []*table.SourceRow
	headers    map[string]*manifest.Header
	values     map[string]*manifest.Values
	inline     [][]byte
	placements map[string][]manifest.Tile // by the name of a segment's table
	patches    map[int64]table.Patch      // of all runs, by the number of the chunk
	closed     atomic.Bool
	dir        string // of the sources
}

func newMemoryTables() *memoryTables {
	return &memoryTables{
		headers:    map[string]*manifest.Header{},
		values:     map[string]*manifest.Values{},
		placements: map[string][]manifest.Tile{},
	}
}

func (m *memoryTables) ReadRefs(ctx context.Context, row int64, dst []manifest.Ref) error {
	if row < 0 || row+int64(len(dst)) > int64(len(m.refs)) {
		return fmt.Errorf("refs %d to %d: there are %d: %w", row, row+int64(len(dst)), len(m.refs), codec.ErrCorrupt)
	}
	copy(dst, m.refs[row:])
	return ctx.Err()
}

func (m *memoryTables) ReadColumns(ctx context.Context, row int64, n int, dst *manifest.RefColumns) error {
	refs := make([]manifest.Ref, n)
	if err := m.ReadRefs(ctx, row, refs); err != nil {
		return err
	}
	*dst = manifest.RefColumns{}
	for _, r := range refs {
		dst.Offsets, dst.Sizes = append(dst.Offsets, r.Offset), append(dst.Sizes, r.Size)
		dst.Masks, dst.Others = append(dst.Masks, r.Mask), append(dst.Others, r.Other)
		dst.Checksums = append(dst.Checksums, r.Checksum)
	}
	return nil
}

func (m *memoryTables) Source(_ context.Context, row int64) (*table.SourceRow, error) {
	if row < 0 || row >= int64(len(m.sources)) {
		return nil, fmt.Errorf("source %d: there are %d: %w", row, len(m.sources), codec.ErrCorrupt)
	}
	return m.sources[row], nil
}

func (m *memoryTables) Index(context.Context) (*table.SourceIndex, error) {
	x := &table.SourceIndex{}
	places := map[string]int64{}
	for _, s := range m.sources {
		if _, ok := places[s.Header]; !ok {
			places[s.Header] = int64(len(x.IDs))
			x.IDs = append(x.IDs, s.Header)
		}
		x.Header.Append(places[s.Header])
		x.Row.Append(s.Row)
	}
	return x, nil
}

func lookup[T any](m map[string]T, id string) (T, error) {
	v, ok := m[id]
	if !ok {
		return v, fmt.Errorf("%s: %w", id, fs.ErrNotExist)
	}
	return v, nil
}

func (m *memoryTables) Header(_ context.Context, id string) (*manifest.Header, error) {
	return lookup(m.headers, id)
}

func (m *memoryTables) Values(_ context.Context, id string) (*manifest.Values, error) {
	return lookup(m.values, id)
}

func (m *memoryTables) Inline(_ context.Context, row int64) ([]byte, error) {
	if row < 0 || row >= int64(len(m.inline)) {
		return nil, fmt.Errorf("inline %d: there are %d: %w", row, len(m.inline), codec.ErrCorrupt)
	}
	return m.inline[row], nil
}

func (m *memoryTables) Patch(_ context.Context, _ *manifest.Patched, chunk int64) (table.Patch, bool, error) {
	p, ok := m.patches[chunk]
	return p, ok, nil
}

func (m *memoryTables) ReadFilePoints(context.Context, int64, *manifest.Source) (*table.ChunkPoints, bool, error) {
	return nil, false, nil
}

func (m *memoryTables) ReadPoints(context.Context, int64) (*table.ChunkPoints, bool, error) {
	return nil, false, nil
}

func (m *memoryTables) ScanTiles(_ context.Context, s manifest.Segment) iter.Seq2[manifest.Tile, error] {
	return func(yield func(manifest.Tile, error) bool) {
		for _, t := range m.placements[s.Table][s.Row : s.Row+s.Rows] {
			t.Origin = slices.Clone(t.Origin)
			for k := range s.Shift {
				t.Origin[k] += s.Shift[k]
			}
			if !yield(t, nil) {
				return
			}
		}
	}
}

func (m *memoryTables) Close() error { m.closed.Store(true); return nil }

// addFile writes a file of one variable and adds it to the manifest. chunks are the stored bytes for
// each row of refs, nil for chunks that are not stored.
func (m *memoryTables) addFile(t testing.TB, r *rand.Rand, v manifest.Variable, chunks []storedChunk) (row int) {
	t.Helper()
	h := &manifest.Header{Variables: []*manifest.Variable{{Path: "/before", Shape: []int64{3}, Dims: []string{"/b"},
		Storage: manifest.Storage{Layout: manifest.Chunked, Chunks: []int64{2}}}, &v}}
	h.SetID()
	if have, ok := m.headers[h.ID]; ok {
		h = have
	}
	m.headers[h.ID] = h
	first := int64(len(m.refs))
	m.refs = append(m.refs, manifest.Ref{Offset: manifest.NotStored}, manifest.Ref{Offset: manifest.NotStored})
	file := make([]byte, r.IntN(50))
	for _, c := range chunks {
		ref := manifest.Ref{Offset: manifest.NotStored, Mask: c.mask}
		switch {
		case c.bytes == nil:
		case c.inline:
			ref.Offset, ref.Size = manifest.InlineRow(int64(len(m.inline))), int64(len(c.bytes))
			m.inline = append(m.inline, c.bytes)
		default:
			file = append(file, make([]byte, r.IntN(9))...)
			ref.Offset, ref.Size = int64(len(file)), int64(len(c.bytes))
			file = append(file, c.bytes...)
		}
		m.refs = append(m.refs, ref)
	}
	s := m.addSource(t, file)
	s.Header, s.Row = h.ID, first
	return len(m.sources) - 1
}

type storedChunk struct {
	bytes  []byte
	mask   uint32
	inline bool
}

func (m *memoryTables) addSource(t testing.TB, content []byte) *table.SourceRow {
	t.Helper()
	if m.dir == "" {
		m.dir = t.TempDir()
	}
	name := filepath.Join(m.dir, fmt.Sprintf("file %d.bin", len(m.sources)))
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	s := &table.SourceRow{Source: manifest.Source{URL: name, Size: info.Size(), Modified: info.ModTime()}}
	m.sources = append(m.sources, s)
	return s
}

// snapshot returns a snapshot of arrays with one placement.
func (m *memoryTables) snapshot(dims []string, tiles []manifest.Tile, arrays ...manifest.Array) *manifest.Snapshot {
	m.placements["tiles"] = tiles
	return &manifest.Snapshot{
		Arrays: arrays,
		Placements: []manifest.PlacementTable{{ID: "p", Dims: dims,
			Segments: []manifest.Segment{{Table: "tiles", Rows: int64(len(tiles)), Shift: make([]int64, len(dims))}}}},
	}
}

func openMemory(t testing.TB, snap *manifest.Snapshot, m *memoryTables, opts Options) *Store {
	t.Helper()
	opts.Trusted = true
	s, err := newStore(snap, m, nil, &opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// cut returns the elements of a region of an array in C order.
func cut(t testing.TB, all codec.Elems, shape []int64, r grid.Region, typ codec.Type) codec.Elems {
	t.Helper()
	from := newWindow(all, grid.Whole(shape), typ)
	e := codec.NewElems(codec.Form{Type: typ, Shape: r.Shape})
	to := newWindow(e, r, typ)
	if err := to.copyFrom(&from, r); err != nil {
		t.Fatal(err)
	}
	return e
}

func equalElems(a, b codec.Elems) bool {
	return slices.Equal(a.Fixed, b.Fixed) && slices.EqualFunc(a.Var, b.Var, func(x, y []byte) bool { return string(x) == string(y) })
}

func newRand() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }
