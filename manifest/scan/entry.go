package scan

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"

	"varve/codec"
	"varve/manifest"
	"varve/readers"
)

// entry is a variable that is being added to an account.
type entry struct {
	*account
	v      *readers.Variable // as described by the file
	in     *opened           // the file that contains it, which resolves relative names
	ahead  *prepared         // nil if it was not read ahead
	out    manifest.Variable
	number int              // index among the account's variables
	first  int              // row of its first ref
	tabled *manifest.Values // the values, if they were read to determine the type: see rows
	by     *reading         // the reading of the source; nil for variables of other files
}

// entry returns a new entry with the description of a variable, without its storage.
func (a *account) entry(v *readers.Variable, in *opened, ahead *prepared) *entry {
	e := &entry{account: a, v: v, in: in, ahead: ahead, number: len(a.header.Variables), first: a.found.refs.len()}
	e.out = manifest.Variable{
		Path:       v.Path,
		Dims:       make([]string, len(v.Dims)),
		Shape:      make([]int64, len(v.Shape)),
		Attributes: e.attributes(),
		Enum:       choices(v.Type),
	}
	for i, d := range v.Dims {
		if i < len(v.Candidates) && len(v.Candidates[i]) > 0 {
			e.out.Dims[i] = a.addGuess(d, v.Candidates[i])
			continue
		}
		a.addDimension(d)
		e.out.Dims[i] = d.Path
	}
	for i, n := range v.Shape {
		e.out.Shape[i] = int64(min(n, math.MaxInt64))
	}
	return e
}

// store sets the type and the storage of the variable, and adds its refs.
func (e *entry) store() error {
	out := &e.out
	if err := damagedAttribute(e.v.Attributes); err != nil {
		return err
	}
	v, err := e.unfold()
	if err != nil {
		return err
	}
	if row, ok := v.Type.Row(); ok {
		out.Storage.Layout = manifest.Valued
		e.extendCoordinate(v)
		if out.Type, e.tabled, err = e.rows(row); err == nil && v.Storage.Layout == readers.Unallocated {
			err = e.checkNull(v)
		}
		return err
	}
	t, way, err := elementOf(v.Type)
	if err != nil {
		return err
	}
	if v.Storage.Texts != nil || v.Storage.IsDecimal || e.hasTails(v) {
		way = throughReader
	}
	out.Type = t
	out.Fill = fillOf(v, t)
	if way == byCodecs {
		if err := e.extend(v); err != nil {
			return err
		}
	}
	if v.Storage.Undecodable != nil && v.Storage.Layout != readers.External {
		return v.Storage.Undecodable
	}
	if way == throughReader {
		out.Storage.Layout = manifest.Valued
		e.extendCoordinate(v)
		if v.Storage.Layout != readers.Unallocated {
			return nil
		}
		return e.checkNull(v)
	}
	return e.place(v)
}

// damagedAttribute returns the error of the first damaged attribute. Each attribute may determine the meaning
// of the values, so damage of one affects the variable.
func damagedAttribute(list []readers.Attribute) error {
	for i := range list {
		if err := list[i].Err; err != nil && !errors.Is(err, errors.ErrUnsupported) {
			return fmt.Errorf("attribute %q: %w", list[i].Name, err)
		}
	}
	return nil
}

// extend extends a variable to the length of its unlimited dimensions, as netCDF-C does. Elements beyond the
// variable's own chunks are fill values.
func (e *entry) extend(v *readers.Variable) error {
	out := &e.out
	for i, d := range v.Dims {
		if !d.Unlimited || d.Length <= v.Shape[i] || d.Anonymous {
			continue
		}
		if v.Storage.RawEdges {
			return fmt.Errorf("is shorter than its dimension %s, and its edge chunks are stored without filters: %w", d.Path, errors.ErrUnsupported)
		}
		if v.Storage.Layout != readers.Chunked {
			continue
		}
		out.Shape[i] = int64(d.Length)
	}
	_, err := elements(out.Shape)
	return err
}

// extendCoordinate extends a coordinate that is stored by value, because it needs a value for each position
// of its dimension; the method extended adds the values. Other variables become tiles that are shorter than
// the array.
func (e *entry) extendCoordinate(v *readers.Variable) {
	if d := v.Dims; isCoordinate(&e.out) && d[0].Unlimited && !d[0].Anonymous && d[0].Length > v.Shape[0] {
		e.out.Shape[0] = int64(min(d[0].Length, math.MaxInt64))
	}
}

