package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"varve/codec"
	"varve/fixtures/soak"
	"varve/grid"
	"varve/manifest"
	"varve/zarrjson"
)

// world is a random array: the expected values, and a manifest that describes them.
type world struct {
	t      testing.TB
	r      *rand.Rand
	tables *memoryTables
	typ    codec.Type
	shape  []int64
	fill   []byte
	truth  codec.Elems
	spec   manifest.Array
	dims   []string
	placed []int // axes
	tiles  []manifest.Tile
	agrees bool    // most files have the chunks and codecs of the schema
	origin []int64 // of the tile that is being made
}

// TestRandomArrays compares reads with known values, for random arrays whose tiles are stored in random ways.
func TestRandomArrays(t *testing.T) {
	seed := soak.Seed(t)
	rounds := 150
	if testing.Short() {
		rounds = 40
	}
	var seen manifest.Counts
	for i := range rounds {
		t.Run(fmt.Sprintf("seed %d-%d", seed, i), func(t *testing.T) {
			c := newWorld(t, rand.New(rand.NewPCG(seed, uint64(i)))).check()
			seen.Missing += c.Missing
			seen.Verbatim += c.Verbatim
			seen.Prefix += c.Prefix
			seen.Reencoded += c.Reencoded
		})
	}
	if !testing.Short() && (seen.Missing < 10 || seen.Verbatim < 10 || seen.Reencoded < 10) {
		t.Errorf("seed %d: too few chunks of some kind: %+v", seed, seen)
	}
	t.Logf("%+v", seen)
}

func newWorld(t testing.TB, r *rand.Rand) *world {
	types := []codec.Type{{Kind: codec.Int, Size: 2}, {Kind: codec.Float, Size: 4}, {Kind: codec.Uint, Size: 1}, {Kind: codec.Float, Size: 8}, {Kind: codec.String}}
	w := &world{t: t, r: r, tables: newMemoryTables(), typ: types[r.IntN(len(types))], agrees: r.IntN(2) == 0}
	rank := r.IntN(4)
	for k := range rank {
		w.shape = append(w.shape, 1+r.Int64N(12))
		w.dims = append(w.dims, fmt.Sprintf("/d%d", k))
		if r.IntN(2) == 0 {
			w.placed = append(w.placed, k)
		}
	}
	w.fill = w.element()
	form := codec.Form{Type: w.typ, Shape: w.shape}
	w.truth = codec.NewElems(form)
	fillElems(w.truth, w.fill)
	w.makeSchema()
	whole := grid.Whole(slices.Clone(w.shape))
	whole.Origin = make([]int64, rank)
	w.split(whole, 3)
	slices.SortFunc(w.tiles, func(a, b manifest.Tile) int { return slices.Compare(a.Origin, b.Origin) })
	return w
}

// element returns a random element of the schema's type.
func (w *world) element() []byte {
	n := w.typ.Size
	if w.typ.Varies() {
		n = w.r.IntN(6)
	}
	b := make([]byte, n)
	for i := range b {
		b[i] = byte('a' + w.r.IntN(20))
	}
	return b
}

func (w *world) dim(k int) grid.Sizes {
	if w.r.IntN(2) == 0 {
		return grid.Every(1 + w.r.Int64N(w.shape[k]+2))
	}
	var sizes []int64
	for left := w.shape[k]; left > 0; {
		n := 1 + w.r.Int64N(left)
		sizes = append(sizes, n)
		left -= n
	}
	return grid.List(sizes...)
}

