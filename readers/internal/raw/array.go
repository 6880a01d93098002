package raw

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/bits"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"varve/codec"
	"varve/grid"
	"varve/readers"
	"varve/readers/internal/attribute"
	"varve/readers/internal/chunks"
	"varve/readers/internal/zarrtree"
	"varve/readers/source"
)

// Limits of what a header can claim.
const (
	maxRank        = 32       // axes
	maxBytes       = 1 << 62  // of an array, so that offsets fit into 64 bits
	maxHeader      = 16 << 20 // bytes of a header that is a text
	maxCoordinates = 1 << 20  // coordinates that are computed for all axes of a file
	leastPositions = 1 << 16  // coordinates that are computed even if the elements have fewer bytes
)

// compressors are the codecs of compressed elements, and how much they expand at most.
var compressors = map[string]struct {
	spec      codec.Spec
	expansion uint64
}{
	"gzip":  {codec.Spec{Name: "gzip", Config: json.RawMessage(`{"level":5}`)}, 1032},
	"bzip2": {codec.Spec{Name: "numcodecs.bz2", Config: json.RawMessage(`{"level":9}`)}, 1 << 21},
}

// dataName is the variable of formats that have no name for it.
const dataName = "data"

// array says where the elements of a variable are, and what they mean.
type array struct {
	name       string
	typ        *readers.Type
	big        bool     // elements are big-endian
	shape      []uint64 // as users of the format see it
	dims       []string // names of the axes
	anonymous  bool     // the format has no names for them
	order      []int    // the axes, from the one that varies slowest to the one that varies fastest; nil: as they are
	in         *file    // nil: in the source
	offset     uint64   // of the first element
	stored     uint64   // size of the compressed elements
	compressor string   // gzip or bzip2, or "" if they are not compressed
	hasMore    bool     // other arrays follow in the same file
	spare      uint64   // number of bytes that may follow
	at         int64    // offset of the part of the header that says the shape, for errors
	missing    []byte   // the element that stands for a missing value, or nil
	attributes []readers.Attribute
}

// file is the file that has the elements.
type file struct {
	name string
	size uint64
	open func(ctx context.Context) (*source.Source, error)
}

// builder builds a readers.Dataset from the arrays of a source.
type builder struct {
	src *source.Source
	out *readers.Dataset

	positions uint64 // coordinates that are computed so far
}

func newBuilder(src *source.Source, format string) *builder {
	return &builder{src: src, out: &readers.Dataset{Source: src, Format: format, Root: &readers.Group{Path: "/"}, HoldsChunks: true}}
}

// fail returns the error of the bytes at an offset of the source.
func (b *builder) fail(at int64, format string, args ...any) error {
	return failure(b.src, at, readers.Corruptf(format, args...))
}

// refuse returns the error of what varve does not support.
func (b *builder) refuse(at int64, format string, args ...any) error {
	return failure(b.src, at, fmt.Errorf(format+": %w", append(args, errors.ErrUnsupported)...))
}

// isDamage reports whether an error is about the bytes of a source. Other errors are about reading them.
func isDamage(err error) bool {
	return errors.Is(err, readers.ErrCorrupt) || errors.Is(err, errors.ErrUnsupported)
}

// failure returns an error of a source, of all of it if at is negative.
func failure(src *source.Source, at int64, err error) error {
	e := &readers.Error{Source: src.Name(), Offset: at, Err: err}
	if at < 0 {
		e.Path = "/"
	}
	return e
}

// add adds the variable of an array.
func (b *builder) add(a *array) (*readers.Variable, error) {
	if len(a.shape) > maxRank {
		return nil, b.fail(a.at, "%d dimensions (limit %d)", len(a.shape), maxRank)
	}
	size, ok := bytesOf(a.shape, a.typ.Size)
	if !ok {
		return nil, b.fail(a.at, "an array of the shape %v takes more than 2^62 bytes", a.shape)
	}
	if err := b.checkSize(a, size); err != nil {
		return nil, err
	}
	v := &readers.Variable{Name: a.name, Path: "/" + a.name, Type: a.typ, Attributes: a.attributes}
	for k, n := range a.shape {
		d := b.dimension(a.dims[k], n, a.anonymous)
		v.Dims, v.Shape, v.MaxShape = append(v.Dims, d), append(v.Shape, n), append(v.MaxShape, n)
	}
	if a.missing != nil {
		v.Fill = readers.Fill{State: readers.FillUser, Value: a.missing}
		v.Attributes = append(v.Attributes, attribute.Missing(a.missing, a.typ))
	}
	if err := a.setStorage(&v.Storage, size); err != nil {
		return nil, failure(b.src, a.at, err)
	}
	b.setReader(a, v, size)
	b.out.Root.Variables = append(b.out.Root.Variables, v)
	return v, nil
}

