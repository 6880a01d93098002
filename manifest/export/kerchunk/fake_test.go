package kerchunk

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"varve/codec"
	"varve/fixtures/soak"
	"varve/fixtures/system"
	"varve/grid"
	"varve/manifest"
	"varve/readers"
	"varve/zarrjson"
)

// archive is a manifest in memory whose sources are real files.
type archive struct {
	hierarchy
	t     testing.TB
	dir   string
	files []string
	rand  *rand.Rand
}

// nasty are names with characters that some client or library interprets.
var nasty = []string{"day 1.nc", "100%.nc", "%41.nc", "über-ß-日本.nc", "a#b?c=d&e.nc", "[x]{y}.nc", "it's \"so\".nc", "a:b.nc", "plus+sign.nc", "{{u}}.nc", "~x.nc", "a::b*.nc"}

func newArchive(t testing.TB, names ...string) *archive {
	t.Helper()
	seed := soak.Seed(t)
	a := &archive{t: t, dir: t.TempDir(), rand: rand.New(rand.NewPCG(seed, 7))}
	for _, name := range names {
		a.files = append(a.files, filepath.Join(a.dir, system.FileName(name)))
		if err := os.WriteFile(a.files[len(a.files)-1], []byte("header"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	a.sources = int64(len(a.files))
	a.source = func(_ context.Context, row int64) (manifest.Source, error) {
		return manifest.Source{URL: a.files[row]}, nil
	}
	return a
}

// faked is an array of the archive.
type faked struct {
	path      string
	schema    *zarrjson.Array
	grid      *grid.Grid
	elements  codec.Elems
	locations map[string]manifest.Location
}

// spec describes an array of the archive.
type spec struct {
	path       string
	shape      []int64
	edges      []grid.Sizes // nil means a regular grid
	chunks     []int64
	dtype      string
	fill       string
	codecs     string
	attributes string
	kinds      []manifest.ChunkKind // kinds of chunks, in rotation; nil means verbatim
}

// inline is a kind for chunks that the manifest stores.
const inline = manifest.ChunkKind(99)

// add creates elements and stores them in the sources.
func (a *archive) add(s spec) *faked {
	a.t.Helper()
	f := &faked{path: s.path, schema: s.document(a.t), locations: map[string]manifest.Location{}}
	var err error
	if f.grid, err = f.schema.Grid(); err != nil {
		a.t.Fatalf("%s: %v", s.path, err)
	}
	f.elements = codec.NewElems(f.schema.Form(s.shape))
	a.randomize(f)
	n := 0
	for w := f.grid.Walk(); w.Next(); n++ {
		kind := manifest.Verbatim
		if len(s.kinds) > 0 {
			kind = s.kinds[n%len(s.kinds)]
		}
		a.place(f, w, kind)
	}
	a.arrays = append(a.arrays, f)
	return f
}

func (s spec) document(t testing.TB) *zarrjson.Array {
	t.Helper()
	names := make([]string, len(s.shape))
	for i := range names {
		names[i] = `"` + string(rune('t'+i)) + `_` + strings.Trim(strings.ReplaceAll(s.path, "/", "_"), "_") + `"`
	}
	if s.attributes == "" {
		s.attributes = "{}"
	}
	if s.fill == "" {
		s.fill = "0"
	}
	doc := fmt.Sprintf(`{"zarr_format":3,"node_type":"array","shape":%s,"data_type":%q,"chunk_grid":{"name":"regular","configuration":{"chunk_shape":%s}},`+
		`"chunk_key_encoding":{"name":"default","configuration":{"separator":"/"}},"fill_value":%s,"codecs":%s,"attributes":%s,"dimension_names":[%s]}`,
		wholes(s.shape), s.dtype, wholes(s.chunksOrOnes()), s.fill, s.codecs, s.attributes, strings.Join(names, ","))
	schema, err := zarrjson.ParseArray([]byte(doc))
	if err != nil {
		t.Fatalf("%s: %v", s.path, err)
	}
	if s.edges != nil {
		schema.ChunkGrid = zarrjson.RectilinearGrid(s.edges...)
	}
	return schema
}

func (s spec) chunksOrOnes() []int64 {
	if s.chunks != nil {
		return s.chunks
	}
	ones := make([]int64, len(s.shape))
	for i := range ones {
		ones[i] = 1
	}
	return ones
}

func (a *archive) randomize(f *faked) {
	for i := range f.elements.Var {
		f.elements.Var[i] = []byte(strings.Repeat("é日x", a.rand.IntN(3)))
	}
	size := f.schema.DataType.Type().Size
	for i := 0; size > 0 && i+size <= len(f.elements.Fixed); i += size {
		v := f.elements.Fixed[i : i+size]
		switch n := 1 + a.rand.IntN(1000); f.schema.DataType.Name() {
		case "float32":
			binary.LittleEndian.PutUint32(v, math.Float32bits(float32(n)/8))
		case "float64":
			binary.LittleEndian.PutUint64(v, math.Float64bits(float64(n)/8))
		default:
			v[0] = byte(n)
		}
	}
}

// place stores the elements of one chunk as its kind requires.
func (a *archive) place(f *faked, w *grid.Walker, kind manifest.ChunkKind) {
	a.t.Helper()
	key := string(wholes(w.Coords))
	l := manifest.Location{Coords: append([]int64{}, w.Coords...), Kind: kind, Source: -1}
	switch kind {
	case manifest.Missing:
		fill := codec.NewElems(f.schema.Form(w.Codec))
		fill.SetFill(f.schema.Form(w.Codec))
		if err := f.copy(fill, w.Chunk, false); err != nil {
			a.t.Fatal(err)
		}
	case inline:
		l.Kind, l.Inline = manifest.Verbatim, f.encoded(a.t, w.Coords)
	case manifest.Verbatim, manifest.Prefix:
		l.Source = int64(a.rand.IntN(len(a.files)))
		l.Offset, l.Size = a.append(l.Source, f.encoded(a.t, w.Coords))
	}
	f.locations[key] = l
}

func (a *archive) append(source int64, data []byte) (offset, size int64) {
	a.t.Helper()
	out, err := os.OpenFile(a.files[source], os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		a.t.Fatal(err)
	}
	defer out.Close()
	info, err := out.Stat()
	if err != nil {
		a.t.Fatal(err)
	}
	if _, err := out.Write(append(append([]byte{}, data...), "between"...)); err != nil {
		a.t.Fatal(err)
	}
	return info.Size(), int64(len(data))
}

// copy copies the part of a chunk inside the array, between the array's elements and the chunk's.
func (f *faked) copy(chunk codec.Elems, c grid.Chunk, out bool) error {
	small, large := grid.Region{Origin: c.Origin, Shape: c.Codec}, grid.Whole(f.schema.Shape)
	if f.elements.Var != nil {
		return copyWindow(grid.Window[[]byte]{Data: chunk.Var, Region: small}, grid.Window[[]byte]{Data: f.elements.Var, Region: large}, c.Region, 1, out)
	}
	unit := int64(f.schema.DataType.Type().Size)
	return copyWindow(grid.Window[byte]{Data: chunk.Fixed, Region: small}, grid.Window[byte]{Data: f.elements.Fixed, Region: large}, c.Region, unit, out)
}

func copyWindow[T any](chunk, whole grid.Window[T], r grid.Region, unit int64, out bool) error {
	if out {
		return grid.Copy(chunk, whole, r, unit)
	}
	return grid.Copy(whole, chunk, r, unit)
}

func (f *faked) encoded(t testing.TB, coords []int64) []byte {
	raw, err := f.Chunk(context.Background(), coords)
	if err != nil {
		t.Fatalf("%s: chunk %v: %v", f.path, coords, err)
	}
	return raw
}

func (f *faked) Path() string            { return f.path }
func (f *faked) Schema() *zarrjson.Array { return f.schema }
func (f *faked) Grid() *grid.Grid        { return f.grid }

func (f *faked) Pipeline(coords []int64) (*codec.Pipeline, error) {
	c, _ := f.grid.Chunk(coords)
	return codec.New(f.schema.Codecs, f.schema.Form(c.Codec))
}

func (f *faked) Locate(_ context.Context, coords []int64) (manifest.Location, error) {
	return f.locations[string(wholes(coords))], nil
}

func (f *faked) Runs(ctx context.Context, chunks grid.Region) readers.Reusing[manifest.Run] {
	return manifest.RunsOf(f.listed(ctx, chunks))
}

func (f *faked) listed(ctx context.Context, chunks grid.Region) readers.Reusing[manifest.Location] {
	return func(yield func(*manifest.Location, error) bool) {
		var l manifest.Location
		for w, _ := f.grid.WalkChunks(chunks); w.Next(); {
			l = f.locations[string(wholes(w.Coords))]
			if !yield(&l, ctx.Err()) || ctx.Err() != nil {
				return
			}
		}
	}
}

func (f *faked) Chunk(_ context.Context, coords []int64) ([]byte, error) {
	c, _ := f.grid.Chunk(coords)
	p, err := f.Pipeline(coords)
	if err != nil {
		return nil, err
	}
	elements := codec.NewElems(p.Form())
	elements.SetFill(p.Form())
	if err := f.copy(elements, c, true); err != nil {
		return nil, err
	}
	return p.Encode(nil, elements)
}

func (f *faked) ReadRegion(_ context.Context, r grid.Region, dst codec.Elems) error {
	return f.copy(dst, grid.Chunk{Region: r, Codec: r.Shape}, true)
}

// expectations writes the elements of all arrays for the comparison by other readers.
func (a *archive) expectations() string {
	a.t.Helper()
	type entry struct {
		Name  string
		File  string   `json:",omitempty"`
		Texts []string `json:",omitempty"`
		Shape []int64
		DType string
	}
	var list []entry
	for i, x := range a.arrays {
		f := x.(*faked)
		e := entry{Name: arrayKey(f), Shape: f.schema.Shape, DType: f.schema.DataType.Name()}
		if f.elements.Var == nil {
			e.File = filepath.Join(a.dir, fmt.Sprintf("elements%d", i))
			if err := os.WriteFile(e.File, f.elements.Fixed, 0o644); err != nil {
				a.t.Fatal(err)
			}
		}
		for _, text := range f.elements.Var {
			e.Texts = append(e.Texts, string(text))
		}
		list = append(list, e)
	}
	raw, err := json.Marshal(list)
	name := filepath.Join(a.dir, "expected.json")
	if err != nil || os.WriteFile(name, raw, 0o644) != nil {
		a.t.Fatal(err)
	}
	return name
}

const (
	little = `{"name":"bytes","configuration":{"endian":"little"}}`
	deflat = `,{"name":"numcodecs.shuffle","configuration":{"elementsize":4}},{"name":"numcodecs.zlib","configuration":{"level":4}}`
	zstd   = `,{"name":"zstd","configuration":{"level":1,"checksum":false}}`
)

// regularArchive has all kinds of chunks and all data types of format 2.
func regularArchive(t testing.TB) *archive {
	a := newArchive(t, nasty...)
	all := []manifest.ChunkKind{manifest.Verbatim, manifest.Reencoded, manifest.Missing, inline, manifest.Verbatim}
	for _, s := range []spec{
		{path: "/sea ice %", shape: []int64{13, 5}, chunks: []int64{4, 5}, dtype: "float32", fill: `"NaN"`, codecs: "[" + little + deflat + "]", attributes: `{"_FillValue":"AAAAAAAA+H8=","units":"K"}`, kinds: all},
		{path: "/température", shape: []int64{60, 4, 3}, chunks: []int64{7, 2, 3}, dtype: "int16", fill: "-9", codecs: "[" + little + zstd + "]", kinds: all},
		{path: "/c", shape: []int64{40}, chunks: []int64{10}, dtype: "float64", codecs: "[" + little + "]", kinds: all},
		{path: "/a.b", shape: []int64{40}, chunks: []int64{10}, dtype: "int32", codecs: `[{"name":"bytes","configuration":{"endian":"big"}}]`, kinds: []manifest.ChunkKind{manifest.Prefix, manifest.Missing}},
		{path: "/never", shape: []int64{400}, chunks: []int64{10}, dtype: "float32", fill: "7.5", codecs: "[" + little + zstd + "]", kinds: []manifest.ChunkKind{manifest.Missing}},
		{path: "/scalar", shape: []int64{}, chunks: []int64{}, dtype: "int32", codecs: "[" + little + "]", kinds: []manifest.ChunkKind{inline}},
		{path: "/stored", shape: []int64{}, chunks: []int64{}, dtype: "float64", codecs: "[" + little + "]"},
		{path: "/names", shape: []int64{9}, chunks: []int64{4}, dtype: "string", fill: `""`, codecs: `[{"name":"vlen-utf8","configuration":{}}` + zstd + "]", kinds: []manifest.ChunkKind{manifest.Reencoded, manifest.Missing, inline}},
		{path: "/none", shape: []int64{0, 5}, chunks: []int64{1, 5}, dtype: "int32", codecs: "[" + little + "]"},
		{path: "/g/h/deep", shape: []int64{30, 30}, chunks: []int64{4, 30}, dtype: "float32", fill: `"NaN"`, codecs: "[" + little + deflat + "]", kinds: all},
	} {
		a.add(s)
	}
	a.groups = []manifest.GroupSchema{{Path: "/", Attributes: attributes(t, `{"title":"every < kind \"of\" chunk"}`)}, {Path: "/g", Attributes: attributes(t, `{"level":1}`)}}
	return a
}

func attributes(t testing.TB, doc string) zarrjson.Attributes {
	t.Helper()
	a, err := zarrjson.ParseAttributes([]byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// rectilinearArchive adds arrays with rectilinear grids.
func rectilinearArchive(t testing.TB) *archive {
	a := regularArchive(t)
	all := []manifest.ChunkKind{manifest.Verbatim, manifest.Reencoded, manifest.Missing, inline, manifest.Verbatim}
	a.add(spec{path: "/monthly", shape: []int64{90, 6}, edges: []grid.Sizes{grid.List(31, 28, 31), grid.List(4, 2)}, dtype: "float32", fill: `"NaN"`, codecs: "[" + little + deflat + "]", kinds: all})
	a.add(spec{path: "/g/h/days", shape: []int64{95}, edges: []grid.Sizes{grid.RunLength(grid.Times(10, 7), grid.Times(5, 5))}, dtype: "int32", codecs: "[" + little + "]", kinds: all})
	return a
}

// plainArchive has only features that VirtualiZarr's parsers support: numbers in the root group, in files
// with plain names.
func plainArchive(t testing.TB) *archive {
	a := newArchive(t, "a.nc", "b.nc", "c.nc")
	for _, x := range regularArchive(t).arrays {
		f := x.(*faked)
		if f.elements.Var != nil || strings.Contains(f.path[1:], "/") || len(f.elements.Fixed) == 0 {
			continue
		}
		fresh := &faked{path: f.path, schema: f.schema, grid: f.grid, elements: f.elements, locations: map[string]manifest.Location{}}
		for w := f.grid.Walk(); w.Next(); {
			l := f.locations[string(wholes(w.Coords))]
			kind := l.Kind
			if l.Inline != nil {
				kind = inline
			}
			a.place(fresh, w, kind)
		}
		a.arrays = append(a.arrays, fresh)
	}
	return a
}
