package mosaic

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"varve/codec"
	"varve/fixtures/soak"
	"varve/grid"
	"varve/manifest"
	"varve/zarrjson"
)

// files are sources with one variable each, and their refs.
type files struct {
	headers []*manifest.FileHeader
	rows    []int64
	refs    []manifest.Ref
}

func (f *files) Header(_ context.Context, row int64) (*manifest.FileHeader, error) {
	if row < 0 || row >= int64(len(f.headers)) {
		return nil, nil
	}
	return f.headers[row], nil
}

func (f *files) Row(row int64) int64 { return f.rows[row] }

func (f *files) ReadColumns(_ context.Context, row int64, n int, dst *manifest.RefColumns) error {
	if row < 0 || row+int64(n) > int64(len(f.refs)) {
		return fmt.Errorf("refs %d to %d of %d", row, row+int64(n), len(f.refs))
	}
	*dst = manifest.RefColumns{Offsets: dst.Offsets[:0], Sizes: dst.Sizes[:0]}
	refs := f.refs[row:][:n]
	for i, r := range refs {
		dst.Offsets, dst.Sizes = append(dst.Offsets, r.Offset), append(dst.Sizes, r.Size)
		if r.Mask != 0 && dst.Masks == nil {
			dst.Masks = make([]uint32, n)
		}
		if r.Other != 0 && dst.Others == nil {
			dst.Others = make([]int32, n)
		}
		if r.Mask != 0 {
			dst.Masks[i] = r.Mask
		}
		if r.Other != 0 {
			dst.Others[i] = r.Other
		}
	}
	return nil
}

// add adds a file. If refs is nil, its refs are at offsets 1000, 1100, …
func (f *files) add(v manifest.Variable, refs []manifest.Ref) int {
	h := &manifest.Header{Variables: []*manifest.Variable{&v}}
	f.headers = append(f.headers, manifest.NewFileHeader(h))
	f.rows = append(f.rows, int64(len(f.refs)))
	for i := range h.Rows() {
		ref := manifest.Ref{Offset: 1000 + 100*i, Size: 50}
		if int(i) < len(refs) {
			ref = refs[i]
		}
		f.refs = append(f.refs, ref)
	}
	return len(f.headers) - 1
}

func codecs(names ...string) (specs []codec.Spec) {
	configs := map[string]string{
		"bytes": `{"endian":"little"}`, "big": `{"endian":"big"}`, "zlib1": `{"level":1}`, "zlib9": `{"level":9}`,
		"shuffle": `{"elementsize":4}`, "zstd": `{"level":1,"checksum":false}`,
	}
	wire := map[string]string{"big": "bytes", "zlib1": "numcodecs.zlib", "zlib9": "numcodecs.zlib", "shuffle": "numcodecs.shuffle"}
	for _, name := range names {
		s := codec.Spec{Name: name, Config: []byte(configs[name])}
		if w, ok := wire[name]; ok {
			s.Name = w
		}
		specs = append(specs, s)
	}
	return specs
}

var float = codec.Type{Kind: codec.Float, Size: 4}

func chunked(shape, chunks []int64, names ...string) manifest.Variable {
	return manifest.Variable{Path: "/v", Dims: []string{"/t", "/y", "/x"}[:len(shape)], Shape: shape, Type: float,
		Storage: manifest.Storage{Layout: manifest.Chunked, Chunks: chunks, Codecs: codecs(names...), Filters: len(names) - 1}}
}

func strided(stride int64, endian string, shape ...int64) manifest.Variable {
	v := chunked(shape, nil, endian)
	v.Storage.Layout, v.Storage.Stride, v.Storage.Chunks = manifest.Strided, stride, shape
	return v
}

func edges(sizes ...grid.Sizes) zarrjson.ChunkGrid { return zarrjson.RectilinearGrid(sizes...) }

// testFile is a file of a case: its origin and start along t, and its length.
type testFile struct {
	v         manifest.Variable
	at, n     int64
	start     int64
	refs      []manifest.Ref
	otherFill bool
}

type kindCase struct {
	name   string
	shape  []int64
	grid   zarrjson.ChunkGrid
	schema []string // codecs
	files  []testFile
	want   string // a letter for each chunk: v, p, r, or a point for a missing one
}

// changed returns the variable after a change.
func changed(v manifest.Variable, change func(*manifest.Variable)) manifest.Variable {
	change(&v)
	return v
}