func (w *world) makeSchema() {
	dt, err := zarrjson.DataTypeOf(w.typ)
	if err != nil {
		w.t.Fatal(err)
	}
	regular := make([]int64, len(w.shape))
	var sizes []grid.Sizes
	for k := range w.shape {
		regular[k] = 1 + w.r.Int64N(w.shape[k]+1)
		sizes = append(sizes, w.dim(k))
	}
	schema := &zarrjson.Array{Shape: w.shape, DataType: dt, Fill: w.fill, Codecs: w.codecs(nil), ChunkGrid: zarrjson.RegularGrid(regular...)}
	if w.agrees && w.r.IntN(2) == 0 && !w.typ.Varies() {
		schema.Codecs = []codec.Spec{spec("bytes", `{"endian":"little"}`)}
	}
	if w.r.IntN(2) == 0 && len(w.shape) > 0 {
		schema.ChunkGrid = zarrjson.RectilinearGrid(sizes...)
	}
	w.spec = manifest.Array{Path: "/v", Schema: schema, Placement: "p", Variables: []string{"/other", "/v"}, Dims: w.dims, Reading: manifest.AsStored}
}

func spec(name, config string) codec.Spec {
	if config == "" {
		return codec.Spec{Name: name}
	}
	return codec.Spec{Name: name, Config: []byte(config)}
}

// codecs returns random codecs for chunks of a shape.
func (w *world) codecs(shape []int64) []codec.Spec {
	var list []codec.Spec
	switch {
	case w.typ.Kind == codec.String:
		list = append(list, spec("vlen-utf8", ""))
	case shape != nil && w.r.IntN(5) == 0 && len(shape) > 0:
		inner := fmt.Sprint(shape[0])
		for range shape[1:] {
			inner += ",1"
		}
		return []codec.Spec{spec("sharding_indexed", `{"chunk_shape":[`+inner+`],"codecs":[{"name":"bytes","configuration":{"endian":"little"}},{"name":"zstd","configuration":{"level":1,"checksum":false}}],"index_codecs":[{"name":"bytes","configuration":{"endian":"little"}},{"name":"crc32c"}]}`)}
	case w.r.IntN(4) == 0:
		list = append(list, spec("bytes", `{"endian":"big"}`))
	default:
		list = append(list, spec("bytes", `{"endian":"little"}`))
	}
	switch w.r.IntN(6) {
	case 0:
		list = append(list, spec("numcodecs.shuffle", fmt.Sprintf(`{"elementsize":%d}`, max(w.typ.Size, 1))), spec("numcodecs.zlib", `{"level":1}`))
	case 1:
		list = append(list, spec("zstd", `{"level":1,"checksum":false}`))
	case 2:
		list = append(list, spec("crc32c", ""))
	case 3:
		list = append(list, spec("numcodecs.zlib", `{"level":3}`), spec("numcodecs.fletcher32", ""))
	}
	return list
}

// split makes a tile of a box, or splits the box and makes tiles of both parts. Sometimes it makes no tile.
func (w *world) split(box grid.Region, depth int) {
	if depth > 0 && len(w.placed) > 0 && w.r.IntN(5) > 0 {
		k := w.placed[w.r.IntN(len(w.placed))]
		if box.Shape[k] > 1 {
			n := 1 + w.r.Int64N(box.Shape[k]-1)
			low, high := box.Clone(), box.Clone()
			low.Shape[k] = n
			high.Origin[k] += n
			high.Shape[k] -= n
			w.split(low, depth-1)
			w.split(high, depth-1)
			return
		}
	}
	if w.r.IntN(10) > 0 {
		w.tile(box)
	}
}

