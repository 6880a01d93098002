package serve

import (
	"context"
	"fmt"
	"path"
	"slices"

	"varve/codec"
	"varve/grid"
	"varve/manifest/store"
	"varve/zarrjson"
)

// newRegular returns the view for clients that know regular grids only. Arrays that have one
// are as they are.
func newRegular(nodes []node, tag string, keep once) (*view, error) {
	regular := make([]node, 0, len(nodes))
	var left []string
	for _, n := range nodes {
		if n.array != nil && n.array.Face().ChunkGrid.Name != zarrjson.Regular {
			cut, err := newRegridded(n.array, keep)
			if err != nil {
				left = append(left, fmt.Sprintf("/%s: %v", n.path, err))
				continue
			}
			n.array = cut
		}
		regular = append(regular, n)
	}
	v, err := newV3(regular, path.Join(tag, "regular"))
	if err != nil {
		return nil, err
	}
	v.left = left
	return v, nil
}

// regridded is an array whose chunks are cut anew.
type regridded struct {
	array
	face     *zarrjson.Array
	grid     *grid.Grid
	pipeline *codec.Pipeline
	once     once
}

func newRegridded(a array, keep once) (*regridded, error) {
	g, face := a.Grid(), *a.Face()
	shape := make([]int64, g.Rank())
	for axis := range shape {
		shape[axis] = commonEdge(g.Dim(axis))
	}
	p, err := codec.New(face.Codecs, face.Form(shape))
	if err != nil {
		return nil, fmt.Errorf("chunks of %d: %w", shape, err)
	}
	face.ChunkGrid = zarrjson.RegularGrid(shape...)
	cut, err := grid.Regular(g.Shape(), shape)
	if err != nil {
		return nil, err
	}
	return &regridded{a, &face, cut, p, keep}, nil
}

// commonEdge returns the length of chunks that most of an axis is in.
func commonEdge(d grid.Dimension) int64 {
	share := map[int64]int64{}
	best := int64(1)
	for run := range d.Runs() {
		share[run.Data] += run.Data * run.Count
		if share[run.Data] > share[best] {
			best = run.Data
		}
	}
	return min(best, max(d.Extent(), 1))
}

func (a *regridded) Face() *zarrjson.Array { return a.face }
func (a *regridded) Grid() *grid.Grid      { return a.grid }

func (a *regridded) Pipeline([]int64) (*codec.Pipeline, error) { return a.pipeline, nil }

// Locate finds chunks to be rebuilt, and those missing that meet missing ones only.
func (a *regridded) Locate(ctx context.Context, coords []int64) (store.Location, error) {
	loc := store.Location{Coords: slices.Clone(coords), Kind: store.Missing}
	c, ok := a.grid.Chunk(coords)
	if !ok {
		return loc, errNoKey
	}
	chunks, err := a.array.Grid().Meeting(c.Region)
	if err != nil {
		return loc, err
	}
	for w := newWalk(chunks); w.more; w.next() {
		under, err := a.array.Locate(ctx, w.at)
		if err != nil {
			return loc, err
		}
		if under.Kind != store.Missing {
			loc.Kind = store.Rebuilt
			break
		}
	}
	return loc, nil
}

// Chunk returns a chunk, which is made once for all who ask for it at a time.
func (a *regridded) Chunk(ctx context.Context, coords []int64) ([]byte, error) {
	c, ok := a.grid.Chunk(coords)
	if !ok {
		return nil, errNoKey
	}
	number, _ := a.grid.Number(coords)
	return a.once(ctx, a, number, func() ([]byte, error) { return a.make(ctx, &c) })
}

// make reads and encodes a chunk. What reaches over the array's end is fill.
func (a *regridded) make(ctx context.Context, c *grid.Chunk) ([]byte, error) {
	form := a.pipeline.Form()
	whole := codec.NewElems(form)
	if slices.Equal(c.Shape, form.Shape) {
		if err := a.ReadRegion(ctx, c.Region, whole); err != nil {
			return nil, err
		}
		return a.pipeline.Encode([]byte{}, whole)
	}
	whole.SetFill(form)
	partial := form
	partial.Shape = c.Shape
	part := codec.NewElems(partial)
	if err := a.ReadRegion(ctx, c.Region, part); err != nil {
		return nil, err
	}
	if err := place(whole, part, grid.Region{Origin: c.Origin, Shape: form.Shape}, c.Region, form.Type); err != nil {
		return nil, err
	}
	return a.pipeline.Encode([]byte{}, whole)
}

// place copies the elements of a region into those of a larger one.
func place(dst, src codec.Elems, to, from grid.Region, t codec.Type) error {
	if t.Varies() {
		return grid.Copy(grid.Window[[]byte]{Data: dst.Var, Region: to}, grid.Window[[]byte]{Data: src.Var, Region: from}, from, 1)
	}
	return grid.Copy(grid.Window[byte]{Data: dst.Fixed, Region: to}, grid.Window[byte]{Data: src.Fixed, Region: from}, from, int64(t.Size))
}

// walk goes through the coordinates of a box, in C order.
type walk struct {
	box  grid.Region
	at   []int64
	more bool
}

func newWalk(box grid.Region) *walk {
	return &walk{box, slices.Clone(box.Origin), !box.IsEmpty()}
}

func (w *walk) next() {
	for axis := len(w.at) - 1; axis >= 0; axis-- {
		if w.at[axis]++; w.at[axis] < w.box.End(axis) {
			return
		}
		w.at[axis] = w.box.Origin[axis]
	}
	w.more = false
}