func masked(mask uint32) []manifest.Ref { return []manifest.Ref{{Offset: 7, Size: 9, Mask: mask}} }

func kindCases() []kindCase {
	reg := zarrjson.RegularGrid
	none := manifest.Ref{Offset: manifest.NotStored}
	zlib := []string{"bytes", "shuffle", "zlib1"}
	return []kindCase{
		{"one file", []int64{4, 4}, reg(2, 2), zlib, []testFile{{v: chunked([]int64{4, 4}, []int64{2, 2}, zlib...), n: 4}}, "vvvv"},
		{"another level", []int64{4}, reg(2), zlib, []testFile{{v: chunked([]int64{4}, []int64{2}, "bytes", "shuffle", "zlib9"), n: 4}}, "vv"},
		{"another codec", []int64{8}, reg(2), zlib, []testFile{{v: chunked([]int64{4}, []int64{2}, zlib...), n: 4}, {v: chunked([]int64{4}, []int64{2}, "bytes", "zstd"), at: 4, n: 4}}, "vvrr"},
		{"another byte order", []int64{4}, reg(2), []string{"bytes"}, []testFile{{v: chunked([]int64{4}, []int64{2}, "big"), n: 4}}, "rr"},
		{"padded at the end", []int64{5}, reg(2), zlib, []testFile{{v: chunked([]int64{5}, []int64{2}, zlib...), n: 5}}, "vvv"},
		{"padded in the middle", []int64{6}, reg(2), zlib, []testFile{{v: chunked([]int64{3}, []int64{2}, zlib...), n: 3}, {v: chunked([]int64{3}, []int64{2}, zlib...), at: 3, n: 3}}, "vrr"},
		{"edges as in the files", []int64{6}, edges(grid.List(2, 1, 2, 1)), zlib, []testFile{{v: chunked([]int64{3}, []int64{2}, zlib...), n: 3}, {v: chunked([]int64{3}, []int64{2}, zlib...), at: 3, n: 3}}, "vrvr"},
		{"starts inside a stored chunk", []int64{4}, reg(2), zlib, []testFile{{v: chunked([]int64{5}, []int64{2}, zlib...), start: 1, n: 4}}, "rr"},
		{"starts at a stored chunk", []int64{4}, reg(2), zlib, []testFile{{v: chunked([]int64{6}, []int64{2}, zlib...), start: 2, n: 4}}, "vv"},
		{"filter mask", []int64{4}, reg(2), zlib, []testFile{{v: chunked([]int64{4}, []int64{2}, zlib...), n: 4, refs: masked(1)}}, "rv"},
		{"mask of a filter that does not exist", []int64{4}, reg(2), zlib, []testFile{{v: chunked([]int64{4}, []int64{2}, zlib...), n: 4, refs: masked(4)}}, "vv"},
		{"mask that leaves the codecs of the schema", []int64{4}, reg(2), []string{"bytes", "shuffle"}, []testFile{{v: chunked([]int64{4}, []int64{2}, zlib...), n: 4, refs: masked(2)}}, "vr"},
		{"padded chunk without filters", []int64{5}, reg(2), zlib, []testFile{{v: changed(chunked([]int64{5}, []int64{2}, zlib...), func(v *manifest.Variable) { v.Storage.RawEdges = true }), n: 5}}, "vvr"},
		{"padded chunk without filters, schema without filters", []int64{5}, reg(2), []string{"bytes"}, []testFile{{v: changed(chunked([]int64{5}, []int64{2}, zlib...), func(v *manifest.Variable) { v.Storage.RawEdges = true }), n: 5}}, "rrv"},
		{"not stored", []int64{4}, reg(2), zlib, []testFile{{v: chunked([]int64{4}, []int64{2}, zlib...), n: 4, refs: []manifest.Ref{none}}}, ".v"},
		{"not stored, another fill", []int64{4}, reg(2), zlib, []testFile{{v: chunked([]int64{4}, []int64{2}, zlib...), n: 4, refs: []manifest.Ref{none}, otherFill: true}}, "rv"},
		{"two files, neither stored", []int64{4}, reg(4), zlib, []testFile{{v: chunked([]int64{2}, []int64{2}, zlib...), n: 2, refs: []manifest.Ref{none}}, {v: chunked([]int64{2}, []int64{2}, zlib...), at: 2, n: 2, refs: []manifest.Ref{none}}}, "."},
		{"two files, one stored", []int64{4}, reg(4), zlib, []testFile{{v: chunked([]int64{2}, []int64{2}, zlib...), n: 2, refs: []manifest.Ref{none}}, {v: chunked([]int64{2}, []int64{2}, zlib...), at: 2, n: 2}}, "r"},
		{"a gap", []int64{6}, reg(2), zlib, []testFile{{v: chunked([]int64{2}, []int64{2}, zlib...), n: 2}, {v: chunked([]int64{2}, []int64{2}, zlib...), at: 4, n: 2}}, "v.v"},
		{"never written", []int64{4}, reg(2), zlib, []testFile{{v: manifest.Variable{Path: "/v", Dims: []string{"/t"}, Shape: []int64{4}, Type: float, Storage: manifest.Storage{Layout: manifest.Nothing}}, n: 4}}, ".."},
		{"never written, another fill", []int64{4}, reg(2), zlib, []testFile{{v: manifest.Variable{Path: "/v", Dims: []string{"/t"}, Shape: []int64{4}, Type: float, Storage: manifest.Storage{Layout: manifest.Nothing}}, n: 4, otherFill: true}}, "rr"},
		{"variable not in the file", []int64{4}, reg(2), zlib, []testFile{{v: changed(chunked([]int64{4}, []int64{2}, zlib...), func(v *manifest.Variable) { v.Path = "/w" }), n: 4}}, ".."},
		{"contiguous", []int64{6, 4}, reg(2, 4), []string{"bytes"}, []testFile{{v: strided(0, "bytes", 6, 4), n: 6}}, "vvv"},
		{"contiguous, parts of rows", []int64{2, 4}, reg(1, 2), []string{"bytes"}, []testFile{{v: strided(0, "bytes", 2, 4), n: 2}}, "vvvv"},
		{"contiguous, parts of two rows", []int64{2, 4}, reg(2, 2), []string{"bytes"}, []testFile{{v: strided(0, "bytes", 2, 4), n: 2}}, "rr"},
		{"contiguous, short at the end", []int64{5, 4}, reg(2, 4), []string{"bytes"}, []testFile{{v: strided(0, "bytes", 5, 4), n: 5}}, "vvr"},
		{"contiguous, edges end with the variable", []int64{5, 4}, edges(grid.List(2, 2, 1), grid.Every(4)), []string{"bytes"}, []testFile{{v: strided(0, "bytes", 5, 4), n: 5}}, "vvv"},
		{"contiguous, compressed schema", []int64{4}, reg(2), zlib, []testFile{{v: strided(0, "bytes", 4), n: 4}}, "rr"},
		{"records", []int64{3, 4}, reg(1, 4), []string{"big"}, []testFile{{v: strided(100, "big", 3, 4), n: 3}}, "vvv"},
		{"two records", []int64{4, 4}, reg(2, 4), []string{"big"}, []testFile{{v: strided(100, "big", 4, 4), n: 4}}, "rr"},
		{"two records without a gap", []int64{4, 4}, reg(2, 4), []string{"big"}, []testFile{{v: strided(16, "big", 4, 4), n: 4}}, "vv"},
		{"prefix of a stored chunk", []int64{59}, edges(grid.List(31, 28)), []string{"bytes"}, []testFile{{v: chunked([]int64{31}, []int64{31}, "bytes"), n: 31, refs: []manifest.Ref{{Offset: 1, Size: 124}}}, {v: chunked([]int64{28}, []int64{31}, "bytes"), at: 31, n: 28, refs: []manifest.Ref{{Offset: 1, Size: 124}}}}, "vp"},
		{"prefix of a stored chunk that is too short", []int64{59}, edges(grid.List(31, 28)), []string{"bytes"}, []testFile{{v: chunked([]int64{31}, []int64{31}, "bytes"), n: 31, refs: []manifest.Ref{{Offset: 1, Size: 124}}}, {v: chunked([]int64{28}, []int64{31}, "bytes"), at: 31, n: 28, refs: []manifest.Ref{{Offset: 1, Size: 111}}}}, "vr"},
		{"shorter than stored along the second axis", []int64{2, 3}, edges(grid.List(2), grid.List(3)), []string{"bytes"}, []testFile{{v: chunked([]int64{2, 3}, []int64{2, 4}, "bytes"), n: 2}}, "r"},
		{"prefix of a stored chunk of one row", []int64{1, 3}, edges(grid.List(1), grid.List(3)), []string{"bytes"}, []testFile{{v: chunked([]int64{1, 3}, []int64{2, 4}, "bytes"), n: 1, refs: []manifest.Ref{{Offset: 1, Size: 32}}}}, "p"},
		{"shorter than stored, compressed", []int64{28}, edges(grid.List(28)), zlib, []testFile{{v: chunked([]int64{28}, []int64{31}, zlib...), n: 28}}, "r"},
		{"an axis that files lack", []int64{2, 4}, reg(1, 2), zlib, []testFile{
			{v: changed(chunked([]int64{4}, []int64{2}, zlib...), func(v *manifest.Variable) { v.Dims = []string{"/y"} }), n: 1},
			{v: changed(chunked([]int64{4}, []int64{2}, zlib...), func(v *manifest.Variable) { v.Dims = []string{"/y"} }), at: 1, n: 1}}, "vvvv"},
		{"axes in another order", []int64{4, 4}, reg(2, 2), zlib, []testFile{{v: changed(chunked([]int64{4, 4}, []int64{2, 2}, zlib...), func(v *manifest.Variable) { v.Dims = []string{"/y", "/t"} }), n: 4}}, "rrrr"},
		{"a dimension with another name", []int64{4}, reg(2), zlib, []testFile{{v: changed(chunked([]int64{4}, []int64{2}, zlib...), func(v *manifest.Variable) { v.Dims = []string{"/time"} }), n: 4}}, "vv"},
		{"another type", []int64{4}, reg(2), []string{"bytes"}, []testFile{{v: changed(chunked([]int64{4}, []int64{2}, "bytes"), func(v *manifest.Variable) { v.Type = codec.Type{Kind: codec.Int, Size: 2} }), n: 4}}, "rr"},
		{"shorter than the array along x", []int64{2, 6}, reg(2, 2), zlib, []testFile{{v: chunked([]int64{2, 3}, []int64{2, 2}, zlib...), n: 2}}, "vr."},
		{"inline", []int64{4}, reg(4), zlib, []testFile{{v: changed(chunked([]int64{4}, []int64{4}, zlib...), func(v *manifest.Variable) { v.Storage.Layout = manifest.Inline }), n: 4, refs: []manifest.Ref{{Offset: manifest.InlineRow(0), Size: 5}}}}, "v"},
		{"no axes", nil, reg(), []string{"bytes"}, []testFile{{v: strided(0, "bytes")}}, "v"},
		{"no elements", []int64{0, 4}, reg(1, 4), []string{"bytes"}, nil, ""},
	}
}