// tile adds a tile with its own file, and writes its values into the expected values.
func (w *world) tile(box grid.Region) {
	tile := manifest.Tile{}
	w.origin = box.Origin
	at := grid.Region{Origin: make([]int64, len(w.shape)), Shape: slices.Clone(box.Shape)} // in the variable
	full := slices.Clone(box.Shape)
	var backwards []int
	for k := range w.shape {
		if slices.Contains(w.placed, k) {
			if !w.agrees {
				at.Origin[k] = w.r.Int64N(3)
				full[k] = at.Origin[k] + box.Shape[k] + w.r.Int64N(3)
			}
			tile.Origin = append(tile.Origin, box.Origin[k])
			tile.Start = append(tile.Start, at.Origin[k])
			tile.Shape = append(tile.Shape, box.Shape[k])
			if w.r.IntN(8) == 0 && box.Shape[k] > 1 { // the variable is shorter than its tile
				full[k] = at.Origin[k] + box.Shape[k] - 1
				at.Shape[k] = box.Shape[k] - 1
			} else if w.r.IntN(6) == 0 { // and may lack the axis
				at.Origin[k], full[k], at.Shape[k] = 0, 1, 1
				tile.Start[len(tile.Start)-1] = 0
			}
			if full[k] > 1 && w.r.IntN(6) == 0 {
				tile.Start[len(tile.Start)-1] = -at.Origin[k] - box.Shape[k]
				backwards = append(backwards, k)
			}
		} else if w.r.IntN(8) == 0 {
			full[k] = 1 + w.r.Int64N(full[k]) // the rest has the fill value
			at.Shape[k] = full[k]
		}
	}
	v := manifest.Variable{Path: "/v", Type: w.typ, Shape: full, Dims: slices.Clone(w.dims), Fill: manifest.Fill{Value: w.fill}}
	if w.r.IntN(4) == 0 && !w.agrees {
		v.Fill.Value = w.element()
	}
	if w.r.IntN(12) == 0 {
		v.Path = "/another" // the file lacks it
	}
	values := codec.NewElems(codec.Form{Type: w.typ, Shape: full})
	w.randomize(values)
	chunks, written := w.store(&v, values)
	tile.File = w.tables.addFile(w.t, w.r, v, chunks)
	w.tiles = append(w.tiles, tile)
	if v.Path == "/v" {
		for _, k := range backwards {
			grid.Reverse(written.Fixed, full, k, int64(w.typ.Size))
			grid.Reverse(written.Var, full, k, 1)
			at.Origin[k] = full[k] - at.Origin[k] - at.Shape[k]
			box.Origin[k] += box.Shape[k] - at.Shape[k] // the variable lacks the first elements of the tile
			box.Shape[k] = at.Shape[k]
		}
		w.know(&v, written, box, at)
	}
}

// know writes the values of a variable in a box into the expected values. It repeats them along the axes that
// the variable lacks.
func (w *world) know(v *manifest.Variable, written codec.Elems, box, at grid.Region) {
	for _, k := range w.placed {
		if !slices.Contains(v.Dims, w.dims[k]) && box.Shape[k] > 1 {
			one := box.Clone()
			one.Shape[k] = 1
			for range box.Shape[k] {
				w.know(v, written, one, at)
				one.Origin[k]++
			}
			return
		}
	}
	full := make([]int64, len(w.dims))
	for k, dim := range w.dims {
		if full[k] = 1; slices.Contains(v.Dims, dim) {
			full[k] = v.Shape[slices.Index(v.Dims, dim)]
		}
	}
	from := newWindow(written, grid.Region{Origin: shifted(box.Origin, at.Origin), Shape: full}, w.typ)
	to := newWindow(w.truth, grid.Whole(w.shape), w.typ)
	to.region.Origin = make([]int64, len(w.shape))
	if err := to.copyFrom(&from, grid.Region{Origin: box.Origin, Shape: at.Shape}); err != nil {
		w.t.Fatal(err)
	}
}

// shifted returns the position of the variable's origin in the array.
func shifted(box, at []int64) []int64 {
	origin := slices.Clone(box)
	for k := range origin {
		origin[k] -= at[k]
	}
	return origin
}

func (w *world) randomize(e codec.Elems) {
	for i := range e.Fixed {
		e.Fixed[i] = byte('a' + w.r.IntN(20))
	}
	for i := range e.Var {
		e.Var[i] = w.element()
	}
}

func (w *world) snapshot() *manifest.Snapshot {
	var dims []string
	for _, k := range w.placed {
		dims = append(dims, w.dims[k])
	}
	return w.tables.snapshot(dims, w.tiles, w.spec)
}

