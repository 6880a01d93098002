package zarrjson

import (
	"math"
	"strconv"
	"strings"

	"varve/grid"
)

// GridName is the name of a chunk grid.
type GridName string

// The chunk grids of the core specification and of zarr-extensions.
const (
	Regular     GridName = "regular"
	Rectilinear GridName = "rectilinear"
)

// ChunkGrid is a chunk grid as a document has it: without the extents, which are the
// array's shape.
//
//	{"name": "rectilinear", "configuration": {"kind": "inline",
//	  "chunk_shapes": [
//	    [31, 28, [30, 2]],     edges 31, 28, 30, 30
//	    10                     edges of 10, as many as the extent takes
//	  ]}}
//
// A list is written with runs of two and more as [size, count], singles bare. An
// integer for a whole axis leaves as one if it came as one.
type ChunkGrid struct {
	Name  GridName
	Sizes []grid.Sizes // for each axis: grid.Every for an integer, grid.RunLength for a list

	// Encoded, if not nil, is encoded_chunk_shapes: the sizes that chunks decode to,
	// where those are larger than what counts. A reader that does not know the field
	// decodes nonsense, so it is written only when asked for by name.
	Encoded []grid.Sizes
}

// RegularGrid is the grid of chunks of one shape.
func RegularGrid(chunkShape ...int64) ChunkGrid {
	c := ChunkGrid{Name: Regular, Sizes: make([]grid.Sizes, len(chunkShape))}
	for i, size := range chunkShape {
		c.Sizes[i] = grid.Every(size)
	}
	return c
}

// RectilinearGrid is the grid of the sizes given for each axis.
func RectilinearGrid(sizes ...grid.Sizes) ChunkGrid {
	return ChunkGrid{Name: Rectilinear, Sizes: sizes}
}

// Bind returns the grid of an array of the given shape.
func (c ChunkGrid) Bind(shape []int64) (*grid.Grid, error) {
	if len(c.Sizes) != len(shape) {
		return nil, wrong(c.field(), "%d axes; the shape has %d", len(c.Sizes), len(shape))
	}
	if c.Encoded != nil && len(c.Encoded) != len(shape) {
		return nil, wrong(encodedField, "%d axes; the shape has %d", len(c.Encoded), len(shape))
	}
	dims := make([]grid.Dimension, len(shape))
	for axis, extent := range shape {
		d, err := c.bindAxis(axis, extent)
		if err != nil {
			return nil, err
		}
		dims[axis] = d
	}
	g, err := grid.New(dims...)
	return g, at("shape", err)
}

const (
	shapesField  = "chunk_grid.configuration.chunk_shapes"
	encodedField = "chunk_grid.configuration.encoded_chunk_shapes"
)

func (c ChunkGrid) field() string {
	if c.Name == Regular {
		return "chunk_grid.configuration.chunk_shape"
	}
	return shapesField
}

func (c ChunkGrid) bindAxis(axis int, extent int64) (grid.Dimension, error) {
	sizes := c.Sizes[axis]
	if c.Name != Regular {
		if every, ok := sizes.RegularSize(); ok && every < 1 {
			return nil, wrong(index(c.field(), axis), "%d is not an integer of at least 1", every)
		}
	}
	d, err := sizes.Bind(extent)
	if err != nil {
		return nil, at(index(c.field(), axis), err)
	}
	if c.Encoded == nil {
		return d, nil
	}
	d, err = withCodecSizes(d, c.Encoded[axis])
	return d, at(index(encodedField, axis), err)
}

// withCodecSizes gives the edges of a dimension other codec sizes. It takes time by
// the run: no count is expanded.
func withCodecSizes(d grid.Dimension, encoded grid.Sizes) (grid.Dimension, error) {
	codec := encoded.Runs()
	if every, ok := encoded.RegularSize(); ok {
		if f, fixed := d.(grid.Fixed); fixed && (every == f.Size() || f.Cells() == 0 && every > f.Size()) {
			return d, nil
		}
		codec = []grid.Run{grid.Times(every, d.Cells())}
	}
	runs, err := grid.Zip(collect(grid.DataRuns(d.Runs())), codec)
	if err != nil {
		return nil, err
	}
	return grid.NewVarying(runs, d.Extent())
}

// GridForm is what to write of a grid.
type GridForm uint8