func (c *kindCase) mosaic(t testing.TB) (*Mosaic, *files) {
	t.Helper()
	f := &files{}
	dt, err := zarrjson.DataTypeOf(float)
	if err != nil {
		t.Fatal(err)
	}
	schema := &zarrjson.Array{Shape: c.shape, DataType: dt, ChunkGrid: c.grid, Codecs: codecs(c.schema...)}
	dims := []string{"/t", "/y", "/x"}[:len(c.shape)]
	a := &manifest.Array{Path: "/v", Schema: schema, Variables: []string{"/v"}, Dims: dims, Renamed: map[string]string{"/time": "/t"}, Reading: manifest.AsStored}
	p := &manifest.Placement{ID: "p", Dims: dims[:min(1, len(dims))]}
	for _, o := range c.files {
		if o.otherFill {
			o.v.Fill.Value = []byte{0, 0, 128, 63}
		}
		tile := manifest.Tile{File: f.add(o.v, o.refs)}
		if len(dims) > 0 {
			tile.Origin, tile.Start, tile.Shape = []int64{o.at}, []int64{o.start}, []int64{o.n}
		}
		p.Tiles = append(p.Tiles, tile)
	}
	m, err := newMosaic(a, p, f)
	if err != nil {
		t.Fatal(err)
	}
	return m, f
}