// bytesOf returns the size of an array, or false if it is more than a file can have.
func bytesOf(shape []uint64, element int) (uint64, bool) {
	if slices.Contains(shape, 0) {
		return 0, true // even if the product of the other lengths overflows
	}
	n := uint64(element)
	for _, length := range shape {
		hi, lo := bits.Mul64(n, length)
		if hi != 0 || lo > maxBytes {
			return 0, false
		}
		n = lo
	}
	return n, true
}

// checkSize compares the size of an array with that of its file.
func (b *builder) checkSize(a *array, size uint64) error {
	end, of := uint64(b.src.Size()), ""
	if a.in != nil {
		end, of = a.in.size, " of "+source.Shown(a.in.name)
	}
	have := max(end, a.offset) - a.offset
	switch {
	case a.offset > end:
		return b.fail(a.at, "the array begins at offset %d%s, which has %d bytes; fetch it again", a.offset, of, end)
	case a.compressor != "" && size/compressors[a.compressor].expansion > a.stored:
		return b.fail(a.at, "an array of the shape %v and the type %s has %d bytes, which %s cannot compress to the %d bytes%s", a.shape, a.typ, size, a.compressor, a.stored, of)
	case a.compressor != "":
		return nil
	case size > have:
		return b.fail(a.at, "an array of the shape %v and the type %s has %d bytes, but only %d follow offset %d%s; fetch it again", a.shape, a.typ, size, have, a.offset, of)
	case size < have-min(have, a.spare) && !a.hasMore:
		return b.fail(a.at, "an array of the shape %v and the type %s has %d bytes, but %d follow offset %d%s", a.shape, a.typ, size, have, a.offset, of)
	}
	return nil
}

// dimension returns the dimension of a name and a length.
func (b *builder) dimension(name string, n uint64, anonymous bool) *readers.Dimension {
	for _, d := range b.out.Root.Dimensions {
		if d.Name == name && d.Length == n {
			return d
		}
	}
	d := &readers.Dimension{Name: name, Path: "/" + name, Length: n, Anonymous: anonymous}
	b.out.Root.Dimensions = append(b.out.Root.Dimensions, d)
	return d
}

// setStorage sets where the elements are: in one range of bytes in the order of the shape, or in slabs.
func (a *array) setStorage(s *readers.Storage, size uint64) error {
	s.Bytes, s.Plain, s.Offset = size, true, int64(a.offset)
	if a.in != nil {
		s.Source = a.in.name
	}
	if a.typ.Size > 1 {
		s.Pipeline.Bytes = codec.InOrder(map[bool]string{false: codec.LittleEndian, true: codec.BigEndian}[a.big])
	} else {
		s.Pipeline.Bytes = codec.InOrder("")
	}
	if size == 0 {
		s.Layout, s.Source, s.Offset = readers.Unallocated, "", 0
		return nil
	}
	order := a.order
	if order == nil || a.isOrdered() {
		order = make([]int, len(a.shape))
		for k := range order {
			order[k] = k
		}
		if a.compressor == "" {
			s.Layout = readers.Contiguous
			return nil
		}
	} else {
		config, err := json.Marshal(map[string][]int{"order": order})
		if err != nil {
			return err
		}
		s.Pipeline.Arrays = []codec.Spec{{Name: "transpose", Config: config}}
	}
	s.Layout, s.Index, s.Offset = readers.Chunked, "computed", 0
	chunk, stored := make([]uint64, len(a.shape)), make([]uint64, len(a.shape))
	for k, axis := range order {
		stored[k] = a.shape[axis]
	}
	cut := slices.Clone(stored)
	if a.compressor != "" {
		s.Bytes = a.stored
		s.Pipeline.Filters = []readers.Filter{{Name: a.compressor, Codec: compressors[a.compressor].spec}}
	} else {
		cut = slabs(stored, uint64(a.typ.Size))
	}
	for k, axis := range order {
		chunk[axis] = cut[k]
	}
	if s.ChunkShape = chunk; slices.ContainsFunc(order, func(axis int) bool { return a.shape[axis]%chunk[axis] != 0 }) {
		g, err := withShorterEnd(a.shape, chunk)
		if err != nil {
			return err
		}
		s.Grid, s.ChunkShape = g, nil
	}
	s.ReadIndex = func(ctx context.Context) iter.Seq2[*readers.Ref, error] {
		return func(yield func(*readers.Ref, error) bool) { a.refs(ctx, order, stored, cut, yield) }
	}
	return nil
}