// check reads the array as regions, by selections and chunk by chunk, and returns the number of chunks of each
// kind.
func (w *world) check() manifest.Counts {
	s := openMemory(w.t, w.snapshot(), w.tables, Options{CacheBytes: []int64{0, -1, 3000}[w.r.IntN(3)], OpenFiles: 1 + w.r.IntN(4), FlightBytes: []int64{0, 100}[w.r.IntN(2)]})
	a, err := s.Array("v")
	if err != nil {
		w.t.Fatal(err)
	}
	w.checkRegions(a)
	w.checkSelections(a)
	return w.checkChunks(a, openMemory(w.t, w.snapshot(), w.tables, Options{}))
}

func (w *world) checkRegions(a *Array) {
	for i := range 8 {
		r := grid.Whole(slices.Clone(w.shape))
		r.Origin = make([]int64, len(w.shape))
		for k, n := range w.shape {
			if i > 0 {
				r.Origin[k] = w.r.Int64N(n + 1)
				r.Shape[k] = w.r.Int64N(n - r.Origin[k] + 1)
			}
		}
		got := codec.NewElems(codec.Form{Type: w.typ, Shape: r.Shape})
		w.randomize(got)
		if err := a.ReadRegion(context.Background(), r, got); err != nil {
			w.t.Fatalf("%v: %v", r, err)
		}
		if want := cut(w.t, w.truth, w.shape, r, w.typ); !equalElems(got, want) {
			w.t.Fatalf("region %v of %v: got %v, want %v", r, w.shape, got, want)
		}
	}
}

// checkSelections compares selections with the expected values. To find which elements an indexer selects, it
// applies the indexer to an array in which each element is its own index.
func (w *world) checkSelections(a *Array) {
	numbers := codec.Type{Kind: codec.Uint, Size: 8}
	n, _ := grid.Elements(w.shape)
	places := codec.NewElems(codec.Form{Type: numbers, Shape: w.shape})
	for i := range n {
		binary.LittleEndian.PutUint64(places.Fixed[8*i:], uint64(i))
	}
	for _, ix := range w.indexers(a.Grid()) {
		got := codec.NewElems(codec.Form{Type: w.typ, Shape: ix.Shape()})
		if err := a.Read(context.Background(), ix, got); err != nil {
			w.t.Fatal(err)
		}
		want := codec.NewElems(codec.Form{Type: numbers, Shape: ix.Shape()})
		for c := ix.Project(); c.Next(); {
			chunk := cut(w.t, places, w.shape, c.Region, numbers)
			if err := grid.Gather(&c.Projection, want.Fixed, grid.Window[byte]{Data: chunk.Fixed, Region: grid.Region{Origin: make([]int64, len(w.shape)), Shape: c.Region.Shape}}, 8); err != nil {
				w.t.Fatal(err)
			}
		}
		for i := range len(want.Fixed) / 8 {
			place := int(binary.LittleEndian.Uint64(want.Fixed[8*i:]))
			if w.typ.Varies() && !bytes.Equal(got.Var[i], w.truth.Var[place]) ||
				!w.typ.Varies() && !bytes.Equal(got.Fixed[i*w.typ.Size:][:w.typ.Size], w.truth.Fixed[place*w.typ.Size:][:w.typ.Size]) {
				w.t.Fatalf("selection of shape %v: element %d is wrong", ix.Shape(), i)
			}
		}
	}
}

func (w *world) indexers(g *grid.Grid) (list []*grid.Indexer) {
	var steps, lists []grid.Selector
	var points []grid.Array
	for _, n := range w.shape {
		steps = append(steps, grid.From(w.r.Int64N(n)).By(1+w.r.Int64N(4)))
		several := make([]int64, 1+w.r.IntN(5))
		for i := range several {
			several[i] = w.r.Int64N(n)
		}
		lists = append(lists, []grid.Selector{grid.Indices(several...), grid.At(several[0]), grid.All()}[w.r.IntN(3)])
		point := make([]int64, 7)
		for i := range point {
			point[i] = w.r.Int64N(n)
		}
		points = append(points, grid.Line(point...))
	}
	add := func(ix *grid.Indexer, err error) {
		if err != nil {
			w.t.Fatal(err)
		}
		list = append(list, ix)
	}
	add(grid.Basic(g, steps...))
	add(grid.Orthogonal(g, lists...))
	if len(points) > 0 {
		add(grid.Coordinate(g, points...))
	}
	return list
}