// newMosaic is New for tiles that only one array has.
func newMosaic(a *manifest.Array, p *manifest.Placement, files Files) (*Mosaic, error) {
	l, err := Arrange(p)
	if err != nil {
		return nil, err
	}
	return New(a, l, files)
}

// TestKinds checks the kind of every chunk of the cases, and their counts.
func TestKinds(t *testing.T) {
	for _, c := range kindCases() {
		t.Run(c.name, func(t *testing.T) {
			m, f := c.mosaic(t)
			var got strings.Builder
			for l, err := range m.Locations(context.Background(), f, grid.Whole(m.Grid().Counts())) {
				if err != nil {
					t.Fatal(err)
				}
				got.WriteByte(".vpr"[l.Kind])
			}
			if got.String() != c.want {
				t.Errorf("got %q, want %q", got.String(), c.want)
			}
			counts, err := m.Count(context.Background(), f)
			count := func(s string) int64 { return int64(strings.Count(c.want, s)) }
			if want := (manifest.Counts{Verbatim: count("v"), Prefix: count("p"), Reencoded: count("r"), Missing: count(".")}); err != nil || counts != want {
				t.Errorf("counted %+v (%v), want %+v", counts, err, want)
			}
		})
	}
}

// TestFind checks the locations of single chunks.
func TestFind(t *testing.T) {
	at := func(name string, chunk ...int64) manifest.Location {
		for _, c := range kindCases() {
			if c.name != name {
				continue
			}
			m, f := c.mosaic(t)
			l, err := m.Find(context.Background(), f, chunk)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(l.Coords, chunk) {
				t.Errorf("%s: coordinates %v, want %v", name, l.Coords, chunk)
			}
			l.Coords = nil
			return l
		}
		t.Fatalf("no case %q", name)
		return manifest.Location{}
	}
	for _, c := range []struct {
		name string
		at   []int64
		want manifest.Location
	}{
		{"one file", []int64{1, 0}, manifest.Location{Kind: manifest.Verbatim, Offset: 1200, Size: 50}},
		{"a gap", []int64{2}, manifest.Location{Kind: manifest.Verbatim, Source: 1, Offset: 1000, Size: 50}},
		{"contiguous", []int64{2, 0}, manifest.Location{Kind: manifest.Verbatim, Offset: 1064, Size: 32}},
		{"contiguous, parts of rows", []int64{1, 1}, manifest.Location{Kind: manifest.Verbatim, Offset: 1024, Size: 8}},
		{"records", []int64{2, 0}, manifest.Location{Kind: manifest.Verbatim, Offset: 1200, Size: 16}},
		{"prefix of a stored chunk", []int64{1}, manifest.Location{Kind: manifest.Prefix, Source: 1, Offset: 1, Size: 112}},
		{"inline", []int64{0}, manifest.Location{Kind: manifest.Verbatim, Source: -1, InlineRow: 1, Size: 5}},
		{"starts at a stored chunk", []int64{0}, manifest.Location{Kind: manifest.Verbatim, Offset: 1100, Size: 50}},
		{"not stored", []int64{0}, manifest.Location{Kind: manifest.Missing, Source: -1}},
		{"another codec", []int64{3}, manifest.Location{Kind: manifest.Reencoded, Source: -1}},
	} {
		if got := at(c.name, c.at...); fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: got %+v, want %+v", c.name, got, c.want)
		}
	}
}

