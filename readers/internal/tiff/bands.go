package tiff

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"varve/codec"
	"varve/grid"
	"varve/readers"
)

// bandsOption is the name of the option that says where the axis of bands is.
const bandsOption = "tiff-bands"

// The words of the option.
const (
	bandsStored = "stored" // last if the samples of a pixel follow each other, first if each sample has planes
	bandsFirst  = "first"
	bandsLast   = "last"
)

// asChunked returns the storage of an image of a shape as chunks: pixels in one run of bytes are one chunk.
func asChunked(s readers.Storage, shape []uint64) readers.Storage {
	if s.Layout != readers.Contiguous {
		return s
	}
	ref := readers.Ref{Index: make([]uint64, len(shape)), Offset: s.Offset, Size: s.Bytes}
	s.Layout, s.Index, s.InOrder, s.Offset, s.Bytes, s.ChunkShape = readers.Chunked, "strips", true, 0, 0, slices.Clone(shape)
	s.ReadIndex = func(context.Context) iter.Seq2[*readers.Ref, error] {
		return func(yield func(*readers.Ref, error) bool) { yield(&ref, nil) }
	}
	return s
}

// withAxes returns chunked storage with other axes. from has, for each axis, the one of s that it was. ok decides by the
// position in s which refs are kept; nil keeps all.
func withAxes(s readers.Storage, from []int, ok func(index []uint64) bool) (readers.Storage, error) {
	switch {
	case s.Layout == readers.Unallocated:
		return s, nil
	case s.Grid != nil:
		dims := make([]grid.Dimension, len(from))
		for k, axis := range from {
			dims[k] = s.Grid.Dim(axis)
		}
		g, err := grid.New(dims...)
		if err != nil {
			return s, readers.Corruptf("%w", err)
		}
		s.Grid = g
	default:
		s.ChunkShape = pick(s.ChunkShape, from)
	}
	read := s.ReadIndex
	s.InOrder = slices.IsSorted(from)
	s.ReadIndex = func(ctx context.Context) iter.Seq2[*readers.Ref, error] {
		return func(yield func(*readers.Ref, error) bool) {
			for r, err := range read(ctx) {
				if err != nil {
					yield(nil, err)
					return
				}
				if ok != nil && !ok(r.Index) {
					continue
				}
				own := *r
				own.Index = pick(r.Index, from)
				if !yield(&own, nil) {
					return
				}
			}
		}
	}
	return s, nil
}

func pick[T any](list []T, from []int) []T {
	out := make([]T, len(from))
	for k, i := range from {
		out[k] = list[i]
	}
	return out
}

// bandAxis returns the axis of bands, or −1.
func (m *image) bandAxis() int {
	switch shape, _ := m.shape(); {
	case m.separate:
		return 0
	case m.pixel() > 1:
		return len(shape) - 1
	}
	return -1
}

// moveBands moves the axis of bands to where the option says. The stored bytes stay the same: the codec transpose relates them.
func (p *page) moveBands(where string) error {
	shape, _ := p.image.shape()
	axis := p.bandAxis()
	to, isMoved := map[string]int{bandsFirst: 0, bandsLast: len(shape) - 1}[where]
	if !isMoved || axis < 0 || axis == to {
		return nil
	}
	for k := range shape {
		if k != axis {
			p.axes = append(p.axes, k)
		}
	}
	p.axes = slices.Insert(p.axes, to, axis)
	if p.storage.Undecodable != nil {
		return nil
	}
	s, err := withAxes(asChunked(p.storage, shape), p.axes, nil)
	p.storage = s
	return err
}

// shape returns the lengths and the names of the axes of a page.
func (p *page) shape() (shape []uint64, names []string) {
	if p.lengths != nil {
		return p.lengths, p.names
	}
	shape, names = p.image.shape()
	if p.axes != nil {
		shape, names = pick(shape, p.axes), pick(names, p.axes)
	}
	return shape, names
}

// transposed returns a pipeline that stores the axes of a page, after some others, in the order of the file.
func (p *page) transposed(pipeline readers.Pipeline, others int) readers.Pipeline {
	if p.axes == nil {
		return pipeline
	}
	order := make([]int, others+len(p.axes))
	for k := range order[:others] {
		order[k] = k
	}
	for k, axis := range p.axes {
		order[others+axis] = others + k
	}
	pipeline.Arrays = slices.Concat([]codec.Spec{{Name: "transpose", Config: config("order", order)}}, pipeline.Arrays)
	return pipeline
}

// ofBand returns a page of one band of a page: a view of the same chunks.
func (p *page) ofBand(k int) (*page, error) {
	shape, names := p.image.shape()
	axis := p.bandAxis()
	one := &page{image: p.image, typ: p.typ, storage: p.stored, reopen: p.reopen}
	from := make([]int, 0, len(shape))
	for i := range shape {
		if i != axis {
			from = append(from, i)
		}
	}
	one.lengths, one.names = pick(shape, from), pick(names, from)
	if p.stored.Undecodable != nil {
		return one, nil
	}
	isOwn := func(index []uint64) bool { return !p.separate || index[axis] == uint64(k) }
	s, err := withAxes(asChunked(p.stored, shape), from, isOwn)
	if !p.separate {
		s.Pipeline.Arrays = slices.Concat([]codec.Spec{{Name: "tiff.band", Config: config("band", k, "samples", p.samples)}}, s.Pipeline.Arrays)
	}
	one.storage = s
	return one, err
}

// meaning says what the values of bands mean: scales, units, values for no data.
type meaning struct {
	bands  []band
	file   map[string]string
	nodata []string // of each band, or none
}

// meaning reads what tags and sidecars say of the bands.
func (m *image) meaning(ctx context.Context) (out meaning, err error) {
	if out.bands, out.file, err = m.bands(ctx); err != nil {
		return out, err
	}
	for len(out.bands) < m.samples && len(out.bands) > 0 {
		out.bands = append(out.bands, band{scale: 1})
	}
	text, ok, err := m.nodata(ctx)
	if err != nil {
		return out, err
	}
	own := map[int]string{}
	if m.extras != nil {
		own = m.extras.pam.nodata()
	}
	if ok || len(own) > 0 {
		out.nodata = slices.Repeat([]string{text}, m.samples)
		for k := range out.nodata {
			if s, ok := own[k+1]; ok {
				out.nodata[k] = s
			}
		}
	}
	return out, nil
}

// inherit adds what the image of an overview says, where the overview says nothing.
func (x *meaning) inherit(whole meaning) {
	if len(x.bands) == 0 {
		x.bands = whole.bands
	}
	if len(x.nodata) == 0 {
		x.nodata = whole.nodata
	}
}

// isUniform reports whether all bands have the same scale, offset and value for no data. CF has one of each for a variable.
func (x *meaning) isUniform() bool {
	return allSame(x.nodata) && !slices.ContainsFunc(x.bands, func(b band) bool { return b.scale != x.bands[0].scale || b.offset != x.bands[0].offset })
}

// of returns the meaning of one band.
func (x *meaning) of(k int) meaning {
	out := meaning{file: x.file}
	if k < len(x.bands) {
		out.bands = x.bands[k : k+1]
	}
	if k < len(x.nodata) {
		out.nodata = x.nodata[k : k+1]
	}
	return out
}

// String is equal for pages whose values are to be understood in the same way.
func (x *meaning) String() string {
	text := fmt.Sprintf("%q", x.nodata)
	for _, b := range x.bands {
		text += fmt.Sprintf(" %v %v %q", b.scale, b.offset, b.unit)
	}
	return text
}
