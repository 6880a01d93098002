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

// entry is a variable on its way into an account.
type entry struct {
	*account
	v      *readers.Variable // as the file has it
	in     *opened           // the file that it is in, by whose place it names others
	ahead  *prepared         // nil if nothing was read before its turn
	out    manifest.Variable
	number int              // among the account's variables
	first  int              // row of its first ref
	tabled *manifest.Values // of rows, which were read to know their type
	by     *reading         // of a source whose variables are asked for; nil for one that others name
}

// entry describes a variable but for its storage.
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

// store finds out where the values are.
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

// damagedAttribute returns the error of an attribute that cannot be read. Any may be the one
// that says what the values mean.
func damagedAttribute(list []readers.Attribute) error {
	for i := range list {
		if err := list[i].Err; err != nil && !errors.Is(err, errors.ErrUnsupported) {
			return fmt.Errorf("attribute %q: %w", list[i].Name, err)
		}
	}
	return nil
}

// extend gives a variable the length of its unlimited dimensions, as netcdf-c does: what lies
// beyond the variable's own chunks was never written.
func (e *entry) extend(v *readers.Variable) error {
	out := &e.out
	for i, d := range v.Dims {
		if !d.Unlimited || d.Length <= v.Shape[i] || d.Anonymous {
			continue
		}
		if v.Storage.RawEdges {
			return fmt.Errorf("is shorter than its dimension %s, and its chunks at the border are stored without filters: %w", d.Path, errors.ErrUnsupported)
		}
		if v.Storage.Layout != readers.Chunked {
			continue
		}
		out.Shape[i] = int64(d.Length)
	}
	_, err := elements(out.Shape)
	return err
}

// extendCoordinate does likewise with a coordinate whose values are kept themselves, of which
// there has to be one for each place of its dimension; extended makes them as many. Other
// variables are read as tiles that are shorter than their array.
func (e *entry) extendCoordinate(v *readers.Variable) {
	if d := v.Dims; isCoordinate(&e.out) && d[0].Unlimited && !d[0].Anonymous && d[0].Length > v.Shape[0] {
		e.out.Shape[0] = int64(min(d[0].Length, math.MaxInt64))
	}
}

// elements is the product of a shape.
func elements(shape []int64) (int64, error) {
	n := int64(1)
	for _, k := range shape {
		if k < 0 || k > 0 && n > math.MaxInt64/16/k {
			return 0, fmt.Errorf("shape %v is of more elements than can be counted: %w", shape, errors.ErrUnsupported)
		}
		n *= k
	}
	return n, nil
}

// place fills in the storage of a variable whose values codecs can decode, and its refs.
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
		if n > e.ValueBytes/int64(max(out.Type.Size, v.Type.Size, 1)) {
			return &noBoxes{tooLargeFor(fmt.Errorf("%w; values of shape %v take more than %d bytes of the manifest", none.err, out.Shape, e.ValueBytes))}
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

// checkNull gives a variable that has no shape and no element, which is less than one without a
// shape has, an axis of no length: Zarr knows no other way to have none.
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

// placeRuns places values that lie in one run of bytes, or in one for each record.
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

// fillOf is what cells of a variable hold that nobody wrote.
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

// refsOf streams the refs of a storage.
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