// TestOtherSource checks a chunk whose bytes are in another source than its tile.
func TestOtherSource(t *testing.T) {
	c := kindCase{shape: []int64{2}, grid: zarrjson.RegularGrid(2), schema: []string{"bytes"}, files: []testFile{{v: chunked([]int64{2}, []int64{2}, "bytes"), n: 2,
		refs: []manifest.Ref{{Offset: 3, Size: 8, Other: 42}}}}}
	m, f := c.mosaic(t)
	l, err := m.Find(context.Background(), f, []int64{0})
	if err != nil || l.Source != 41 || l.Offset != 3 || l.Size != 8 {
		t.Errorf("got %+v (%v)", l, err)
	}
}

// TestErrors checks the errors of damaged manifests and of variables that cannot be read.
func TestErrors(t *testing.T) {
	good := func() (*manifest.Array, *manifest.Placement, *files) {
		f := &files{}
		f.add(chunked([]int64{4}, []int64{2}, "bytes"), nil)
		dt, _ := zarrjson.DataTypeOf(float)
		a := &manifest.Array{Path: "/v", Variables: []string{"/v"}, Dims: []string{"/t"}, Reading: manifest.AsStored,
			Schema: &zarrjson.Array{Shape: []int64{4}, DataType: dt, ChunkGrid: zarrjson.RegularGrid(2), Codecs: codecs("bytes")}}
		return a, &manifest.Placement{ID: "p", Dims: []string{"/t"}, Tiles: []manifest.Tile{{Origin: []int64{0}, Start: []int64{0}, Shape: []int64{4}}}}, f
	}
	for _, c := range []struct {
		name   string
		damage func(*manifest.Array, *manifest.Placement, *files)
		want   error
	}{
		{"unchanged", func(*manifest.Array, *manifest.Placement, *files) {}, nil},
		{"overlap", func(_ *manifest.Array, p *manifest.Placement, _ *files) {
			p.Tiles = append(p.Tiles, manifest.Tile{Origin: []int64{3}, Start: []int64{0}, Shape: []int64{1}})
		}, codec.ErrCorrupt},
		{"too few numbers", func(_ *manifest.Array, p *manifest.Placement, _ *files) { p.Tiles[0].Start = nil }, codec.ErrCorrupt},
		{"overflow", func(_ *manifest.Array, p *manifest.Placement, _ *files) { p.Tiles[0].Origin[0] = 1<<63 - 2 }, codec.ErrCorrupt},
		{"unknown dimension", func(_ *manifest.Array, p *manifest.Placement, _ *files) { p.Dims = []string{"/z"} }, codec.ErrCorrupt},
		{"no such source", func(_ *manifest.Array, p *manifest.Placement, _ *files) { p.Tiles[0].File = 9 }, codec.ErrCorrupt},
		{"dimension that the array does not have", func(_ *manifest.Array, _ *manifest.Placement, f *files) {
			f.headers[0].Base().Variables[0].Dims[0] = "/q"
		}, codec.ErrCorrupt},
		{"stride too large", func(_ *manifest.Array, _ *manifest.Placement, f *files) {
			f.headers[0].Base().Variables[0] = new(strided(1<<62, "bytes", 4))
		}, codec.ErrCorrupt},
		{"values that only the reader decodes", func(_ *manifest.Array, _ *manifest.Placement, f *files) {
			f.headers[0].Base().Variables[0].Storage.Layout = manifest.Valued
		}, errors.ErrUnsupported},
		{"unreadable", func(_ *manifest.Array, _ *manifest.Placement, f *files) {
			f.headers[0].Base().Variables[0].Unreadable = "a reference"
		}, errors.ErrUnsupported},
	} {
		a, p, f := good()
		c.damage(a, p, f)
		m, err := newMosaic(a, p, f)
		if err == nil {
			_, err = m.Count(context.Background(), f)
		}
		if !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, err, c.want)
		}
	}
}