// The forms of a grid in a document.
const (
	AsRegular     GridForm = iota // "regular": every axis must have one size
	AsRectilinear                 // "rectilinear", every axis a list
	AsEncoded                     // the same with encoded_chunk_shapes, which few readers know
)

// maxRuns bounds what a repeated pattern is written as, since it takes no memory itself
// and may have more runs than memory holds.
const maxRuns = 1 << 22

func checkRuns(d grid.Dimension) error {
	if t, ok := d.(*grid.Tiled); ok {
		pattern := grid.SizesOf(t).Runs()
		edges, _, err := grid.Sum(pattern)
		if err != nil {
			return err
		}
		if t.Cells()/edges >= maxRuns/int64(len(pattern)) {
			return unsupported("", "more than %d runs of edges", maxRuns)
		}
	}
	return nil
}

// DescribeGrid returns what a document says of a grid. A grid with codec sizes of its
// own can be written AsEncoded only.
func DescribeGrid(g *grid.Grid, form GridForm) (ChunkGrid, error) {
	if form == AsRegular {
		shape, ok := g.ChunkShape()
		if !ok {
			return ChunkGrid{}, unsupported("chunk_grid", "an axis has edges of several sizes, which a regular grid cannot have")
		}
		return RegularGrid(shape...), nil
	}
	c := ChunkGrid{Name: Rectilinear, Sizes: make([]grid.Sizes, g.Rank())}
	if form == AsEncoded {
		c.Encoded = make([]grid.Sizes, g.Rank())
	}
	for axis := range g.Rank() {
		if err := c.describeAxis(axis, g.Dim(axis)); err != nil {
			return ChunkGrid{}, err
		}
	}
	return c, nil
}

func (c *ChunkGrid) describeAxis(axis int, d grid.Dimension) error {
	field := index(shapesField, axis)
	runs, err := listedRuns(d)
	if err != nil {
		return at(field, err)
	}
	data := collect(grid.DataRuns(each(runs)))
	c.Sizes[axis] = grid.RunLength(data...)
	codec := collect(grid.CodecRuns(each(runs)))
	if c.Encoded != nil {
		c.Encoded[axis] = grid.RunLength(codec...)
		return nil
	}
	for i := range codec {
		if len(codec) != len(data) || codec[i] != data[i] {
			return unsupported(field, "chunks decode to more than counts; write the grid with encoded_chunk_shapes, or rebuild them")
		}
	}
	return nil
}

// listedRuns returns the edges of a dimension for a list, which needs at least one.
func listedRuns(d grid.Dimension) ([]grid.Run, error) {
	if f, ok := d.(grid.Fixed); ok && f.Cells() == 0 {
		if f.Size() == 0 {
			return nil, unsupported("", "chunks of size 0 cannot be listed; write the grid as regular")
		}
		return []grid.Run{grid.Times(f.Size(), 1)}, nil
	}
	if err := checkRuns(d); err != nil {
		return nil, err
	}
	runs := collect(d.Runs())
	_, _, err := grid.Sum(runs)
	return runs, err
}

// For describes a grid in the form of c: by its name, with an integer for every axis
// that was one and still has one size. It is what becomes of c when its array is
// resized.
func (c ChunkGrid) For(g *grid.Grid) (ChunkGrid, error) {
	form := AsRegular
	switch {
	case c.Encoded != nil:
		form = AsEncoded
	case c.Name == Rectilinear:
		form = AsRectilinear
	}
	described, err := DescribeGrid(g, form)
	if err != nil || c.Name == Regular {
		return described, err
	}
	for axis := range min(len(c.Sizes), g.Rank()) {
		_, bare := c.Sizes[axis].RegularSize()
		if f, fixed := g.Dim(axis).(grid.Fixed); bare && fixed && f.Size() > 0 {
			described.Sizes[axis] = grid.Every(f.Size())
			if described.Encoded != nil {
				described.Encoded[axis] = grid.Every(f.Size()) // a Fixed axis has no padding
			}
		}
	}
	return described, nil
}

func chunkGrid(v value) (ChunkGrid, error) {
	name, config, err := v.named()
	if err != nil {
		return ChunkGrid{}, err
	}
	switch GridName(name) {
	case Regular:
		return regularGrid(config)
	case Rectilinear:
		return rectilinearGrid(config)
	}
	return ChunkGrid{}, unsupported(v.path, `%q is not a chunk grid that varve knows; it knows "regular" and "rectilinear"`, abbreviate(name))
}