// isOrdered reports whether the elements are stored in the order of the shape: axes of length 1 do not matter.
func (a *array) isOrdered() bool {
	last := -1
	for _, axis := range a.order {
		if a.shape[axis] != 1 && axis < last {
			return false
		}
		if a.shape[axis] != 1 {
			last = axis
		}
	}
	return true
}

// The sizes of slabs: large enough for few requests, and small enough to decode for a few rows.
const (
	slabSize  = 4 << 20
	leastSlab = slabSize / 8
)

// slabs cuts an array in C order into chunks that are ranges of bytes: of length 1 along the first axes, and whole along the last ones.
// The axis between them is cut into equal parts, if it has a good divisor.
func slabs(shape []uint64, element uint64) []uint64 {
	cut := make([]uint64, len(shape))
	for k := range cut {
		cut[k] = 1
	}
	row := element
	for k, n := range slices.Backward(shape) {
		if row*n <= slabSize {
			cut[k], row = n, row*n
			continue
		}
		rows := max(slabSize/row, 1)
		cut[k] = rows
		for d := rows; d*row >= leastSlab && d > 0; d-- {
			if n%d == 0 {
				cut[k] = d
				break
			}
		}
		return cut
	}
	return cut
}

// withShorterEnd returns a grid of chunks. The last one of an axis is shorter, if the axis is not a multiple of the chunk.
func withShorterEnd(shape, chunk []uint64) (*grid.Grid, error) {
	dims := make([]grid.Dimension, len(shape))
	for k := range shape {
		edge, length := int64(chunk[k]), int64(shape[k])
		var err error
		if length%edge == 0 {
			dims[k], err = grid.NewFixed(edge, length)
		} else {
			dims[k], err = grid.NewVarying([]grid.Run{grid.Times(edge, length/edge), grid.Times(length%edge, 1)}, length)
		}
		if err != nil {
			return nil, readers.Corruptf("%w", err)
		}
	}
	g, err := grid.New(dims...)
	if err != nil {
		return nil, readers.Corruptf("%w", err)
	}
	return g, nil
}

// refs yields the slabs of an array in the order in which they are stored. stored and cut are lengths in that order.
func (a *array) refs(ctx context.Context, order []int, stored, cut []uint64, yield func(*readers.Ref, error) bool) {
	at, n := make([]uint64, len(stored)), len(stored)
	ref := readers.Ref{Index: make([]uint64, n), Offset: int64(a.offset)}
	for {
		ref.Size = uint64(a.typ.Size)
		for k, axis := range order {
			ref.Index[axis] = at[k]
			ref.Size *= min(cut[k], stored[k]-at[k]*cut[k])
		}
		if a.compressor != "" {
			ref.Size = a.stored
		}
		if err := ctx.Err(); err != nil {
			yield(nil, err)
			return
		}
		if !yield(&ref, nil) {
			return
		}
		ref.Offset += int64(ref.Size)
		k := n - 1
		for ; k >= 0; k-- {
			if at[k]++; at[k]*cut[k] < stored[k] {
				break
			}
			at[k] = 0
		}
		if k < 0 {
			return
		}
	}
}

// setReader sets ReadAll of a variable.
func (b *builder) setReader(a *array, v *readers.Variable, size uint64) {
	v.ReadAll = func(ctx context.Context, limit uint64) (value readers.Value, err error) {
		defer func() {
			if err != nil {
				err = &readers.Error{Source: b.src.Name(), Path: v.Path, Offset: -1, Err: err}
			}
		}()
		if size > limit {
			return value, fmt.Errorf("values take %d bytes, which is more than the limit of %d", size, limit)
		}
		src := b.src
		if a.in != nil && size > 0 {
			if src, err = a.in.open(ctx); err != nil {
				return value, err
			}
			defer func() { err = errors.Join(err, src.Close()) }()
			if uint64(src.Size()) != a.in.size {
				return value, fmt.Errorf("%s: %w: it has %d bytes, and had %d", source.Shown(a.in.name), source.ErrChanged, src.Size(), a.in.size)
			}
		}
		whole := *v
		if s := &whole.Storage; s.Layout == readers.Contiguous {
			// As one chunk, so that codecs turn the bytes of every type into its memory form.
			s.Layout, s.ChunkShape = readers.Chunked, v.Shape
			s.ReadIndex = func(context.Context) iter.Seq2[*readers.Ref, error] {
				return func(yield func(*readers.Ref, error) bool) {
					yield(&readers.Ref{Index: make([]uint64, len(v.Shape)), Offset: s.Offset, Size: size}, nil)
				}
			}
		}
		if value, err = chunks.ReadAll(ctx, src, &whole, limit); err != nil {
			return value, err
		}
		if element, ok := v.Type.Element(); ok {
			value.Texts = zarrtree.Texts(element, value.Data)
		}
		return value, nil
	}
}

