package zarrstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"varve/codec"
	"varve/fixtures/soak"
	"varve/grid"
	"varve/manifest/internal/home"
	"varve/readers/source/storetest"
	"varve/zarrjson"
)

// plain is an array as nothing but its elements: what an Array has to be like.
type plain struct {
	form  codec.Form
	elems codec.Elems
}

func newPlain(form codec.Form) *plain {
	p := &plain{form, codec.NewElems(form)}
	p.elems.SetFill(form)
	return p
}

func (p *plain) region() grid.Region { return grid.Whole(p.form.Shape) }

func (p *plain) copy(t testing.TB, dst codec.Elems, to grid.Region, src codec.Elems, from, r grid.Region) {
	t.Helper()
	var err error
	if p.form.Type.Varies() {
		err = grid.Copy(grid.Window[[]byte]{Data: dst.Var, Region: to}, grid.Window[[]byte]{Data: src.Var, Region: from}, r, 1)
	} else {
		err = grid.Copy(grid.Window[byte]{Data: dst.Fixed, Region: to}, grid.Window[byte]{Data: src.Fixed, Region: from}, r, int64(p.form.Type.Size))
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (p *plain) write(t testing.TB, r grid.Region, src codec.Elems) {
	p.copy(t, p.elems, p.region(), src, r, r)
}

func (p *plain) read(t testing.TB, r grid.Region) codec.Elems {
	dst := codec.NewElems(p.of(r.Shape))
	p.copy(t, dst, r, p.elems, p.region(), r)
	return dst
}

func (p *plain) of(shape []int64) codec.Form {
	return codec.Form{Type: p.form.Type, Shape: shape, Fill: p.form.Fill}
}

func (p *plain) resize(t testing.TB, shape []int64) {
	now := newPlain(p.of(slices.Clone(shape)))
	both := grid.MakeRegion(len(shape))
	if both.Intersect(p.region(), now.region()) {
		p.copy(t, now.elems, now.region(), p.elems, p.region(), both)
	}
	*p = *now
}

func sameElems(a, b codec.Elems) bool {
	return bytes.Equal(a.Fixed, b.Fixed) && slices.EqualFunc(a.Var, b.Var, bytes.Equal)
}

// chance makes random arrays and random changes of them.
type chance struct{ *rand.Rand }

func (c chance) one(list ...string) string { return list[c.IntN(len(list))] }

// elems are random, and fill value now and then.
func (c chance) elems(f codec.Form) codec.Elems {
	e := codec.NewElems(f)
	if c.IntN(5) == 0 {
		e.SetFill(f)
		return e
	}
	for i := range e.Fixed {
		e.Fixed[i] = byte(c.IntN(256))
	}
	for i := range e.Var {
		e.Var[i] = bytes.Repeat([]byte{'a' + byte(c.IntN(26))}, c.IntN(5))
	}
	return e
}

func (c chance) region(shape []int64) grid.Region {
	r := grid.MakeRegion(len(shape))
	for k, n := range shape {
		r.Origin[k] = c.Int64N(n + 1)
		r.Shape[k] = c.Int64N(n - r.Origin[k] + 1)
	}
	return r
}

func (c chance) shape(rank int) []int64 {
	shape := make([]int64, rank)
	for k := range shape {
		shape[k] = c.Int64N(14)
	}
	return shape
}

const (
	rawCodecs  = `{"name":"bytes","configuration":{"endian":"big"}}`
	zstdCodecs = `{"name":"bytes","configuration":{"endian":"little"}},{"name":"zstd","configuration":{"level":1,"checksum":false}}`
	indexCodec = `{"name":"bytes","configuration":{"endian":"little"}},{"name":"crc32c"}`
)

// codecs returns the codecs of an array, and of what the edges of its chunks are multiples.
func (c chance) codecs(t testing.TB, rank int, text, shards bool) ([]codec.Spec, []int64) {
	units := slices.Repeat([]int64{1}, rank)
	list := c.one(rawCodecs, zstdCodecs)
	if text {
		list = `{"name":"vlen-utf8","configuration":{}}`
	}
	if shards {
		for k := range units {
			units[k] = 1 + c.Int64N(3)
		}
		list = fmt.Sprintf(`{"name":"sharding_indexed","configuration":{"chunk_shape":%s,"codecs":[%s],"index_codecs":[%s],"index_location":"%s"}}`,
			strings.ReplaceAll(fmt.Sprint(units), " ", ","), list, indexCodec, c.one("start", "end"))
	}
	return parseCodecs(t, list), units
}

func parseCodecs(t testing.TB, list string) []codec.Spec {
	t.Helper()
	doc := `{"shape":[],"data_type":"uint8","chunk_grid":{"name":"regular","configuration":{"chunk_shape":[]}},"chunk_key_encoding":{"name":"default"},"fill_value":0,"codecs":[{"name":"bytes"}],"attributes":{},"zarr_format":3,"node_type":"array"}`
	a, err := zarrjson.ParseArray([]byte(strings.Replace(doc, `[{"name":"bytes"}]`, "["+list+"]", 1)))
	if err != nil {
		t.Fatal(err)
	}
	return a.Codecs
}

func (c chance) sizes(extent, unit int64, regular bool) grid.Sizes {
	if regular || extent == 0 || c.IntN(3) == 0 {
		return grid.Every(unit * (1 + c.Int64N(4)))
	}
	var list []int64
	for sum := int64(0); sum < extent; sum += list[len(list)-1] {
		list = append(list, unit*(1+c.Int64N(4)))
	}
	return grid.List(list...)
}

// schema returns a random array.
func (c chance) schema(t testing.TB, format int) *zarrjson.Array {
	rank := c.IntN(4)
	types := []codec.Type{{Kind: codec.Uint, Size: 1}, {Kind: codec.Int, Size: 2}, {Kind: codec.Float, Size: 8}, {Kind: codec.String}}
	typ := types[c.IntN(len(types))]
	regular := format == 2 || c.IntN(3) == 0
	codecs, units := c.codecs(t, rank, typ.Varies(), format == 3 && c.IntN(2) == 0)
	a := &zarrjson.Array{Shape: c.shape(rank), Codecs: codecs}
	sizes := make([]grid.Sizes, rank)
	for k := range sizes {
		sizes[k] = c.sizes(a.Shape[k], units[k], regular)
	}
	if a.ChunkGrid = zarrjson.RectilinearGrid(sizes...); regular {
		shape := make([]int64, rank)
		for k := range shape {
			shape[k], _ = sizes[k].RegularSize()
		}
		a.ChunkGrid = zarrjson.RegularGrid(shape...)
	}
	if !typ.Varies() && c.IntN(2) == 0 {
		a.Fill = slices.Repeat([]byte{7}, typ.Size)
	}
	var err error
	if a.DataType, err = zarrjson.DataTypeOf(typ); err != nil {
		t.Fatal(err)
	}
	return a
}

// units are what edges that are named have to be multiples of.
func unitsOf(t testing.TB, a *Array) []int64 {
	t.Helper()
	units := slices.Repeat([]int64{1}, len(a.Shape()))
	if f := a.now(); f.base != nil {
		l, err := codec.DeclaredLayout(f.grid, f.base)
		if err != nil {
			t.Fatal(err)
		}
		if l.IsSharded() {
			units, _ = l.Inner.ChunkShape()
		}
	}
	return units
}

// named returns edges for the growth of an axis past its declared edges.
func (c chance) named(d grid.Dimension, extent, unit int64) (sizes []int64) {
	declared := int64(0)
	for r := range d.Runs() {
		declared += r.Data * r.Count
	}
	if f, fixed := d.(grid.Fixed); fixed {
		declared = f.Chunks() * f.Size()
	}
	for declared < extent {
		sizes = append(sizes, unit*(1+c.Int64N(3)))
		declared += sizes[len(sizes)-1]
	}
	return sizes
}

// trial is an array beside its plain twin.
type trial struct {
	chance
	name  string // of the array
	array *Array
	twin  *plain
	units []int64
	bound bool // the grid has to stay regular
}

func (x *trial) step(t testing.TB) (what string) {
	ctx := context.Background()
	shape := x.twin.form.Shape
	var err error
	switch n := x.IntN(9); {
	case n < 4:
		r := x.region(shape)
		e := x.elems(x.twin.of(r.Shape))
		what = fmt.Sprintf("write %v", r)
		err = x.array.WriteRegion(ctx, r, e)
		x.twin.write(t, r, e)
	case n < 5 && len(shape) > 0:
		what, err = x.append(t)
	case n < 7:
		to := x.shape(len(shape))
		edges := x.edgesTo(to)
		what = fmt.Sprintf("resize %v to %v, %v", shape, to, edges)
		err = x.array.Resize(ctx, to, edges...)
		x.twin.resize(t, to)
	case n < 8 && len(shape) > 0 && !x.bound:
		growth := x.growth(len(shape))
		what = fmt.Sprintf("keep %v", growth)
		err = x.array.SetGrowth(ctx, growth)
	default:
		what = "open"
		x.array, err = Open(t.Context(), x.name, nil)
	}
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	return what
}

// growth returns the policy of a random axis, which sharding can follow.
func (x *trial) growth(rank int) Growth {
	axis := x.IntN(rank)
	unit := x.units[axis]
	switch x.IntN(3) {
	case 0:
		return Growth{axis, grid.Repeat()}
	case 1:
		return Growth{axis, grid.RepeatSize(unit * (1 + x.Int64N(3)))}
	}
	return Growth{axis, grid.Cycle(grid.Compress(unit*(1+x.Int64N(3)), unit*(1+x.Int64N(3)), unit)...)}
}

func (x *trial) edgesTo(shape []int64) (edges []Growth) {
	for k, n := range shape {
		d := x.array.Grid().Dim(k)
		if sizes := x.named(d, n, x.units[k]); n > d.Extent() && len(sizes) > 0 && !x.bound {
			edges = append(edges, EdgesOf(k, sizes...))
		}
	}
	return edges
}

func (x *trial) append(t testing.TB) (string, error) {
	shape := slices.Clone(x.twin.form.Shape)
	axis := x.IntN(len(shape))
	r := grid.Whole(slices.Clone(shape)).Clone()
	r.Origin[axis], r.Shape[axis] = shape[axis], 1+x.Int64N(6)
	shape[axis] += r.Shape[axis]
	var edges []Growth
	if sizes := x.named(x.array.Grid().Dim(axis), shape[axis], x.units[axis]); !x.bound && len(sizes) > 0 {
		edges = append(edges, EdgesOf(axis, sizes...))
	}
	e := x.elems(x.twin.of(r.Shape))
	x.twin.resize(t, shape)
	x.twin.write(t, r, e)
	return fmt.Sprintf("append %v, %v", r, edges), x.array.Append(context.Background(), axis, r.Shape[axis], e, edges...)
}

func (x *trial) compare(t testing.TB) {
	t.Helper()
	if !slices.Equal(x.array.Shape(), x.twin.form.Shape) {
		t.Fatalf("shape %v, want %v", x.array.Shape(), x.twin.form.Shape)
	}
	for _, r := range []grid.Region{x.twin.region(), x.region(x.twin.form.Shape)} {
		got := codec.NewElems(x.twin.of(r.Shape))
		if err := x.array.ReadRegion(context.Background(), r, got); err != nil {
			t.Fatal(err)
		}
		if want := x.twin.read(t, r); !sameElems(got, want) {
			t.Fatalf("%v: got %v, want %v", r, got, want)
		}
	}
}

// roots has a function that returns a place for arrays, for each kind of storage.
var roots = map[string]func(t *testing.T) string{
	"folder": func(t *testing.T) string { return t.TempDir() },
	"object store": func(t *testing.T) string {
		storetest.NewMemory(t)
		return "s3://bucket/" + strings.ReplaceAll(t.Name(), "/", " ")
	},
}

// TestLikePlain does random things to random arrays, and to arrays that are only memory.
func TestLikePlain(t *testing.T) {
	seed := soak.Seed(t)
	rounds := 50
	if testing.Short() {
		rounds = 15
	}
	for kind, root := range roots {
		t.Run(kind, func(t *testing.T) {
			at := root(t)
			for round := range rounds {
				x := &trial{chance: chance{rand.New(rand.NewPCG(seed, uint64(round)))}}
				x.run(t, fmt.Sprintf("%s/%d", at, round), fmt.Sprintf("seed %d, round %d", seed, round))
				if t.Failed() {
					return
				}
			}
		})
	}
}

func (x *trial) run(t *testing.T, root, name string) {
	format := min(2+x.IntN(4), 3)
	x.name = root + "/a"
	a, err := Create(t.Context(), x.name, x.schema(t, format), &Options{Format: format})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	x.array, x.twin = a, newPlain(a.Schema().Form(slices.Clone(a.Shape())))
	x.units = unitsOf(t, a)
	// Shards cannot grow by what their inner chunks do not divide, so that edges are named.
	x.bound = format == 2 || a.Grid().IsRegular() && x.IntN(2) == 0
	var done []string
	defer func() {
		if t.Failed() {
			t.Logf("%s: %v: %s", name, a.Schema().ChunkGrid, strings.Join(done, "; "))
		}
	}()
	for range 12 {
		done = append(done, x.step(t))
		x.compare(t)
	}
	x.checkFiles(t)
	x.copied(t, root)
	if err := x.array.Delete(context.Background()); err != nil {
		t.Fatal(err)
	}
	for key, err := range x.array.files.Walk(context.Background(), "") {
		t.Fatalf("%s is left of a deleted array, %v", key, err)
	}
	if _, ok := x.array.files.Home.(*home.Folder); ok {
		if _, err := os.Stat(x.name); !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("the folder of a deleted array: %v", err)
		}
	}
}

// checkFiles wants no file but documents and chunks of the array, none of them all fill.
func (x *trial) checkFiles(t testing.TB) {
	t.Helper()
	for key, err := range x.array.files.Walk(context.Background(), "") {
		if err != nil {
			t.Fatal(err)
		}
		if slices.Contains([]string{v3Name, v2Name, v2Attributes}, key) {
			continue
		}
		coords := make([]int64, len(x.array.Shape()))
		if !x.array.Schema().Keys.Parse(key, coords) {
			t.Errorf("%s is no chunk", key)
		} else if _, ok := x.array.Grid().Number(coords); !ok {
			t.Errorf("%s is outside", key)
		}
	}
}

// copied makes copies of the array, as it is and cut in another way.
func (x *trial) copied(t testing.TB, root string) {
	ctx := context.Background()
	like, err := CreateLike(t.Context(), root+"/like", x.array, nil)
	if err != nil {
		t.Fatal(err)
	}
	schema := *x.array.Schema()
	schema.Keys, schema.Codecs = zarrjson.KeyEncoding{}, parseCodecs(t, zstdCodecs)
	if x.twin.form.Type.Varies() {
		schema.Codecs = parseCodecs(t, `{"name":"vlen-utf8","configuration":{}}`)
	}
	schema.ChunkGrid = zarrjson.RegularGrid(slices.Repeat([]int64{5}, len(schema.Shape))...)
	other, err := Create(t.Context(), root+"/other", &schema, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, to := range []*Array{like, other} {
		if err := to.CopyFrom(ctx, x.array); err != nil {
			t.Fatal(err)
		}
		copied := *x
		copied.array = to
		copied.compare(t)
	}
}

// dirOf returns the name of an array.
func dirOf(a *Array) string { return a.files.Name("") }

// schema16 is a line of 16-bit integers in chunks.
func schema16(t testing.TB, extent int64, sizes ...int64) *zarrjson.Array {
	t.Helper()
	d, err := zarrjson.DataTypeOf(codec.Type{Kind: codec.Int, Size: 2})
	if err != nil {
		t.Fatal(err)
	}
	return &zarrjson.Array{Shape: []int64{extent}, DataType: d, ChunkGrid: zarrjson.RectilinearGrid(grid.List(sizes...)), Codecs: parseCodecs(t, zstdCodecs)}
}

func line(n int64, from int64) codec.Elems {
	e := codec.Elems{}
	for i := range n {
		e.Fixed = append(e.Fixed, byte(from+i), 1)
	}
	return e
}

// TestEdges appends months and wants their edges in the document.
func TestEdges(t *testing.T) {
	ctx := context.Background()
	a, err := Create(t.Context(), filepath.Join(t.TempDir(), "a"), schema16(t, 31, 31), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, days := range []int64{28, 31, 30} {
		if err := a.Append(ctx, 0, days, line(days, 3), EdgesOf(0, days)); err != nil {
			t.Fatal(err)
		}
	}
	doc, err := os.ReadFile(filepath.Join(dirOf(a), v3Name))
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(strings.Fields(string(doc)), ""); !strings.Contains(got, `"chunk_shapes":[[31,28,31,30]]`) {
		t.Errorf("got %s", got)
	}
}

// TestWritersShareChunks has many goroutines write single elements of few chunks.
func TestWritersShareChunks(t *testing.T) {
	ctx := context.Background()
	a, err := Create(t.Context(), filepath.Join(t.TempDir(), "a"), schema16(t, 64, 20, 44), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := line(64, 0)
	var all sync.WaitGroup
	for i := range int64(64) {
		all.Go(func() {
			r := grid.Region{Origin: []int64{i}, Shape: []int64{1}}
			if err := a.WriteRegion(ctx, r, codec.Elems{Fixed: want.Fixed[2*i : 2*i+2]}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	got := codec.Elems{Fixed: make([]byte, 128)}
	if err := a.ReadRegion(ctx, grid.Whole([]int64{64}), got); err != nil || !sameElems(got, want) {
		t.Errorf("got %v, %v", got, err)
	}
}

// TestLeftovers grows an array over what a stopped process has left.
func TestLeftovers(t *testing.T) {
	ctx := context.Background()
	a, err := Create(t.Context(), filepath.Join(t.TempDir(), "a"), schema16(t, 10, 10), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.WriteRegion(ctx, grid.Whole([]int64{10}), line(10, 1)); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(a.files.Name(a.key([]int64{0})))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"c/1", "c/.0.draft-ABC"} { // of an append, and of a chunk
		if err := os.WriteFile(filepath.Join(dirOf(a), name), whole, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Resize(ctx, []int64{20}, EdgesOf(0, 10)); err != nil {
		t.Fatal(err)
	}
	got := codec.Elems{Fixed: make([]byte, 40)}
	want := codec.Elems{Fixed: append(line(10, 1).Fixed, make([]byte, 20)...)}
	if err := a.ReadRegion(ctx, grid.Whole([]int64{20}), got); err != nil || !sameElems(got, want) {
		t.Errorf("got %v, %v", got, err)
	}
	if left, _ := filepath.Glob(filepath.Join(dirOf(a), "c", ".*")); len(left) > 0 {
		t.Errorf("left are %v", left)
	}
}

func TestRefusals(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	a, err := Create(t.Context(), filepath.Join(dir, "a"), schema16(t, 10, 6, 4), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dirOf(a), "c"), nil, 0o644); err != nil { // in the way of chunks
		t.Fatal(err)
	}
	canceled, cancel := context.WithCancel(ctx)
	cancel()
	create := func(schema *zarrjson.Array, format int) error {
		_, err := Create(t.Context(), filepath.Join(dir, fmt.Sprint("b", format)), schema, &Options{Format: format})
		return err
	}
	regular := schema16(t, 10, 5)
	regular.ChunkGrid = zarrjson.RegularGrid(5)
	v2, err := Create(t.Context(), filepath.Join(dir, "v2"), regular, &Options{Format: 2})
	if err != nil {
		t.Fatal(err)
	}
	_, missing := Open(t.Context(), filepath.Join(dir, "none"), nil)
	_, there := Create(t.Context(), dirOf(a), regular, nil)
	for name, test := range map[string]struct {
		err  error
		want error
		says string
	}{
		"no array":              {missing, fs.ErrNotExist, ""},
		"an array is there":     {there, fs.ErrExist, ""},
		"rectilinear format 2":  {create(schema16(t, 10, 6, 4), 2), errors.ErrUnsupported, ""},
		"format 4":              {create(regular, 4), errors.ErrUnsupported, "2 and 3"},
		"outside":               {a.WriteRegion(ctx, grid.Region{Origin: []int64{5}, Shape: []int64{6}}, line(6, 0)), grid.ErrOutOfBounds, "shape [10]"},
		"too few elements":      {a.WriteRegion(ctx, grid.Whole([]int64{10}), line(9, 0)), nil, "18 bytes"},
		"a write that fails":    {a.WriteRegion(ctx, grid.Whole([]int64{10}), line(10, 0)), nil, "c/"},
		"an append that fails":  {a.Append(ctx, 0, 5, line(5, 0), EdgesOf(0, 5)), nil, "c/"},
		"edges for no growth":   {a.Resize(ctx, []int64{10}, EdgesOf(0, 4)), nil, "extent 10"},
		"edges that fall short": {a.Resize(ctx, []int64{20}, EdgesOf(0, 4)), nil, "extent 20"},
		"edges of no axis":      {a.Resize(ctx, []int64{20}, EdgesOf(1, 4)), nil, "axis 1"},
		"edges in format 2":     {v2.Resize(ctx, []int64{13}, EdgesOf(0, 3)), errors.ErrUnsupported, "format 2"},
		"canceled":              {v2.WriteRegion(canceled, grid.Whole([]int64{10}), line(10, 0)), context.Canceled, ""},
	} {
		if test.err == nil || test.want != nil && !errors.Is(test.err, test.want) || !strings.Contains(test.err.Error(), test.says) {
			t.Errorf("%s: got %v", name, test.err)
		}
	}
	if a.Shape()[0] != 10 || v2.Shape()[0] != 10 {
		t.Errorf("a refused resize changed the shapes: %v, %v", a.Shape(), v2.Shape())
	}
}

// TestNoFillValue: if an array of format 2 has no fill value, written zeros stay zeros for readers
// that use other values for missing chunks.
func TestNoFillValue(t *testing.T) {
	ctx := context.Background()
	regular := schema16(t, 10, 5)
	regular.ChunkGrid = zarrjson.RegularGrid(5)
	regular.Fill = nil
	dir := filepath.Join(t.TempDir(), "a")
	if _, err := Create(t.Context(), dir, regular, &Options{Format: 2}); err != nil {
		t.Fatal(err)
	}
	doc, err := os.ReadFile(filepath.Join(dir, v2Name))
	if err != nil {
		t.Fatal(err)
	}
	doc = bytes.Replace(doc, []byte(`"fill_value": 0`), []byte(`"fill_value": null`), 1)
	if err := os.WriteFile(filepath.Join(dir, v2Name), doc, 0o644); err != nil {
		t.Fatal(err)
	}
	a, err := Open(t.Context(), dir, nil)
	if err != nil || a.form.v2.Fill != nil {
		t.Fatal(err, string(doc))
	}
	zeros := codec.NewElems(a.Schema().Form([]int64{5}))
	if err := a.WriteRegion(ctx, grid.Region{Origin: []int64{5}, Shape: []int64{5}}, zeros); err != nil {
		t.Fatal(err)
	}
	b, err := Create(t.Context(), filepath.Join(t.TempDir(), "b"), regular, &Options{Format: 2})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"1", "0"} {
		name := filepath.Join(dir, want)
		if stored, err := os.ReadFile(name); err != nil || len(stored) == 0 {
			t.Errorf("chunk %s: %d bytes, %v", want, len(stored), err)
		}
		if err := a.CopyFrom(ctx, b); err != nil { // all of it is missing there
			t.Fatal(err)
		}
	}
}

func BenchmarkWriteRegion(b *testing.B) {
	d, err := zarrjson.DataTypeOf(codec.Type{Kind: codec.Float, Size: 4})
	if err != nil {
		b.Fatal(err)
	}
	schema := &zarrjson.Array{Shape: []int64{16, 512, 512}, DataType: d, ChunkGrid: zarrjson.RegularGrid(1, 512, 512), Codecs: parseCodecs(b, rawCodecs)}
	a, err := Create(b.Context(), filepath.Join(b.TempDir(), "a"), schema, nil)
	if err != nil {
		b.Fatal(err)
	}
	e := codec.NewElems(schema.Form(schema.Shape))
	e.Fixed[0] = 1
	b.SetBytes(int64(len(e.Fixed)))
	b.ReportAllocs()
	for b.Loop() {
		if err := a.WriteRegion(context.Background(), grid.Whole(schema.Shape), e); err != nil {
			b.Fatal(err)
		}
	}
}