func regularGrid(config *object) (ChunkGrid, error) {
	v, err := config.need("chunk_shape")
	if err != nil {
		return ChunkGrid{}, err
	}
	if !v.is('[') {
		return ChunkGrid{}, v.refuse("a list of integers")
	}
	c := ChunkGrid{Name: Regular, Sizes: []grid.Sizes{}}
	for i, e := range v.elements() {
		e.path = index(v.path, i)
		if e.is('[') {
			return ChunkGrid{}, wrong(e.path, `%s is a list of edges under the name "regular", which zarr-python 3.2 wrote; it belongs under the name "rectilinear"`, abbreviate(e.raw))
		}
		size, err := e.whole(0)
		if err != nil {
			return ChunkGrid{}, err
		}
		c.Sizes = append(c.Sizes, grid.Every(size))
	}
	return c, nil
}

// rectilinearGrid drops configuration that it does not know, as zarr-python does.
func rectilinearGrid(config *object) (ChunkGrid, error) {
	kind, err := config.need("kind")
	if err != nil {
		return ChunkGrid{}, err
	}
	if string(kind.raw) != `"inline"` {
		return ChunkGrid{}, kind.refuse(`"inline"`)
	}
	v, err := config.need("chunk_shapes")
	if err != nil {
		return ChunkGrid{}, err
	}
	c := ChunkGrid{Name: Rectilinear}
	if c.Sizes, err = axes(v); err != nil {
		return ChunkGrid{}, err
	}
	if v, ok := config.take("encoded_chunk_shapes"); ok {
		if c.Encoded, err = axes(v); err != nil {
			return ChunkGrid{}, err
		}
	}
	return c, nil
}

func axes(v value) ([]grid.Sizes, error) {
	if !v.is('[') {
		return nil, v.refuse("a list with an integer or a list of edges for each axis")
	}
	sizes := []grid.Sizes{}
	for i, e := range v.elements() {
		e.path = index(v.path, i)
		if e.is('[') {
			runs, err := edges(e)
			if err != nil {
				return nil, err
			}
			sizes = append(sizes, grid.RunLength(runs...))
			continue
		}
		size, err := e.whole(1)
		if err != nil {
			return nil, err
		}
		sizes = append(sizes, grid.Every(size))
	}
	return sizes, nil
}

// edges reads a list of sizes and [size, count] pairs into merged runs.
func edges(v value) ([]grid.Run, error) {
	var runs []grid.Run
	for i, e := range v.elements() {
		run, ok := edge(e)
		if !ok {
			e.path = index(v.path, i)
			return nil, e.refuse("a size, or [size, count], of integers from 1 to " + strconv.FormatInt(math.MaxInt64, 10))
		}
		runs = appendRun(runs, run)
	}
	if _, _, err := grid.Sum(runs); err != nil {
		return nil, at(v.path, err)
	}
	return runs, nil
}

// appendRun is an append that merges, so that a list takes memory by the run.
func appendRun(runs []grid.Run, run grid.Run) []grid.Run {
	last := len(runs) - 1
	if last >= 0 && runs[last].Edge == run.Edge && run.Count <= math.MaxInt64-runs[last].Count {
		runs[last].Count += run.Count
		return runs
	}
	return append(runs, run)
}

func edge(v value) (grid.Run, bool) {
	if !v.is('[') {
		size, ok := edgeSize(v.raw)
		return grid.Times(size, 1), ok
	}
	var size, count int64
	ok := true
	n := 0
	for i, e := range v.elements() {
		switch i {
		case 0:
			size, ok = edgeSize(e.raw)
		case 1:
			var err error
			count, err = e.whole(1)
			ok = ok && err == nil
		}
		n++
	}
	return grid.Times(size, count), ok && n == 2
}

// edgeSize reads a size in a list, which may be spelt 10.0.
func edgeSize(raw []byte) (int64, bool) {
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err == nil {
		return n, n >= 1
	}
	if !strings.ContainsAny(string(raw), ".eE") || !isNumber(raw) {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	return int64(f), err == nil && f == math.Trunc(f) && 1 <= f && f < math.MaxInt64
}
