package mosaic

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sync"

	"varve/codec"
	"varve/grid"
	"varve/manifest"
	"varve/manifest/internal/convert"
)

// Fit describes how the variable of a header provides elements of the schema. All tiles whose sources
// have equal headers share it.
type Fit struct {
	Variable   *manifest.Variable
	Conversion *convert.Conversion

	m     *Mosaic
	grid  *grid.Grid   // the variable's chunk grid, in its own axes
	axes  []storedAxis // one for each axis of the array
	skip  int64        // rows of refs before those of the variable
	order []int        // see Order

	isStraight   bool  // the axes have the array's order
	hasSameFill  bool  // elements that were never written read as the schema's fill
	isRaw        bool  // "bytes" is the only codec: an element's index gives its offset
	isMemoryForm bool  // raw, and the bytes equal the elements in memory
	element      int64 // bytes of an element
	row          int64 // bytes of one index of the first axis, if raw
	stride       int64 // bytes from one index of the first axis to the next

	pipe pipelines // of stored chunks, in the variable's axes
	mu   sync.RWMutex
	same []sameness
}

// storedAxis is one axis of the array, as the variable has it.
type storedAxis struct {
	axis   int   // of the variable; -1 if it lacks the axis: then the values repeat along the tile
	length int64 // of the variable along the axis; 1 if it lacks it
	dim    grid.Dimension
	size   int64 // of the chunks along it, if all have the same; else 0
	chunks int64
	rows   int64 // rows of refs from one chunk to the next along the axis
	bytes  int64 // bytes from one index to the next, if the elements are one run
}

// sameness remembers whether stored chunks with this shape and filter mask decode to the elements that
// the schema declares.
type sameness struct {
	shape []int64
	mask  uint32
	same  bool
}

// orNone returns f, or nil if the header has no such variable.
func (f *Fit) orNone() (*Fit, error) {
	if f.Variable == nil {
		return nil, nil
	}
	return f, nil
}

func (m *Mosaic) newFit(h *manifest.Header) (*Fit, error) {
	at, skip := m.layout.common.find(h, m.spec.Variables)
	if at < 0 {
		return &Fit{}, nil
	}
	v := h.Variables[at]
	// Another header may share the variable, and so its fit.
	key := fitKey{v, skip, m.unnamed(h, v)}
	if f, ok := m.same.Load(key); ok {
		return f.(*Fit), nil
	}
	f := &Fit{m: m, Variable: v, skip: skip}
	if err := f.check(key.unnamed); err != nil {
		return nil, fmt.Errorf("variable %s: %w", v.Path, err)
	}
	kept, _ := m.same.LoadOrStore(key, f)
	return kept.(*Fit), nil
}

func (f *Fit) check(unnamed string) (err error) {
	v := f.Variable
	if v.Unreadable != "" {
		return fmt.Errorf("%s: %w", v.Unreadable, errors.ErrUnsupported)
	}
	if v.Storage.Layout == manifest.Valued {
		return fmt.Errorf("only the reader can decode its values, so they have to be stored in the manifest: %w", errors.ErrUnsupported)
	}
	if f.Conversion, err = f.m.known.Conversion(v, f.m.schema, f.m.spec.Reading); err != nil {
		return err
	}
	f.hasSameFill = bytes.Equal(f.Conversion.Fill(), f.m.fill)
	if f.grid, err = v.Grid(); err != nil {
		return err
	}
	if err = f.matchAxes(unnamed); err != nil {
		return err
	}
	if !f.HasRefs() {
		return nil
	}
	f.pipe.of = func(shape []int64, mask uint32) (*codec.Pipeline, error) {
		return f.m.layout.common.pipelines.New(f.codecs(mask), f.form(shape))
	}
	return f.measure()
}

func (f *Fit) form(shape []int64) codec.Form {
	return codec.Form{Type: f.Variable.Type, Shape: shape, Fill: f.Variable.Fill.Value}
}

// HasRefs reports whether the variable has stored bytes. If not, it is all fill.
func (f *Fit) HasRefs() bool {
	switch f.Variable.Storage.Layout {
	case manifest.Chunked, manifest.Strided, manifest.Inline:
		return true
	}
	return false
}