// TestLayouts compares the tiles that the table and the tree find with a search through all tiles.
func TestLayouts(t *testing.T) {
	seed := soak.Seed(t)
	r := rand.New(rand.NewPCG(seed, 1))
	for range 200 {
		rank := 1 + r.IntN(3)
		p := &manifest.Placement{Dims: []string{"/a", "/b", "/c"}[:rank]}
		box := grid.MakeRegion(rank)
		for k := range box.Shape {
			box.Shape[k] = 20
		}
		divide(r, p, box, 7)
		l, err := Arrange(p)
		if err != nil {
			t.Fatal(err)
		}
		tree := *l
		tree.tree = newBoxTree(l)
		for range 50 {
			q := grid.MakeRegion(rank)
			for k := range q.Shape {
				q.Origin[k] = r.Int64N(22)
				q.Shape[k] = 1 + r.Int64N(6)
			}
			var want []int32
			for i, tile := range p.Tiles {
				if grid.MakeRegion(rank).Intersect(grid.Region{Origin: tile.Origin, Shape: tile.Shape}, q) {
					want = append(want, int32(i))
				}
			}
			for _, lay := range []*Layout{l, &tree} {
				m := &Mosaic{layout: lay, axes: []int{0, 1, 2}[:rank]}
				got := slices.Sorted(slices.Values(m.locator(t.Context()).tiles(q)))
				if !slices.Equal(got, want) {
					t.Fatalf("tiles %v, tree %v: region %v meets %v, want %v", p.Tiles, lay.tree != nil, q, got, want)
				}
			}
		}
	}
}

// divide adds tiles that do not form a grid, with gaps between them, until depth is 0.
func divide(r *rand.Rand, p *manifest.Placement, box grid.Region, depth int) {
	k := r.IntN(len(box.Shape))
	if depth > 0 && box.Shape[k] > 1 && r.IntN(8) > 0 {
		n := 1 + r.Int64N(box.Shape[k]-1)
		low, high := box.Clone(), box.Clone()
		low.Shape[k] = n
		high.Origin[k] += n
		high.Shape[k] -= n
		divide(r, p, low, depth-1)
		divide(r, p, high, depth-1)
		return
	}
	if r.IntN(6) > 0 {
		p.Tiles = append(p.Tiles, manifest.Tile{File: len(p.Tiles), Origin: box.Origin, Start: make([]int64, len(box.Origin)), Shape: box.Shape})
	}
}

