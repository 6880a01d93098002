package zarrstore

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"

	"varve/codec"
	"varve/grid"
	"varve/manifest/internal/home"
	"varve/readers/source/atomicfile"
)

// Growth is the growth policy of one axis.
type Growth struct {
	Axis   int
	Policy grid.Growth
}

// EdgesOf adds edges of the given lengths to an axis.
func EdgesOf(axis int, sizes ...int64) Growth {
	return Growth{axis, grid.Append(grid.Compress(sizes...)...)}
}

// Resize gives the array another shape. New elements have the fill value.
//
// An axis that grows past its declared edges gets edges by its growth policy: the given one,
// or the one that the array keeps (see SetGrowth), or grid.Repeat. A regular grid becomes
// rectilinear if the policy adds edges of another length.
//
// Chunks that are outside afterwards are deleted. An edge that the array no longer fills
// stays. Resize does not change the consolidated metadata of a group.
func (a *Array) Resize(ctx context.Context, shape []int64, growth ...Growth) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	old := a.form.grid.Shape()
	if len(shape) != len(old) {
		return fmt.Errorf("%s: shape %v for an array of %d axes", a.files.Name(""), shape, len(old))
	}
	least := slices.Clone(shape)
	for axis := range least {
		least[axis] = min(least[axis], old[axis])
	}
	grown, err := a.form.grow(shape, growth)
	if err != nil {
		return fmt.Errorf("%s: %w", a.files.Name(""), err)
	}
	if !slices.Equal(least, old) {
		if err := a.shrink(ctx, least); err != nil {
			return err
		}
	}
	if slices.Equal(least, shape) {
		return nil
	}
	if err := a.uncover(ctx, grown); err != nil {
		return err
	}
	return a.become(ctx, grown)
}

// grow returns the form with another shape.
func (f *form) grow(shape []int64, growth []Growth) (*form, error) {
	policies, err := f.policies(growth)
	if err != nil {
		return nil, err
	}
	g, err := f.grid.Resize(shape, policies...)
	if err != nil {
		return nil, err
	}
	return f.resized(g)
}

// policies returns the growth policy of each axis: the given one, or the one that is kept.
func (f *form) policies(growth []Growth) ([]grid.Growth, error) {
	policies, err := f.growth()
	if err != nil {
		return nil, err
	}
	seen := map[int]bool{}
	for _, g := range growth {
		if g.Axis < 0 || g.Axis >= len(policies) {
			return nil, fmt.Errorf("growth policy of axis %d: there are %d axes", g.Axis, len(policies))
		}
		if seen[g.Axis] {
			return nil, fmt.Errorf("two growth policies of axis %d", g.Axis)
		}
		seen[g.Axis], policies[g.Axis] = true, g.Policy
	}
	return policies, nil
}

// growth returns the growth policies that the document keeps. Format 2 keeps none.
func (f *form) growth() ([]grid.Growth, error) {
	if f.v2 != nil {
		return make([]grid.Growth, len(f.v2.Shape)), nil
	}
	return f.schema.Growth()
}

// Growth returns the growth policies that the array keeps, one for each axis.
func (a *Array) Growth() ([]grid.Growth, error) {
	f := a.now()
	growth, err := f.growth()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", a.files.Name(""), err)
	}
	return growth, nil
}

// SetGrowth keeps growth policies with the array, in its document, for each later Resize and
// Append of varve. Other programs ignore and keep them. Axes that are not given keep their
// policy. Edges of a list become edges past the extent; growth past them is an error.
func (a *Array) SetGrowth(ctx context.Context, growth ...Growth) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	f, err := a.form.withGrowth(growth)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("%s: %w", a.files.Name(""), err)
	}
	return a.become(ctx, f)
}

// withGrowth returns the form that keeps growth policies.
func (f *form) withGrowth(growth []Growth) (*form, error) {
	if f.v2 != nil {
		return nil, fmt.Errorf("growth policies in format 2: %w; all its chunks have one length", errors.ErrUnsupported)
	}
	policies, err := f.policies(growth)
	if err != nil {
		return nil, err
	}
	dims := make([]grid.Dimension, len(policies))
	for axis, p := range policies {
		if err := p.Check(); err != nil {
			return nil, fmt.Errorf("axis %d: %w", axis, err)
		}
		dims[axis] = f.grid.Dim(axis)
		if name, _, edges := p.Policy(); name == grid.PolicyList && len(edges) > 0 {
			if dims[axis], err = grid.Declare(dims[axis], edges...); err != nil {
				return nil, fmt.Errorf("axis %d: %w", axis, err)
			}
			policies[axis] = grid.Append()
		}
	}
	g, err := grid.New(dims...)
	if err != nil {
		return nil, err
	}
	out, err := f.resized(g)
	if err != nil {
		return nil, err
	}
	// resized made a copy of the schema.
	if err := out.schema.SetGrowth(policies); err != nil {
		return nil, err
	}
	return out, out.bind()
}

