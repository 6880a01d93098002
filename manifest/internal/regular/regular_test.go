package regular

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"varve/codec"
	"varve/fixtures/soak"
	"varve/grid"
	"varve/manifest"
	"varve/zarrjson"
)

const fill = 7

// memory is a source in memory. Each element is its index, but fill in missing chunks. If a chunk is
// missing, all chunks of the same row are.
type memory struct {
	schema  *zarrjson.Array
	grid    *grid.Grid
	missing map[int64]bool
}

func (m *memory) Schema() *zarrjson.Array { return m.schema }
func (m *memory) Grid() *grid.Grid        { return m.grid }

func (m *memory) Locate(_ context.Context, coords []int64) (manifest.Location, error) {
	l := manifest.Location{Coords: slices.Clone(coords), Kind: manifest.Verbatim, Offset: 1000}
	if m.missing[coords[0]] {
		l.Kind = manifest.Missing
	}
	return l, nil
}

func (m *memory) Chunk(_ context.Context, coords []int64) ([]byte, error) {
	return fmt.Append(nil, coords), nil
}

// at returns the element at a position.
func (m *memory) at(row, column int64) uint16 {
	if chunk, err := m.grid.Dim(0).Find(row); err != nil || m.missing[chunk] || column >= m.schema.Shape[1] {
		return fill
	}
	return uint16(row*m.schema.Shape[1] + column)
}

func (m *memory) elements(r grid.Region) (b []byte) {
	for row := r.Origin[0]; row < r.End(0); row++ {
		for column := r.Origin[1]; column < r.End(1); column++ {
			b = binary.LittleEndian.AppendUint16(b, m.at(row, column))
		}
	}
	return b
}

func (m *memory) ReadRegion(_ context.Context, r grid.Region, dst codec.Elems) error {
	copy(dst.Fixed, m.elements(r))
	return nil
}

func newMemory(t *testing.T, r *rand.Rand) *memory {
	t.Helper()
	m := &memory{missing: map[int64]bool{}}
	var rows, columns []int64
	for range 1 + r.IntN(8) {
		rows = append(rows, 2+r.Int64N(3))
	}
	for range 1 + r.IntN(3) {
		columns = append(columns, 1+r.Int64N(3))
	}
	sum := func(list []int64) (n int64) {
		for _, v := range list {
			n += v
		}
		return n
	}
	var err error
	m.schema, err = zarrjson.ParseArray(fmt.Appendf(nil, `{"shape":[%d,%d],"data_type":"uint16","fill_value":%d,"chunk_grid":{"name":"regular","configuration":{"chunk_shape":[1,1]}},
		"chunk_key_encoding":{"name":"default"},"codecs":[{"name":"bytes","configuration":{"endian":"little"}}],"zarr_format":3,"node_type":"array"}`,
		sum(rows)-r.Int64N(2), sum(columns), fill))
	if err != nil {
		t.Fatal(err)
	}
	m.schema.ChunkGrid = zarrjson.RectilinearGrid(grid.List(rows...), grid.List(columns...))
	if m.grid, err = m.schema.Grid(); err != nil {
		t.Fatal(err)
	}
	for i := range m.grid.Counts()[0] {
		m.missing[i] = r.IntN(3) == 0
	}
	return m
}

// TestRandom gives random arrays regular grids. A chunk that the source has must be that chunk. Every
// other chunk must have the source's elements, padded with fill. A chunk may be missing only if all its
// elements are fill.
func TestRandom(t *testing.T) {
	seed := soak.Seed(t)
	seen := map[manifest.ChunkKind]int{}
	for i := range 200 {
		t.Run(fmt.Sprintf("seed %d-%d", seed, i), func(t *testing.T) {
			m := newMemory(t, rand.New(rand.NewPCG(seed, uint64(i))))
			a, err := New(m)
			if err != nil {
				t.Fatal(err)
			}
			for w := a.Grid().Walk(); w.Next(); {
				seen[check(t, m, a, &w.Chunk, w.Coords)]++
			}
			if _, err := a.Chunk(t.Context(), a.Grid().Counts()); !errors.Is(err, grid.ErrOutOfBounds) {
				t.Errorf("beyond the last chunk: %v", err)
			}
		})
	}
	if seen[manifest.Verbatim] < 10 || seen[manifest.Reencoded] < 10 || seen[manifest.Missing] < 10 {
		t.Errorf("seed %d: too few chunks of some kind: %v", seed, seen)
	}
}