// addInline adds a variable whose elements are in data, little-endian.
func (b *builder) addInline(name string, t *readers.Type, dims []*readers.Dimension, data []byte, attributes ...readers.Attribute) {
	v := &readers.Variable{Name: name, Path: "/" + name, Type: t, Dims: dims, Attributes: attributes}
	for _, d := range dims {
		v.Shape, v.MaxShape = append(v.Shape, d.Length), append(v.MaxShape, d.Length)
	}
	v.Storage = readers.Storage{Layout: readers.Inline, Bytes: uint64(len(data)), Data: data, Plain: true, Pipeline: readers.Pipeline{Bytes: codec.InOrder(codec.LittleEndian)}}
	v.ReadAll = readers.ReadStored(b.src, v)
	b.out.Root.Variables = append(b.out.Root.Variables, v)
}

// hasRoom reports whether the coordinates of an axis, which are at equal distances, can be computed. A header of a few bytes can say that
// an axis is very long, so that all coordinates together are about as many as the stored elements have bytes. Without room, the variables
// of the axis get attributes that say the first coordinate and the distance.
func (b *builder) hasRoom(d *readers.Dimension, first, step float64) bool {
	limit := min(max(b.out.Root.Variables[0].Storage.Bytes, leastPositions), maxCoordinates)
	if d.Length <= limit-min(limit, b.positions) {
		b.positions += d.Length
		return true
	}
	for _, v := range b.out.Root.Variables {
		if slices.Contains(v.Dims, d) {
			v.Attributes = append(v.Attributes, attribute.Numbers(d.Name+"_start", first), attribute.Numbers(d.Name+"_step", step))
		}
	}
	return false
}

// addLinear adds the coordinate of an axis whose positions are at equal distances, if the numbers are finite and there is room.
func (b *builder) addLinear(v *readers.Variable, name string, first, step float64, attributes ...readers.Attribute) {
	i := slices.IndexFunc(v.Dims, func(d *readers.Dimension) bool { return d.Name == name })
	if i < 0 || !isFinite(first, step) || step == 0 || !b.hasRoom(v.Dims[i], first, step) {
		return
	}
	list := make([]float64, v.Dims[i].Length)
	for k := range list {
		list[k] = first + float64(float64(k)*step)
	}
	b.addInline(name, attribute.Double, v.Dims[i:i+1], attribute.Doubles(list), attributes...)
}

func isFinite(list ...float64) bool {
	return !slices.ContainsFunc(list, func(f float64) bool { return math.IsNaN(f) || math.IsInf(f, 0) })
}

// numberType returns the type of numbers of a kind (i, u, f or c) and a size, or nil if varve has none.
func numberType(kind byte, size int, big bool) *readers.Type {
	order := readers.LittleEndian
	if big {
		order = readers.BigEndian
	}
	switch {
	case kind == 'c':
		return &readers.Type{Class: readers.Complex, Size: size, Base: readers.IEEEFloat(size/2, order)}
	case kind == 'f':
		return readers.IEEEFloat(size, order)
	}
	return readers.Int(size, order, kind == 'i')
}

// reversed returns the order of axes for elements whose first axis varies fastest.
func reversed(rank int) []int {
	order := make([]int, rank)
	for k := range order {
		order[k] = rank - 1 - k
	}
	return order
}

// baseOf returns the last part of the name of a source.
func baseOf(name string) string {
	outer, steps := source.CutPacked(name)
	if i := strings.LastIndexByte(steps, ':'); i >= 0 && i+1 < len(steps) {
		outer = steps[i+1:]
	}
	base, _, _ := strings.Cut(path.Base(filepath.ToSlash(outer)), "?")
	return base
}

// stemOf returns the last part of the name of a source without the ending of a compressed file, and without the last one of others.
func stemOf(name string) string {
	base := baseOf(name)
	if source.HasPackedEnding(base) {
		base = strings.TrimSuffix(base, path.Ext(base))
	}
	return strings.TrimSuffix(base, path.Ext(base))
}
