package tiff

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"varve/codec"
	"varve/grid"
	"varve/readers"
	"varve/readers/internal/attribute"
	"varve/readers/internal/chunks"
	"varve/readers/source"
)

// The names of variables and of the dimension of pages. xarray's rasterio engine calls the pixels so too.
const (
	pixels   = "band_data"
	maskName = "mask"
	pageAxis = "page"
)

// addStack adds the variables of pages that are alike, and those of their overviews and masks. whole is the image that
// overviews belong to, or nil.
func (b *builder) addStack(ctx context.Context, g *readers.Group, pages []*page, whole *image) error {
	first := pages[0]
	axes := []axis(nil)
	if len(pages) > 1 {
		var err error
		if axes, err = first.stackAxes(ctx, len(pages)); err != nil {
			return err
		}
	}
	if err := b.addBands(ctx, g, pages, axes, whole); err != nil {
		return err
	}
	if err := b.addTexts(ctx, g, first); err != nil {
		return err
	}
	if first.mask != nil {
		masks := make([]*page, 0, len(pages))
		for _, p := range pages {
			masks = append(masks, p.mask)
		}
		if _, err := b.addPixels(ctx, g, maskName, masks, axes); err != nil {
			return err
		}
	}
	for k := range first.overviews {
		level := make([]*page, 0, len(pages))
		for _, p := range pages {
			p.overviews[k].meaning.inherit(p.meaning)
			level = append(level, p.overviews[k])
		}
		if err := b.addStack(ctx, b.group(g, fmt.Sprint("overview_", k+1)), level, first.image); err != nil {
			return err
		}
	}
	return nil
}

// addBands adds the variable of pages that are alike, or a variable for each band if bands differ in scale, offset or value for
// no data.
func (b *builder) addBands(ctx context.Context, g *readers.Group, pages []*page, axes []axis, whole *image) error {
	first := pages[0]
	if first.bandAxis() < 0 || first.meaning.isUniform() {
		return b.addBand(ctx, g, b.name, pages, axes, whole)
	}
	name := b.name
	if name == pixels {
		name = "band" // as rioxarray names them
	}
	for k := range first.samples {
		ofBand := make([]*page, len(pages))
		for i, p := range pages {
			one, err := p.ofBand(k)
			if err != nil {
				return err
			}
			one.meaning = p.meaning.of(k)
			ofBand[i] = one
		}
		if err := b.addBand(ctx, g, fmt.Sprint(name, "_", k+1), ofBand, axes, whole); err != nil {
			return err
		}
	}
	return nil
}

// addBand adds a variable of pages with its attributes and coordinates.
func (b *builder) addBand(ctx context.Context, g *readers.Group, name string, pages []*page, axes []axis, whole *image) error {
	v, err := b.addPixels(ctx, g, name, pages, axes)
	if err != nil || v == nil {
		return err
	}
	v.Attributes = append(v.Attributes, bandAttributes(pages[0].meaning.bands)...)
	return b.addCoordinates(ctx, g, v, pages[0].image, whole)
}

// axis is a dimension that pages are along.
type axis struct {
	name   string
	length int
}

// addPixels adds the variable of pages that are alike. It returns nil if it can only be reported.
func (b *builder) addPixels(ctx context.Context, g *readers.Group, name string, pages []*page, axes []axis) (*readers.Variable, error) {
	first := pages[0]
	v := &readers.Variable{Name: name, Path: join(g.Path, name), Type: first.typ, Storage: first.storage}
	for _, a := range axes {
		b.addAxis(g, v, a.name, uint64(a.length))
	}
	shape, names := first.shape()
	for k, n := range shape {
		b.addAxis(g, v, names[k], n)
	}
	if v.Storage.Undecodable == nil {
		v.Storage.Pipeline = first.transposed(v.Storage.Pipeline, len(axes))
	}
	if len(axes) > 0 && v.Storage.Undecodable == nil {
		var err error
		if v.Storage, err = stackStorage(v, pages, axes); err != nil {
			b.addProblem(v.Path, b.locate(v.Path, err))
			return nil, nil
		}
	}
	setMissing(v, first.meaning.nodata)
	v.ReadAll = func(ctx context.Context, limit uint64) (readers.Value, error) {
		value, err := readAll(ctx, b.src, first, v, limit)
		if err != nil {
			err = b.locate(v.Path, err)
		}
		return value, err
	}
	g.Variables = append(g.Variables, v)
	return v, nil
}