// matchAxes finds the variable's axis for each axis of the array.
func (f *Fit) matchAxes(unnamed string) error {
	v, used := f.Variable, make([]bool, len(f.Variable.Dims))
	if len(v.Dims) != len(v.Shape) {
		return corruptf("%d dimensions are named for %d axes", len(v.Dims), len(v.Shape))
	}
	for _, want := range f.m.spec.Dims {
		s := storedAxis{axis: -1, length: 1, size: 1, chunks: 1}
		for i, have := range v.Dims {
			// The used axes are skipped: a variable can have the same dimension twice.
			if !used[i] && f.m.dimPath(i, have, unnamed) == want {
				used[i] = true
				dim := f.grid.Dim(i)
				s = storedAxis{axis: i, length: v.Shape[i], dim: dim, chunks: dim.Chunks()}
				if fixed, ok := dim.(grid.Fixed); ok {
					s.size = fixed.Size()
				}
				f.order = append(f.order, i)
				break
			}
		}
		f.axes = append(f.axes, s)
	}
	f.countRows()
	if i := slices.Index(used, false); i >= 0 {
		return corruptf("its dimension %s is not one of the array's dimensions %v", v.Dims[i], f.m.spec.Dims)
	}
	f.isStraight = slices.IsSorted(f.order)
	return nil
}

// countRows computes the distance of neighbouring chunks in the table of refs, for each axis.
func (f *Fit) countRows() {
	for k := range f.axes {
		a := &f.axes[k]
		if a.axis < 0 {
			continue
		}
		a.rows = 1
		for _, n := range f.grid.Counts()[a.axis+1:] {
			a.rows *= n
		}
	}
}

// Marks of axes for unnamed.
const (
	hasName = '-'
	hasNone = '?'
)

// unnamed returns a mark for each axis of a variable: whether its source names the dimension. It is
// empty if the array has no Unnamed.
func (m *Mosaic) unnamed(h *manifest.Header, v *manifest.Variable) string {
	if len(m.spec.Unnamed) == 0 {
		return ""
	}
	marks := make([]byte, len(v.Dims))
	for i, d := range v.Dims {
		if marks[i] = hasName; m.layout.common.isUnnamed(h, d) {
			marks[i] = hasNone
		}
	}
	return string(marks)
}

// dimPath returns the array's path for the dimension of a variable's axis.
func (m *Mosaic) dimPath(axis int, dim, unnamed string) string {
	if axis < min(len(unnamed), len(m.spec.Unnamed)) && unnamed[axis] == hasNone && m.spec.Unnamed[axis] != "" {
		return m.spec.Unnamed[axis]
	}
	if path, ok := m.spec.Renamed[dim]; ok {
		return path
	}
	return dim
}

// Order returns the variable's axes in the order of the array's, without axes that the variable lacks.
// straight reports whether this is the variable's own order.
func (f *Fit) Order() (order []int, straight bool) { return f.order, f.isStraight }

// measure computes the distances of elements in bytes, if "bytes" is the only codec.
func (f *Fit) measure() error {
	v := f.Variable
	f.element = int64(v.Type.Size)
	f.isRaw = len(v.Storage.Codecs) == 1 && v.Storage.Codecs[0].Name == "bytes" && f.element > 0
	if err := f.measureForm(); err != nil || v.Storage.Layout == manifest.Chunked {
		return err
	}
	if v.Storage.Stride != 0 && (!f.isRaw || len(v.Shape) == 0) {
		return fmt.Errorf("shape %v with a stride of %d bytes and codecs: %w", v.Shape, v.Storage.Stride, errors.ErrUnsupported)
	}
	if !f.isRaw || len(v.Shape) == 0 {
		return nil
	}
	inner, err := grid.Elements(v.Shape[1:])
	if err != nil {
		return err
	}
	// A hostile header may have a shape whose size overflows.
	hi, row := bits.Mul64(uint64(inner), uint64(f.element))
	f.row, f.stride = int64(row), v.Storage.Stride
	if f.stride == 0 {
		f.stride = f.row
	}
	rows := max(v.Shape[0], 1)
	if hi != 0 || f.row < 0 || f.stride < f.row || f.stride > math.MaxInt64/rows {
		return corruptf("shape %v of elements of %d bytes does not fit a stride of %d bytes", v.Shape, f.element, v.Storage.Stride)
	}
	f.countBytes()
	return nil
}