func (a *Array) become(ctx context.Context, f *form) error {
	if err := a.publish(ctx, f); err != nil {
		return err
	}
	a.form = *f
	return nil
}

// shrink gives the array a smaller shape, and deletes the chunks that are outside of it.
func (a *Array) shrink(ctx context.Context, shape []int64) error {
	f, err := a.form.grow(shape, nil)
	if err == nil {
		err = a.become(ctx, f)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", a.files.Name(""), err)
	}
	return a.removeOutside(ctx)
}

func (a *Array) removeOutside(ctx context.Context) error {
	return a.sweep(ctx, func(coords []int64) bool { _, ok := a.form.grid.Number(coords); return ok })
}

// sweep removes drafts and the chunks that keep does not report.
func (a *Array) sweep(ctx context.Context, keep func(coords []int64) bool) error {
	coords := make([]int64, a.form.grid.Rank())
	return home.RemoveAll(ctx, a.files, func(yield func(string, error) bool) {
		for key, err := range a.files.Walk(ctx, "") {
			chunk := err == nil && a.form.schema.Keys.Parse(key, coords)
			isLeft := chunk && !keep(coords) || !chunk && atomicfile.IsDraft(path.Base(key))
			if (err != nil || isLeft) && !yield(key, err) {
				return
			}
		}
	})
}

// uncover prepares the region that the array is about to grow over: it deletes chunk files outside of
// the array, and sets elements of border chunks that are past the extent to the fill value.
func (a *Array) uncover(ctx context.Context, grown *form) error {
	if err := a.removeOutside(ctx); err != nil {
		return err
	}
	old := a.form.grid.Shape()
	for axis, now := range grown.grid.Shape() {
		if now <= old[axis] || old[axis] == 0 {
			continue
		}
		d := grown.grid.Dim(axis)
		last, err := d.Find(old[axis] - 1)
		if err != nil {
			return err
		}
		_, end, _ := grid.Bounds(d, last)
		r := grid.Whole(grown.grid.Shape()).Clone()
		r.Origin[axis], r.Shape[axis] = old[axis], end-old[axis]
		if r.IsEmpty() {
			continue
		}
		if err := a.clear(ctx, grown, r); err != nil {
			return err
		}
	}
	return nil
}

// clear sets the elements of a region to the fill value. It changes only stored chunks with other values.
func (a *Array) clear(ctx context.Context, f *form, r grid.Region) error {
	w, err := f.grid.WalkRegion(r)
	if err != nil {
		return err
	}
	for w.Next() {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := a.clearPart(ctx, f.part(w, r)); err != nil {
			return fmt.Errorf("%s: %w", a.files.Name(a.key(w.Coords)), err)
		}
	}
	return nil
}

func (a *Array) clearPart(ctx context.Context, p *part) error {
	old, err := a.files.readChunk(ctx, a.key(p.coords))
	if err != nil || old == nil {
		return err
	}
	elems, form, err := p.newElems()
	if err != nil {
		return err
	}
	pipeline, err := p.pipeline(p.chunk.Codec)
	if err != nil {
		return err
	}
	if err := pipeline.DecodeRegion(ctx, codec.Memory(old), p.within, elems); err != nil {
		return err
	}
	if form.IsFill(elems) {
		return nil
	}
	elems.SetFill(form)
	b, err := pipeline.EncodeRegion(nil, old, p.within, elems)
	if err != nil {
		return err
	}
	return a.put(ctx, p, b)
}

// Append makes an axis longer by n and writes src to the new elements. src has the array's lengths
// along the other axes. The axis grows by the policies that Resize describes. The document is written
// last, so readers see the old array until all chunks are complete.
func (a *Array) Append(ctx context.Context, axis int, n int64, src codec.Elems, growth ...Growth) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	old := a.form.grid.Shape()
	if axis < 0 || axis >= len(old) || n < 0 {
		return fmt.Errorf("%s: %d appended along axis %d of %d", a.files.Name(""), n, axis, len(old))
	}
	shape := slices.Clone(old)
	shape[axis] += n
	grown, err := a.form.grow(shape, growth)
	if err != nil {
		return fmt.Errorf("%s: %w", a.files.Name(""), err)
	}
	r := grid.Region{Origin: make([]int64, len(shape)), Shape: slices.Clone(shape)}
	r.Origin[axis], r.Shape[axis] = old[axis], n
	if err := a.each(ctx, grown, r, src, a.writePart); err != nil {
		return err
	}
	return a.become(ctx, grown)
}