// check compares a chunk with its source, and returns its kind.
func check(t *testing.T, m *memory, a *Array, c *grid.Chunk, coords []int64) manifest.ChunkKind {
	t.Helper()
	l, err := a.Locate(t.Context(), coords)
	if err != nil {
		t.Fatal(err)
	}
	b, err := a.Chunk(t.Context(), coords)
	if err != nil {
		t.Fatal(err)
	}
	own, _, err := m.grid.Locate(c.Origin)
	if err != nil {
		t.Fatal(err)
	}
	stored, _ := m.grid.Chunk(own)
	if stored.Region.Equal(c.Region) && slices.Equal(stored.Codec, c.Codec) {
		if !slices.Equal(l.Coords, own) || string(b) != fmt.Sprint(own) || (l.Kind == manifest.Missing) != m.missing[own[0]] {
			t.Errorf("chunk %v should be chunk %v of the source, got %+v", coords, own, l)
		}
		return l.Kind
	}
	want := m.elements(grid.Region{Origin: c.Origin, Shape: c.Codec})
	if !slices.Equal(b, want) {
		t.Errorf("chunk %v: got %v, want %v", coords, b, want)
	}
	empty := true
	for row := c.Origin[0]; row < c.End(0); row++ {
		empty = empty && m.at(row, c.Origin[1]) == fill
	}
	if l.Kind == manifest.Missing && !empty || l.Kind == manifest.Verbatim {
		t.Errorf("chunk %v is %v", coords, l.Kind)
	}
	return l.Kind
}

// TestRecoded checks that all chunks are encoded with other codecs if the source's codecs cannot
// encode.
func TestRecoded(t *testing.T) {
	seed := soak.Seed(t)
	for i := range 20 {
		m := newMemory(t, rand.New(rand.NewPCG(seed, uint64(i))))
		m.schema.Codecs = append(slices.Clip(m.schema.Codecs), codec.Spec{Name: "numcodecs.bz2"})
		a, err := New(m)
		if err != nil {
			t.Fatal(err)
		}
		for w := a.Grid().Walk(); w.Next(); {
			l, err := a.Locate(t.Context(), w.Coords)
			if err != nil {
				t.Fatal(err)
			}
			b, err := a.Chunk(t.Context(), w.Coords)
			if err != nil {
				t.Fatal(err)
			}
			got := codec.NewElems(a.Pipeline().Form())
			if err := a.Pipeline().Decode(got, b); err != nil {
				t.Fatal(err)
			}
			want := m.elements(grid.Region{Origin: w.Origin, Shape: w.Codec})
			if !slices.Equal(got.Fixed, want) || l.Kind == manifest.Verbatim {
				t.Errorf("seed %d-%d: chunk %v is %v with the elements %v, want %v", seed, i, w.Coords, l.Kind, got.Fixed, want)
			}
		}
	}
}

// TestHugeChunk checks that an array is rejected if its regular chunks would be too large, and that the
// error has their shape.
func TestHugeChunk(t *testing.T) {
	m := newMemory(t, rand.New(rand.NewPCG(1, 1)))
	m.schema.ChunkGrid = zarrjson.RectilinearGrid(grid.List(1, 1<<58), grid.List(m.schema.Shape[1], 1))
	var err error
	if m.grid, err = m.schema.Grid(); err != nil {
		t.Fatal(err)
	}
	if _, err := New(m); !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "[288230376151711744 ") {
		t.Error(err)
	}
}

// TestCommonEdge checks which edge is chosen for a regular grid.
func TestCommonEdge(t *testing.T) {
	for _, test := range []struct {
		name   string
		extent int64
		edges  []int64
		want   int64
	}{
		{"months", 120, []int64{31, 28, 31, 30}, 31},
		{"one long chunk", 53, []int64{1, 1, 1, 50}, 50},
		{"two edges cover equal parts", 8, []int64{2, 2, 4}, 4},
		{"the last edge extends beyond the array", 100, []int64{30, 30, 60}, 30},
		{"an edge beyond the array", 60, []int64{20, 20, 20, 1 << 40}, 20},
	} {
		g, err := grid.FromSizes([]int64{test.extent}, grid.List(test.edges...))
		if err != nil {
			t.Fatal(err)
		}
		if got := CommonEdge(g.Dim(0)); got != test.want {
			t.Errorf("%s: got %d, want %d", test.name, got, test.want)
		}
	}
}
