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
	"varve/manifest/convert"
)

// Fit is how the variable of a header fits the schema: all tiles whose sources have equal
// headers share it.
type Fit struct {
	Variable   *manifest.Variable
	Conversion *convert.Conversion

	m     *Mosaic
	grid  *grid.Grid   // the variable's chunks, in its own axes
	axes  []storedAxis // for each of the array's
	skip  int64        // rows of refs before those of the variable
	order []int        // see Order

	straight bool // the axes are in the array's order
	sameFill bool // cells that were never written read as the schema's fill
	raw      bool // the only codec is "bytes": elements have fixed places
	memory   bool // and are stored as they are in memory
	element  int64
	row      int64 // bytes of one index of the first axis, if raw
	stride   int64 // from one to the next

	pipe pipelines // of stored chunks, in the variable's axes
	mu   sync.RWMutex
	same []sameness
}

// storedAxis is one axis of the array as the variable has it.
type storedAxis struct {
	axis   int   // of the variable; -1 for one it lacks: it is the same at every index of its tile
	length int64 // of the variable along it; 1 for one it lacks
	dim    grid.Dimension
	size   int64 // of the chunks along it, if that is one; else 0
	chunks int64
	rows   int64 // of refs from one of its chunks to the next
	bytes  int64 // from one index to the next, if the variable is one run of elements
}

// sameness is whether stored chunks of a shape, stored with a mask, are what the schema declares.
type sameness struct {
	shape []int64
	mask  uint32
	same  bool
}

// orNone is f, or nil for the fit of a header that has no such variable.
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
		return fmt.Errorf("its values can only be kept in the manifest: %w", errors.ErrUnsupported)
	}
	if f.Conversion, err = f.m.known.Conversion(v, f.m.schema, f.m.spec.Reading); err != nil {
		return err
	}
	f.sameFill = bytes.Equal(f.Conversion.Fill(), f.m.fill)
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

// HasRefs reports whether there is anything stored: else all is fill.
func (f *Fit) HasRefs() bool {
	switch f.Variable.Storage.Layout {
	case manifest.Chunked, manifest.Strided, manifest.Inline:
		return true
	}
	return false
}