// checkChunks compares every chunk with the expected values, and its location with its bytes.
func (w *world) checkChunks(a *Array, again *Store) manifest.Counts {
	ctx := context.Background()
	other, err := again.Array("/v")
	if err != nil {
		w.t.Fatal(err)
	}
	m, err := a.tiles(ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	counts, err := m.Count(ctx, w.tables)
	if err != nil {
		w.t.Fatal(err)
	}
	var seen manifest.Counts
	walk := a.Grid().Walk()
	for l, err := range a.Locations(ctx, grid.Whole(a.Grid().Counts())) {
		if err != nil {
			w.t.Fatal(err)
		}
		if !walk.Next() || !slices.Equal(walk.Coords, l.Coords) {
			w.t.Fatalf("chunk %v out of order", l.Coords)
		}
		seen.Add(&manifest.Run{Location: *l, Chunks: 1})
		w.checkChunk(a, other, l, &walk.Chunk)
	}
	if walk.Next() || seen != counts {
		w.t.Fatalf("counted %+v, seen %+v", counts, seen)
	}
	return seen
}

func (w *world) checkChunk(a, other *Array, l *manifest.Location, c *grid.Chunk) {
	ctx := context.Background()
	want := cut(w.t, w.truth, w.shape, c.Region, w.typ)
	b, err := a.Chunk(ctx, l.Coords)
	if err != nil {
		w.t.Fatalf("chunk %v, %v: %v", l.Coords, l.Kind, err)
	}
	one, err := other.Locate(ctx, l.Coords)
	if err != nil || one.Kind != l.Kind || one.Offset != l.Offset || one.Size != l.Size || one.Source != l.Source || !bytes.Equal(one.Inline, l.Inline) {
		w.t.Fatalf("chunk %v: %+v and %+v (%v)", l.Coords, one, l, err)
	}
	if l.Kind == manifest.Missing {
		if b != nil || !w.spec.Schema.Form(c.Shape).IsFill(want) {
			w.t.Fatalf("chunk %v is missing, want %v", l.Coords, want)
		}
		return
	}
	w.checkBytes(other, l, b)
	p, err := a.Pipeline(l.Coords)
	if err != nil {
		w.t.Fatal(err)
	}
	whole := codec.NewElems(p.Form())
	if err := p.Decode(whole, b); err != nil {
		w.t.Fatalf("chunk %v, %v: %v", l.Coords, l.Kind, err)
	}
	got := cut(w.t, whole, c.Codec, grid.Region{Origin: make([]int64, len(c.Shape)), Shape: c.Shape}, w.typ)
	if !equalElems(got, want) {
		w.t.Fatalf("chunk %v, %v: got %v, want %v", l.Coords, l.Kind, got, want)
	}
}

// checkBytes compares a chunk's bytes with the bytes at its location or, if it is re-encoded, with the
// bytes from another store.
func (w *world) checkBytes(other *Array, l *manifest.Location, b []byte) {
	want := l.Inline
	if l.Kind == manifest.Reencoded {
		var err error
		if want, err = other.Chunk(context.Background(), l.Coords); err != nil {
			w.t.Fatal(err)
		}
	} else if l.Source >= 0 {
		file, err := os.ReadFile(w.tables.sources[l.Source].URL)
		if err != nil {
			w.t.Fatal(err)
		}
		want = file[l.Offset : l.Offset+l.Size]
	}
	if !bytes.Equal(b, want) {
		w.t.Fatalf("chunk %v, %v: got %d bytes that differ from the expected %d bytes", l.Coords, l.Kind, len(b), len(want))
	}
}
