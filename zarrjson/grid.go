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

// ChunkGrid is a chunk grid as in a document: without the extents, which are the array's
// shape.
//
//	{"name": "rectilinear", "configuration": {"kind": "inline",
//	  "chunk_shapes": [
//	    [31, 28, [30, 2]],     edges 31, 28, 30, 30
//	    10                     edges of 10, as many as the extent takes
//	  ]}}
//
// In a list, runs of two or more are written as [size, count], single edges as size. An
// integer for a whole axis is written as an integer if it was read as one.
type ChunkGrid struct {
	Name  GridName
	Sizes []grid.Sizes // for each axis: grid.Every for an integer, grid.RunLength for a list

	// Encoded, if not nil, is the field encoded_chunk_shapes: the codec sizes of chunks
	// that decode to more than their data. A reader that does not know the field decodes
	// wrong values, so it is written only if the caller asks for it.
	Encoded []grid.Sizes
}

// RegularGrid returns the grid of chunks of one shape.
func RegularGrid(chunkShape ...int64) ChunkGrid {
	c := ChunkGrid{Name: Regular, Sizes: make([]grid.Sizes, len(chunkShape))}
	for i, size := range chunkShape {
		c.Sizes[i] = grid.Every(size)
	}
	return c
}

// RectilinearGrid returns the grid with the given sizes for each axis.
func RectilinearGrid(sizes ...grid.Sizes) ChunkGrid {
	return ChunkGrid{Name: Rectilinear, Sizes: sizes}
}

// Bind returns the grid of an array of the given shape.
func (c ChunkGrid) Bind(shape []int64) (*grid.Grid, error) {
	if len(c.Sizes) != len(shape) {
		return nil, corruptError(c.field(), "has %d axes, but the shape has %d", len(c.Sizes), len(shape))
	}
	if c.Encoded != nil && len(c.Encoded) != len(shape) {
		return nil, corruptError(encodedField, "has %d axes, but the shape has %d", len(c.Encoded), len(shape))
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
	return g, atPath("shape", err)
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
		// Only a regular grid may have chunks of size 0, and only along an axis of extent
		// 0.
		if every, ok := sizes.RegularSize(); ok && every < 1 {
			return nil, corruptError(indexPath(c.field(), axis), "%d is not an integer of at least 1", every)
		}
	}
	d, err := sizes.Bind(extent)
	if err != nil {
		return nil, atPath(indexPath(c.field(), axis), err)
	}
	if c.Encoded == nil {
		return d, nil
	}
	d, err = withCodecSizes(d, c.Encoded[axis])
	return d, atPath(indexPath(encodedField, axis), err)
}