// countBytes computes the distance of neighbouring elements in bytes, for each axis.
func (f *Fit) countBytes() {
	for k := range f.axes {
		switch a := &f.axes[k]; a.axis {
		case -1:
		case 0:
			a.bytes = f.stride
		default:
			a.bytes = f.element
			for _, n := range f.Variable.Shape[a.axis+1:] {
				a.bytes *= n
			}
		}
	}
}

// HasAxis reports whether the variable has this axis of the array.
func (f *Fit) HasAxis(axis int) bool { return f.axes[axis].axis >= 0 }

// IsRaw reports whether "bytes" is the only codec and elements have a fixed size.
func (f *Fit) IsRaw() bool { return f.isRaw }

// memoryForm is the codec pipeline of elements in memory.
var memoryForm = []codec.Spec{{Name: "bytes", Config: []byte(`{"endian":"little"}`)}}

// measureForm determines whether stored bytes equal the elements in memory.
func (f *Fit) measureForm() error {
	if !f.isRaw {
		return nil
	}
	one, known := f.form(nil), &f.m.layout.common.pipelines
	stored, err := known.New(f.Variable.Storage.Codecs, one)
	if err != nil {
		return err
	}
	memory, err := known.New(memoryForm, one)
	f.isMemoryForm = err == nil && stored.SameDecode(memory)
	return err
}

// IsMemoryForm reports whether stored bytes equal the elements in memory.
func (f *Fit) IsMemoryForm() bool { return f.isMemoryForm }

// Strides returns the number of bytes of one index of the first axis, and the distance to the next
// index. They are equal if there are no gaps, and if the variable is not raw.
func (f *Fit) Strides() (row, stride int64) { return f.row, f.stride }

// Pipeline returns the codec pipeline of a stored chunk with this codec shape, in the variable's axes.
// reaches says that the chunk extends beyond the variable's shape. mask is the filter mask of the chunk's
// ref or, if it is a GRIB message, the check.
func (f *Fit) Pipeline(shape []int64, mask uint32, reaches bool) (*codec.Pipeline, error) {
	p, err := f.pipe.get(shape, f.skippedFilters(mask, reaches))
	if err != nil {
		return nil, f.m.wrap(fmt.Errorf("variable %s: %w", f.Variable.Path, err))
	}
	return p.WithCheck(mask), nil
}

// skippedFilters returns the filters that were skipped for a chunk: those of the ref's mask or, for a chunk
// beyond the border of a variable with RawEdges, all.
func (f *Fit) skippedFilters(skippedFilters uint32, reaches bool) uint32 {
	all := uint32(1)<<min(max(f.Variable.Storage.Filters, 0), 31) - 1
	// HDF5 can be told not to filter chunks that extend beyond the array.
	if reaches && f.Variable.Storage.RawEdges {
		return all
	}
	return skippedFilters & all
}

// codecs returns the codecs of chunks for which the filters of a mask were skipped.
func (f *Fit) codecs(mask uint32) []codec.Spec {
	s := &f.Variable.Storage
	if mask == 0 {
		return s.Codecs
	}
	first := max(len(s.Codecs)-s.Filters, 0)
	used := slices.Clone(s.Codecs[:first])
	for i, spec := range s.Codecs[first:] {
		if mask>>i&1 == 0 {
			used = append(used, spec)
		}
	}
	return used
}

// isSame reports whether stored chunks with this codec shape, in the array's axes, and this filter
// mask decode to the elements that the schema declares.
func (f *Fit) isSame(shape []int64, mask uint32) bool {
	f.mu.RLock()
	for i := range f.same {
		if s := &f.same[i]; s.mask == mask && slices.Equal(s.shape, shape) {
			f.mu.RUnlock()
			return s.same
		}
	}
	f.mu.RUnlock()
	found := sameness{slices.Clone(shape), mask, f.compare(shape, mask)}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.same) >= maxCached {
		f.same = append(f.same[:0:0], f.same[maxCached/2:]...)
	}
	f.same = append(f.same, found)
	return found.same
}

// compare computes isSame. It builds the stored chunk's pipeline for the array's axes, with length 1
// for axes that the variable lacks. Most codecs ignore such axes, and the others reject the form.
func (f *Fit) compare(shape []int64, mask uint32) bool {
	declared, err := f.m.pipe.get(shape, 0)
	if err != nil {
		return false
	}
	stored, err := f.m.layout.common.pipelines.New(f.codecs(mask), f.form(shape))
	return err == nil && (stored == declared || stored.SameDecode(declared))
}