// TestTree checks that tiles that do not form a grid use a tree instead of a large table.
func TestTree(t *testing.T) {
	p := &manifest.Placement{Dims: []string{"/a", "/b"}}
	for i := range int64(1000) {
		p.Tiles = append(p.Tiles, manifest.Tile{Origin: []int64{i * 2, i * 3}, Start: []int64{0, 0}, Shape: []int64{2, 3}})
	}
	l, err := Arrange(p)
	if err != nil || l.tree == nil {
		t.Fatalf("the table has %d cells (%v)", l.table.Len(), err)
	}
	p.Tiles = append(p.Tiles, manifest.Tile{Origin: []int64{1000, 1500}, Start: []int64{0, 0}, Shape: []int64{1, 1}})
	if _, err := Arrange(p); err == nil {
		t.Error("tiles that overlap are accepted, want an error")
	}
}

// benchmarkMosaic makes an archive of daily files with 100 chunks each.
func benchmarkMosaic(b *testing.B, days int64) (*Mosaic, *files) {
	c := kindCase{shape: []int64{days, 100, 100}, grid: zarrjson.RegularGrid(1, 10, 10), schema: []string{"bytes", "shuffle", "zlib1"}}
	m, f := c.mosaic(b)
	v := chunked([]int64{1, 100, 100}, []int64{1, 10, 10}, "bytes", "shuffle", "zlib1")
	h := &manifest.Header{Variables: []*manifest.Variable{&v}}
	p := &manifest.Placement{Dims: []string{"/t"}}
	file := manifest.NewFileHeader(h)
	for day := range days {
		f.headers = append(f.headers, file)
		f.rows = append(f.rows, day*100)
		p.Tiles = append(p.Tiles, manifest.Tile{File: int(day), Origin: []int64{day}, Start: []int64{0}, Shape: []int64{1}})
	}
	f.refs = make([]manifest.Ref, days*100)
	m, err := newMosaic(m.spec, p, f)
	if err != nil {
		b.Fatal(err)
	}
	return m, f
}

func BenchmarkLocations(b *testing.B) {
	m, f := benchmarkMosaic(b, 10_000)
	chunks := 0
	b.ReportAllocs()
	for b.Loop() {
		for l, err := range m.Locations(context.Background(), f, grid.Whole(m.Grid().Counts())) {
			if err != nil || l.Kind != manifest.Verbatim {
				b.Fatal(l, err)
			}
			chunks++
		}
	}
	b.ReportMetric(float64(chunks)/b.Elapsed().Seconds()/1e6, "Mchunks/s")
}

func BenchmarkCount(b *testing.B) {
	m, f := benchmarkMosaic(b, 10_000)
	chunks := int64(0)
	b.ReportAllocs()
	for b.Loop() {
		counts, err := m.Count(context.Background(), f)
		if err != nil || counts.Verbatim != m.Grid().Chunks() {
			b.Fatal(counts, err)
		}
		chunks += counts.Verbatim
	}
	b.ReportMetric(float64(chunks)/b.Elapsed().Seconds()/1e6, "Mchunks/s")
}

// BenchmarkTiles counts chunks of an array in which every tile has one chunk.
func BenchmarkTiles(b *testing.B) {
	m, f := benchmarkMosaic(b, 10_000)
	schema := *m.spec.Schema
	schema.Shape, schema.ChunkGrid = []int64{10_000, 10, 10}, zarrjson.RegularGrid(1, 10, 10)
	spec := *m.spec
	spec.Schema = &schema
	for _, h := range f.headers {
		h.Base().Variables[0].Shape = []int64{1, 10, 10}
	}
	m, err := New(&spec, m.layout, f)
	if err != nil {
		b.Fatal(err)
	}
	chunks := int64(0)
	b.ReportAllocs()
	for b.Loop() {
		counts, err := m.Count(context.Background(), f)
		if err != nil || counts.Verbatim != m.Grid().Chunks() {
			b.Fatal(counts, err)
		}
		chunks += counts.Verbatim
	}
	b.ReportMetric(float64(chunks)/b.Elapsed().Seconds()/1e6, "Mchunks/s")
}