// elements returns the product of a shape.
func elements(shape []int64) (int64, error) {
	n := int64(1)
	for _, k := range shape {
		if k < 0 || k > 0 && n > math.MaxInt64/16/k {
			return 0, fmt.Errorf("shape %v has too many elements: %w", shape, errors.ErrUnsupported)
		}
		n *= k
	}
	return n, nil
}

// place sets the storage and refs of a variable whose values codecs can decode.
func (e *entry) place(v *readers.Variable) error {
	out := &e.out
	s := &v.Storage
	specs := append(slices.Clone(s.Pipeline.Arrays), s.Pipeline.Bytes)
	for _, f := range s.Pipeline.Filters {
		specs = append(specs, f.Codec)
	}
	out.Storage = manifest.Storage{Codecs: specs, Filters: len(s.Pipeline.Filters), RawEdges: s.RawEdges}
	n, err := elements(out.Shape)
	if err != nil {
		return err
	}
	switch {
	case s.Layout == readers.Virtual:
		err := e.placeVirtual(v)
		var none *noBoxes
		if !errors.As(err, &none) {
			return err
		}
		// Mappings without boxes can still be read by value, if the values are small.
		if n > e.ValueBytes/int64(max(out.Type.Size, v.Type.Size, 1)) {
			return &noBoxes{tooLargeFor(fmt.Errorf("%w; values of shape %v need more than %d bytes of the manifest", none.err, out.Shape, e.ValueBytes))}
		}
		out.Storage = manifest.Storage{Layout: manifest.Valued}
		return nil
	case s.Layout == readers.External:
		return e.placeExternal(s.Files)
	case s.Layout == readers.Chunked:
		return e.placeChunks(s)
	case s.Layout == readers.Unallocated || n == 0:
		if err := e.checkNull(v); err != nil {
			return err
		}
		out.Storage.Layout, out.Storage.Chunks = manifest.Nothing, out.Shape
		return nil
	case s.Layout == readers.Inline:
		out.Storage.Layout, out.Storage.Chunks = manifest.Inline, out.Shape
		row := e.found.refs.add(1)
		e.found.refs.set(row, manifest.Ref{Offset: e.addInline(bytes.Clone(s.Data)), Size: int64(len(s.Data))})
		return nil
	}
	return e.placeRuns(v, n)
}

// checkNull adds an axis of length 0 to a variable with a null dataspace, which has no elements although it
// has no shape. Zarr has no other way to represent that.
func (e *entry) checkNull(v *readers.Variable) error {
	out := &e.out
	if len(v.Shape) > 0 {
		return nil
	}
	value, err := v.ReadAll(e.ctx, uint64(e.ValueBytes))
	if err == nil && value.Null {
		d := &readers.Dimension{Path: fmt.Sprintf("%s#%s_null", v.Path, v.Name), Anonymous: true}
		e.addDimension(d)
		out.Dims, out.Shape = append(out.Dims, d.Path), append(out.Shape, 0)
	}
	return err
}

// placeRuns places values that are stored contiguously, or in one run per record.
func (e *entry) placeRuns(v *readers.Variable, n int64) error {
	out := &e.out
	s := &v.Storage
	ref := manifest.Ref{Offset: s.Offset, Size: n * int64(out.Type.Size)}
	out.Storage.Layout, out.Storage.Chunks = manifest.Strided, out.Shape
	if s.Layout == readers.Records && out.Shape[0] > 1 && s.Stride*out.Shape[0] != ref.Size {
		out.Storage.Stride = s.Stride
	}
	if s.Source != "" {
		var err error
		if ref.Other, err = e.other(&readers.Other{Source: s.Source}); err != nil {
			return err
		}
	}
	e.found.refs.set(e.found.refs.add(1), ref)
	return nil
}

// fillOf returns the fill value of a variable, for elements that were never written.
func fillOf(v *readers.Variable, t codec.Type) manifest.Fill {
	if v.Fill.State != readers.FillUser || v.Fill.Never {
		return manifest.Fill{}
	}
	value := v.Fill.Value
	if !t.Varies() {
		value = widen(v.Type, t, value)
	}
	return manifest.Fill{Value: value, User: true}
}

func (e *entry) attributes() []manifest.Attribute {
	if e.ahead != nil {
		return e.ahead.attributes
	}
	return attributes(e.v.Attributes)
}

// refsOf yields the refs of a storage.
func (e *entry) refsOf(s *readers.Storage) iter.Seq2[*readers.Ref, error] {
	if e.ahead == nil || !e.ahead.whole || s != &e.v.Storage {
		return s.ReadIndex(e.ctx)
	}
	return func(yield func(*readers.Ref, error) bool) {
		for i := range e.ahead.chunks {
			if !yield(&e.ahead.chunks[i], nil) {
				return
			}
		}
	}
}