// matchAxes finds the variable's axis for each of the array's.
func (f *Fit) matchAxes(unnamed string) error {
	v, used := f.Variable, make([]bool, len(f.Variable.Dims))
	if len(v.Dims) != len(v.Shape) {
		return corruptf("%d dimensions for %d axes", len(v.Dims), len(v.Shape))
	}
	for _, want := range f.m.spec.Dims {
		s := storedAxis{axis: -1, length: 1, size: 1, chunks: 1}
		for i, have := range v.Dims {
			if !used[i] && f.m.called(i, have, unnamed) == want {
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
		return corruptf("its dimension %s is none of the array's, %v", v.Dims[i], f.m.spec.Dims)
	}
	f.straight = slices.IsSorted(f.order)
	return nil
}

// countRows finds how far the rows of neighbouring chunks are from one another.
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

// The marks of axes, see unnamed.
const (
	hasName = '-'
	hasNone = '?'
)

// unnamed has a mark for each axis of a variable: whether its source has a name for the
// dimension. It is empty where the array does not ask.
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

// called is the path that the array has for the dimension of a variable's axis.
func (m *Mosaic) called(axis int, dim, unnamed string) string {
	if axis < min(len(unnamed), len(m.spec.Unnamed)) && unnamed[axis] == hasNone && m.spec.Unnamed[axis] != "" {
		return m.spec.Unnamed[axis]
	}
	if path, ok := m.spec.Renamed[dim]; ok {
		return path
	}
	return dim
}

// Order says which of the variable's axes the array's are, without those that the variable
// lacks; straight reports whether that is the order they have.
func (f *Fit) Order() (order []int, straight bool) { return f.order, f.straight }

// measure finds out where elements of a variable are that has no codec but "bytes".
func (f *Fit) measure() error {
	v := f.Variable
	f.element = int64(v.Type.Size)
	f.raw = len(v.Storage.Codecs) == 1 && v.Storage.Codecs[0].Name == "bytes" && f.element > 0
	if err := f.measureForm(); err != nil || v.Storage.Layout == manifest.Chunked {
		return err
	}
	if v.Storage.Stride != 0 && (!f.raw || len(v.Shape) == 0) {
		return fmt.Errorf("%v, %d bytes apart, with codecs: %w", v.Shape, v.Storage.Stride, errors.ErrUnsupported)
	}
	if !f.raw || len(v.Shape) == 0 {
		return nil
	}
	inner, err := grid.Elements(v.Shape[1:])
	if err != nil {
		return err
	}
	hi, row := bits.Mul64(uint64(inner), uint64(f.element))
	f.row, f.stride = int64(row), v.Storage.Stride
	if f.stride == 0 {
		f.stride = f.row
	}
	rows := max(v.Shape[0], 1)
	if hi != 0 || f.row < 0 || f.stride < f.row || f.stride > math.MaxInt64/rows {
		return corruptf("%v of %d bytes, %d bytes apart", v.Shape, f.element, v.Storage.Stride)
	}
	f.countBytes()
	return nil
}

// countBytes finds how far elements are from their neighbours.
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

// HasAxis reports whether the variable has an axis of the array.
func (f *Fit) HasAxis(axis int) bool { return f.axes[axis].axis >= 0 }

// IsRaw reports whether "bytes" is the only codec, and elements have a fixed size.
func (f *Fit) IsRaw() bool { return f.raw }

// memoryForm is how elements lie in memory.
var memoryForm = []codec.Spec{{Name: "bytes", Config: []byte(`{"endian":"little"}`)}}

// measureForm finds out whether elements are stored as they are in memory.
func (f *Fit) measureForm() error {
	if !f.raw {
		return nil
	}
	one, known := f.form(nil), &f.m.layout.common.pipelines
	stored, err := known.New(f.Variable.Storage.Codecs, one)
	if err != nil {
		return err
	}
	memory, err := known.New(memoryForm, one)
	f.memory = err == nil && stored.SameDecode(memory)
	return err
}

// IsMemoryForm reports whether stored bytes are elements as they are in memory.
func (f *Fit) IsMemoryForm() bool { return f.memory }

// Strides returns how many bytes one index of the first axis has, and how many there are
// from one to the next. They are the same where there are no gaps, or not only "bytes".
func (f *Fit) Strides() (row, stride int64) { return f.row, f.stride }

// Pipeline is that of a stored chunk of a codec shape, in the variable's axes. A chunk
// reaches if it extends over the variable's shape.
func (f *Fit) Pipeline(shape []int64, mask uint32, reaches bool) (*codec.Pipeline, error) {
	p, err := f.pipe.get(shape, f.mask(mask, reaches))
	if err != nil {
		return nil, f.m.wrap(fmt.Errorf("variable %s: %w", f.Variable.Path, err))
	}
	return p, nil
}

// mask is a ref's, with the filters that a chunk over the border goes without.
func (f *Fit) mask(mask uint32, reaches bool) uint32 {
	all := uint32(1)<<min(max(f.Variable.Storage.Filters, 0), 31) - 1
	if reaches && f.Variable.Storage.RawEdges {
		return all
	}
	return mask & all
}

// codecs are those of chunks that were stored without the filters of a mask.
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

// isSame reports whether chunks of a codec shape, in the array's axes, that were stored with
// a mask of filters decode to what the schema declares.
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
	if len(f.same) >= maxKept {
		f.same = append(f.same[:0:0], f.same[maxKept/2:]...)
	}
	f.same = append(f.same, found)
	return found.same
}

// compare builds the stored chunk's pipeline for the array's axes: one that the variable
// lacks has length 1, which most codecs do not care about. Those that do refuse the form.
func (f *Fit) compare(shape []int64, mask uint32) bool {
	declared, err := f.m.pipe.get(shape, 0)
	if err != nil {
		return false
	}
	stored, err := f.m.layout.common.pipelines.New(f.codecs(mask), f.form(shape))
	return err == nil && (stored == declared || stored.SameDecode(declared))
}