// TestMemoryOfLayouts: a layout of files that follow one another, or that are a product of cuts, takes few bytes for each
// tile (80 as integers of three axes). A million files are usual, and one chunk of them needs the layout.
func TestMemoryOfLayouts(t *testing.T) {
	const n = 200_000
	for name, of := range map[string]func(i int64) (origin, shape []int64){
		"days":   func(i int64) ([]int64, []int64) { return []int64{i * 24}, []int64{24} },
		"months": func(i int64) ([]int64, []int64) { return []int64{i/2*59 + i%2*31}, []int64{31 - i%2*3} },
		"2 × 10 tiles a day": func(i int64) ([]int64, []int64) {
			return []int64{i / 20, i / 10 % 2 * 900, i % 10 * 360}, []int64{1, 900, 360}
		},
	} {
		dims := []string{"/t", "/y", "/x"}
		origin, _ := of(0)
		a := NewArranger(dims[:len(origin)])
		before := live()
		for i := range int64(n) {
			tile := manifest.Tile{File: int(i), Start: make([]int64, len(origin))}
			tile.Origin, tile.Shape = of(i)
			if err := a.Add(&tile); err != nil {
				t.Fatal(name, err)
			}
		}
		l, err := a.Layout()
		if err != nil {
			t.Fatal(name, err)
		}
		if each := float64(live()-before) / n; each > 12 {
			t.Errorf("%s: the layout takes %.1f bytes for each tile", name, each)
		}
		runtime.KeepAlive(l)
	}
}

// live returns the bytes of reachable memory.
func live() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func BenchmarkArrange(b *testing.B) {
	p := &manifest.Placement{Dims: []string{"/t"}}
	for i := range int64(1_000_000) {
		p.Tiles = append(p.Tiles, manifest.Tile{File: int(i), Origin: []int64{i * 24}, Start: []int64{0}, Shape: []int64{24}})
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Arrange(p); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLocate(b *testing.B) {
	m, f := benchmarkMosaic(b, 10_000)
	r := rand.New(rand.NewPCG(1, 2))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.Find(context.Background(), f, []int64{r.Int64N(10_000), r.Int64N(10), r.Int64N(10)}); err != nil {
			b.Fatal(err)
		}
	}
}

// TestFitsAreShared checks that headers that differ only in other variables share the fit of an array.
func TestFitsAreShared(t *testing.T) {
	m, f := kindCases()[0].mosaic(t)
	h := f.headers[0].Base()
	other := &manifest.Header{Variables: append(slices.Clone(h.Variables), &manifest.Variable{Path: "/another"})}
	a, err := m.fit(manifest.NewFileHeader(h))
	if err != nil || a == nil {
		t.Fatal(a, err)
	}
	if b, err := m.fit(manifest.NewFileHeader(other)); err != nil || a != b {
		t.Errorf("the same variable has two fits (%v)", err)
	}
	other = &manifest.Header{Variables: append([]*manifest.Variable{new(*h.Variables[0])}, h.Variables...)}
	other.Variables[0].Path = "/before"
	if b, err := m.fit(manifest.NewFileHeader(other)); err != nil || a == b || b.rowsBefore == a.rowsBefore {
		t.Errorf("a variable after others has the same first ref (%v)", err)
	}
}

// TestUnnamed checks that axes without a name are matched by position and named ones by name, also in
// headers with many dimensions.
func TestUnnamed(t *testing.T) {
	m, f := kindCases()[0].mosaic(t)
	m.spec.Unnamed = []string{"/t", "/y"}
	for _, n := range []int{0, maxUnindexed} {
		h := &manifest.Header{Variables: []*manifest.Variable{new(*f.headers[0].Base().Variables[0])}}
		h.Variables[0].Dims = []string{"/y", "/t"}
		for i := range n {
			h.Dimensions = append(h.Dimensions, manifest.Dimension{Path: fmt.Sprintf("/d%d", i), Length: 1})
		}
		turned := new(*h)
		turned.Dimensions = append(slices.Clone(h.Dimensions), manifest.Dimension{Path: "/y", Length: 4}, manifest.Dimension{Path: "/t", Length: 4})
		h.Dimensions = append(h.Dimensions, manifest.Dimension{Path: "/y", Length: 4, Anonymous: true}, manifest.Dimension{Path: "/t", Length: 4, Anonymous: true})
		for want, h := range map[bool]*manifest.Header{true: h, false: turned} {
			fit, err := m.fit(manifest.NewFileHeader(h))
			if err != nil {
				t.Fatal(err)
			}
			if _, straight := fit.Order(); straight != want {
				t.Errorf("%d dimensions: straight is %v, want %v", len(h.Dimensions), straight, want)
			}
		}
	}
}