// withCodecSizes returns a dimension with the same data sizes and other codec sizes. It
// takes one step for each run, and expands no count.
func withCodecSizes(d grid.Dimension, encoded grid.Sizes) (grid.Dimension, error) {
	codec := encoded.Runs()
	if every, ok := encoded.RegularSize(); ok {
		// One codec size that equals the chunk size is no padding. The dimension stays
		// Fixed, and so does one without cells, whose padding shows only when it grows.
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

// GridForm is a way to write a grid to a document.
type GridForm uint8

// The forms of a grid in a document.
const (
	AsRegular     GridForm = iota // "regular": every axis must have one size
	AsRectilinear                 // "rectilinear", every axis a list
	AsEncoded                     // "rectilinear" with encoded_chunk_shapes, which few readers know
)

// maxRuns is the largest number of runs of a list, and of those written for a repeating
// pattern. A pattern takes little memory itself, but may repeat more often than memory can
// hold.
const maxRuns = 1 << 22

// checkRuns returns an error if a dimension has more than maxRuns runs.
func checkRuns(d grid.Dimension) error {
	if t, ok := d.(*grid.Tiled); ok {
		pattern := grid.SizesOf(t).Runs()
		edges, _, err := grid.Sum(pattern)
		if err != nil {
			return err
		}
		// Compare quotients: periods times runs may overflow.
		if t.Cells()/edges >= maxRuns/int64(len(pattern)) {
			return unsupportedError("", "has more than %d runs of edges", maxRuns)
		}
	}
	return nil
}

// DescribeGrid returns the document form of a grid. A grid with padded chunks can only be
// written AsEncoded.
func DescribeGrid(g *grid.Grid, form GridForm) (ChunkGrid, error) {
	if form == AsRegular {
		shape, ok := g.ChunkShape()
		if !ok {
			return ChunkGrid{}, unsupportedError("chunk_grid", "an axis has edges of several sizes; use the rectilinear grid")
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
	field := indexPath(shapesField, axis)
	runs, err := runsForList(d)
	if err != nil {
		return atPath(field, err)
	}
	data := collect(grid.DataRuns(each(runs)))
	c.Sizes[axis] = grid.RunLength(data...)
	codec := collect(grid.CodecRuns(each(runs)))
	if c.Encoded != nil {
		c.Encoded[axis] = grid.RunLength(codec...)
		return nil
	}
	// Equal runs mean that no chunk is padded.
	for i := range codec {
		if len(codec) != len(data) || codec[i] != data[i] {
			return unsupportedError(field, "chunks are padded: they decode to more than their data; write encoded_chunk_shapes, or re-encode the chunks")
		}
	}
	return nil
}

// runsForList returns the edges of a dimension as a list, which needs at least one.
func runsForList(d grid.Dimension) ([]grid.Run, error) {
	if f, ok := d.(grid.Fixed); ok && f.Cells() == 0 {
		if f.Size() == 0 {
			return nil, unsupportedError("", "chunks of size 0 cannot be listed; write the grid as regular")
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

// WithGrid returns the document form of another grid in the style of c: under c's name,
// and with an integer for every axis that had one and still has one size. Use it when an
// array is resized.
func (c ChunkGrid) WithGrid(g *grid.Grid) (ChunkGrid, error) {
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
		_, wasInteger := c.Sizes[axis].RegularSize()
		if f, fixed := g.Dim(axis).(grid.Fixed); wasInteger && fixed && f.Size() > 0 {
			described.Sizes[axis] = grid.Every(f.Size())
			if described.Encoded != nil {
				described.Encoded[axis] = grid.Every(f.Size()) // a Fixed axis has no padding
			}
		}
	}
	return described, nil
}

func readChunkGrid(v value) (ChunkGrid, error) {
	name, config, err := v.readExtension()
	if err != nil {
		return ChunkGrid{}, err
	}
	switch GridName(name) {
	case Regular:
		return readRegularGrid(config)
	case Rectilinear:
		return readRectilinearGrid(config)
	}
	return ChunkGrid{}, unsupportedError(v.path, `%q is not a known chunk grid; varve reads "regular" and "rectilinear"`, abbreviate(name))
}

func readRegularGrid(config *object) (ChunkGrid, error) {
	v, err := config.need("chunk_shape")
	if err != nil {
		return ChunkGrid{}, err
	}
	if !v.startsWith('[') {
		return ChunkGrid{}, v.refuse("a list of integers")
	}
	c := ChunkGrid{Name: Regular, Sizes: []grid.Sizes{}}
	for i, e := range v.elements() {
		e.path = indexPath(v.path, i)
		if e.startsWith('[') {
			return ChunkGrid{}, corruptError(e.path, `%s is a list of edges in a "regular" grid, which zarr-python 3.2 wrote; rename the grid to "rectilinear"`, abbreviate(e.raw))
		}
		size, err := e.readInteger(0)
		if err != nil {
			return ChunkGrid{}, err
		}
		c.Sizes = append(c.Sizes, grid.Every(size))
	}
	return c, nil
}

// readRectilinearGrid ignores unknown configuration, as zarr-python does.
func readRectilinearGrid(config *object) (ChunkGrid, error) {
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
	if c.Sizes, err = readAxes(v); err != nil {
		return ChunkGrid{}, err
	}
	if v, ok := config.take("encoded_chunk_shapes"); ok {
		if c.Encoded, err = readAxes(v); err != nil {
			return ChunkGrid{}, err
		}
	}
	return c, nil
}

func readAxes(v value) ([]grid.Sizes, error) {
	if !v.startsWith('[') {
		return nil, v.refuse("a list with an integer or a list of edges for each axis")
	}
	sizes := []grid.Sizes{}
	for i, e := range v.elements() {
		e.path = indexPath(v.path, i)
		if e.startsWith('[') {
			runs, err := readEdges(e)
			if err != nil {
				return nil, err
			}
			sizes = append(sizes, grid.RunLength(runs...))
			continue
		}
		size, err := e.readInteger(1)
		if err != nil {
			return nil, err
		}
		sizes = append(sizes, grid.Every(size))
	}
	return sizes, nil
}

// readEdges reads a list of sizes and [size, count] pairs as merged runs.
func readEdges(v value) ([]grid.Run, error) {
	var runs []grid.Run
	for i, e := range v.elements() {
		run, ok := readEdge(e)
		if !ok {
			e.path = indexPath(v.path, i)
			return nil, e.refuse("a size, or [size, count], of integers from 1 to " + strconv.FormatInt(math.MaxInt64, 10))
		}
		if runs = appendRun(runs, run); len(runs) > maxRuns {
			return nil, unsupportedError(v.path, "has more than %d runs of edges", maxRuns)
		}
	}
	if _, _, err := grid.Sum(runs); err != nil {
		return nil, atPath(v.path, err)
	}
	return runs, nil
}

// appendRun appends a run, merged with the last one if possible: a list takes memory for
// its runs, not for its edges.
func appendRun(runs []grid.Run, run grid.Run) []grid.Run {
	last := len(runs) - 1
	if last >= 0 && runs[last].Edge == run.Edge && run.Count <= math.MaxInt64-runs[last].Count {
		runs[last].Count += run.Count
		return runs
	}
	return append(runs, run)
}

func readEdge(v value) (grid.Run, bool) {
	if !v.startsWith('[') {
		size, ok := readEdgeSize(v.raw)
		return grid.Times(size, 1), ok
	}
	var size, count int64
	ok := true
	n := 0
	for i, e := range v.elements() {
		switch i {
		case 0:
			size, ok = readEdgeSize(e.raw)
		case 1:
			var err error
			count, err = e.readInteger(1)
			ok = ok && err == nil
		}
		n++
	}
	return grid.Times(size, count), ok && n == 2
}

// readEdgeSize parses a size in a list, which may be written as 10.0.
func readEdgeSize(raw []byte) (int64, bool) {
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err == nil {
		return n, n >= 1
	}
	if !strings.ContainsAny(string(raw), ".eE") || !isNumber(raw) {
		return 0, false
	}
	// math.MaxInt64 rounds up to 2^63 as a float64, so the comparison has to be
	// exclusive.
	f, err := strconv.ParseFloat(string(raw), 64)
	return int64(f), err == nil && f == math.Trunc(f) && 1 <= f && f < math.MaxInt64
}