// readAll reads the pixels of an image, which may be in another file.
func readAll(ctx context.Context, src *source.Source, p *page, v *readers.Variable, limit uint64) (value readers.Value, err error) {
	if p.reopen == nil {
		return chunks.ReadAll(ctx, src, v, limit)
	}
	if src, err = p.reopen(ctx); err != nil {
		return value, err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	value, err = chunks.ReadAll(ctx, src, v, limit)
	value.Sources = []string{src.Name()}
	return value, err
}

// addAxis adds an axis to a variable, and its dimension to the group unless it has it.
func (b *builder) addAxis(g *readers.Group, v *readers.Variable, name string, n uint64) {
	var dim *readers.Dimension
	for _, d := range g.Dimensions {
		if d.Name == name && d.Length == n {
			dim = d
		}
	}
	if dim == nil {
		dim = &readers.Dimension{Name: name, Path: join(g.Path, name), Length: n}
		g.Dimensions = append(g.Dimensions, dim)
	}
	v.Dims, v.Shape, v.MaxShape = append(v.Dims, dim), append(v.Shape, n), append(v.MaxShape, n)
}

// stackStorage returns the storage of pages along the first axes of a variable.
func stackStorage(v *readers.Variable, pages []*page, axes []axis) (readers.Storage, error) {
	s := asChunked(v.Storage, v.Shape[len(axes):])
	ones := make([]uint64, len(axes))
	for k := range ones {
		ones[k] = 1
	}
	switch {
	case s.Layout == readers.Unallocated:
		return s, nil
	case s.Grid != nil:
		dims := make([]grid.Dimension, 0, len(v.Shape))
		for _, a := range axes {
			d, err := grid.NewFixed(1, int64(a.length))
			if err != nil {
				return s, readers.Corruptf("%w", err)
			}
			dims = append(dims, d)
		}
		for k := range s.Grid.Rank() {
			dims = append(dims, s.Grid.Dim(k))
		}
		g, err := grid.New(dims...)
		if err != nil {
			return s, readers.Corruptf("%w", err)
		}
		s.Grid = g
	default:
		s.ChunkShape = append(ones, s.ChunkShape...)
	}
	s.ReadIndex = func(ctx context.Context) iter.Seq2[*readers.Ref, error] {
		return func(yield func(*readers.Ref, error) bool) {
			for i, p := range pages {
				if !p.yieldRefs(ctx, i, axes, yield) {
					return
				}
			}
		}
	}
	return s, nil
}

// yieldRefs yields the refs of page i of a stack.
func (p *page) yieldRefs(ctx context.Context, i int, axes []axis, yield func(*readers.Ref, error) bool) bool {
	index := make([]uint64, len(axes))
	for k := len(axes) - 1; k >= 0; k-- {
		index[k], i = uint64(i%axes[k].length), i/axes[k].length
	}
	ref := readers.Ref{}
	shape, _ := p.shape()
	storage := asChunked(p.storage, shape)
	for r, err := range storage.Refs(ctx) {
		if err != nil {
			return yield(nil, err)
		}
		own := r.Index
		ref = *r
		ref.Index = append(append(make([]uint64, 0, len(index)+len(own)), index...), own...)
		if !yield(&ref, nil) {
			return false
		}
	}
	return true
}

// setMissing sets the value of pixels that are not stored, and of those without data: that of the first band, as all have the same.
func setMissing(v *readers.Variable, nodata []string) {
	if len(nodata) == 0 || nodata[0] == "" {
		return
	}
	element := attribute.Element(nodata[0], v.Type)
	if element == nil {
		// No pixel has this value: it does not fit the type.
		v.Attributes = append(v.Attributes, attribute.Text("nodata", nodata[0]))
		return
	}
	v.Fill = readers.Fill{State: readers.FillUser, Value: element}
	v.Attributes = append(v.Attributes, attribute.Missing(element, v.Type))
}

// addInline adds a variable whose elements are in data, little-endian.
func (b *builder) addInline(g *readers.Group, name string, t *readers.Type, dims []*readers.Dimension, data []byte, attributes ...readers.Attribute) *readers.Variable {
	v := &readers.Variable{Name: name, Path: join(g.Path, name), Type: t, Dims: dims, Attributes: attributes}
	for _, d := range dims {
		v.Shape, v.MaxShape = append(v.Shape, d.Length), append(v.MaxShape, d.Length)
	}
	v.Storage = readers.Storage{Layout: readers.Inline, Bytes: uint64(len(data)), Data: data, Plain: true, Pipeline: readers.Pipeline{Bytes: codec.InOrder(codec.LittleEndian)}}
	v.ReadAll = func(ctx context.Context, limit uint64) (readers.Value, error) {
		if uint64(len(data)) > limit {
			return readers.Value{}, b.locate(v.Path, fmt.Errorf("values take %d bytes, which is more than the limit of %d", len(data), limit))
		}
		return readers.Value{Type: t, Shape: v.Shape, Data: data}, ctx.Err()
	}
	g.Variables = append(g.Variables, v)
	return v
}

var intType = readers.Int(4, readers.LittleEndian, true)
