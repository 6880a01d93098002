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

	m          *Mosaic
	grid       *grid.Grid   // the variable's chunk grid, in its own axes
	axes       []storedAxis // one for each axis of the array
	rowsBefore int64        // rows of refs before those of the variable
	order      []int        // see Order

	isStraight   bool  // the axes have the array's order
	hasSameFill  bool  // elements that were never written read as the schema's fill
	isRaw        bool  // "bytes" is the only codec: an element's index gives its offset
	isMemoryForm bool  // raw, and the bytes equal the elements in memory
	element      int64 // bytes of an element
	row          int64 // bytes of one index of the first axis, if raw
	stride       int64 // bytes from one index of the first axis to the next

	pipe     pipelines // of stored chunks, in the variable's axes
	mu       sync.RWMutex
	compared []comparison
}

// storedAxis is one axis of the array, as the variable has it.
type storedAxis struct {
	axis   int   // of the variable; -1 if it lacks the axis, so that its values repeat along the tile
	length int64 // of the variable along the axis; 1 if it lacks it
	dim    grid.Dimension
	size   int64 // of each chunk along the axis; 0 if they differ
	chunks int64
	rows   int64 // rows of refs from one chunk to the next along the axis
	bytes  int64 // bytes from one index to the next, if the variable is contiguous
}

// comparison is a result of matchesSchema.
type comparison struct {
	shape   []int64
	mask    uint32
	isMatch bool
}

// orNone returns f, or nil if the header has no such variable.
func (f *Fit) orNone() (*Fit, error) {
	if f.Variable == nil {
		return nil, nil
	}
	return f, nil
}

// newFit returns the fit of a header's variable. It is empty if the header has no such variable.
func (m *Mosaic) newFit(file *manifest.FileHeader) (*Fit, error) {
	h := file.Base() // has the same variables and dimensions
	at, rowsBefore := m.layout.shared.find(h, m.spec.Variables)
	if at < 0 {
		return &Fit{}, nil
	}
	// Another header may share the variable, and so its fit.
	key := fitKey{h.Variables[at], file.DifferencesOf(at), rowsBefore, m.nameMarks(h, h.Variables[at])}
	if f, ok := m.fitsByKey.load(key); ok {
		return f, nil
	}
	v := file.Variable(at)
	f := &Fit{m: m, Variable: v, rowsBefore: rowsBefore}
	if err := f.bind(key.nameMarks); err != nil {
		return nil, fmt.Errorf("variable %s: %w", v.Path, err)
	}
	return m.fitsByKey.loadOrStore(key, f), nil
}

// bind sets the conversion, axes and pipelines of a fit. It returns an error if the variable cannot provide
// elements of the schema.
func (f *Fit) bind(nameMarks string) (err error) {
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
	if err = f.matchAxes(nameMarks); err != nil {
		return err
	}
	if !f.HasRefs() {
		return nil
	}
	f.pipe.of = func(shape []int64, mask uint32) (*codec.Pipeline, error) {
		return f.m.layout.shared.pipelines.New(f.codecs(mask), f.form(shape))
	}
	return f.measure()
}

// form returns the form of stored elements in a chunk of this shape.
func (f *Fit) form(shape []int64) codec.Form {
	return codec.Form{Type: f.Variable.Type, Shape: shape, Fill: f.Variable.Fill.Value}
}

// HasRefs reports whether the variable has rows of refs. If not, all its elements have the fill value.
func (f *Fit) HasRefs() bool {
	switch f.Variable.Storage.Layout {
	case manifest.Chunked, manifest.Strided, manifest.Inline:
		return true
	}
	return false
}

// matchAxes finds the variable's axis for each axis of the array.
func (f *Fit) matchAxes(nameMarks string) error {
	v, used := f.Variable, make([]bool, len(f.Variable.Dims))
	if len(v.Dims) != len(v.Shape) {
		return corruptf("%d dimensions are named for %d axes", len(v.Dims), len(v.Shape))
	}
	for _, want := range f.m.spec.Dims {
		s := storedAxis{axis: -1, length: 1, size: 1, chunks: 1}
		for i, have := range v.Dims {
			// A variable can have the same dimension twice, so an axis is used only once.
			if !used[i] && f.m.dimPath(i, have, nameMarks) == want {
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

// countRows computes the distance between neighbouring chunks in the table of refs, for each axis. Rows
// are in C order of the chunks.
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

// Marks that nameMarks returns.
const (
	namedMark   = '-'
	unnamedMark = '?'
)

// nameMarks returns a mark for each axis of a variable: whether its source names the dimension. It is
// empty if the array matches all axes by name.
func (m *Mosaic) nameMarks(h *manifest.Header, v *manifest.Variable) string {
	if len(m.spec.Unnamed) == 0 {
		return ""
	}
	marks := make([]byte, len(v.Dims))
	for i, d := range v.Dims {
		if marks[i] = namedMark; m.layout.shared.isUnnamed(h, d) {
			marks[i] = unnamedMark
		}
	}
	return string(marks)
}

// dimPath returns the array's path for the dimension of a variable's axis.
func (m *Mosaic) dimPath(axis int, dim, nameMarks string) string {
	if axis < min(len(nameMarks), len(m.spec.Unnamed)) && nameMarks[axis] == unnamedMark && m.spec.Unnamed[axis] != "" {
		return m.spec.Unnamed[axis]
	}
	if path, ok := m.spec.Renamed[dim]; ok {
		return path
	}
	return dim
}

// Order returns the variable's axes in the order in which the array has them. straight is true if the
// variable has them in the same order.
func (f *Fit) Order() (order []int, straight bool) { return f.order, f.isStraight }

// measure computes the distances between elements in bytes, if "bytes" is the only codec.
func (f *Fit) measure() error {
	v := f.Variable
	f.element = int64(v.Type.Size)
	f.isRaw = codec.IsRaw(v.Storage.Codecs) && f.element > 0
	if err := f.measureForm(); err != nil || v.Storage.Layout == manifest.Chunked {
		return err
	}
	if v.Storage.Stride != 0 && (!f.isRaw || len(v.Shape) == 0) {
		return fmt.Errorf("shape %v with a stride of %d bytes and compression is %w", v.Shape, v.Storage.Stride, errors.ErrUnsupported)
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
		return corruptf("the stride is %[3]d bytes, but rows of shape %[1]v with elements of %[2]d bytes are longer, or the variable is too large", v.Shape, f.element, v.Storage.Stride)
	}
	f.countBytes()
	return nil
}

// countBytes computes the distance between neighbouring elements in bytes, for each axis.
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

// measureForm determines whether stored bytes equal the elements in memory, so that they need no
// decoding.
func (f *Fit) measureForm() error {
	if !f.isRaw {
		return nil
	}
	stored, err := f.m.layout.shared.pipelines.New(f.Variable.Storage.Codecs, f.form(nil))
	f.isMemoryForm = err == nil && stored.IsMemoryForm()
	return err
}

// IsMemoryForm reports whether stored bytes equal the elements in memory, so that they need no decoding.
func (f *Fit) IsMemoryForm() bool { return f.isMemoryForm }

// Strides returns the bytes that one index of the first axis occupies, and the bytes from one index to
// the next. Both are equal if there are no gaps. Both are 0 if the variable is not raw.
func (f *Fit) Strides() (row, stride int64) { return f.row, f.stride }

// Pipeline returns the codec pipeline of a stored chunk with this codec shape, in the variable's axes.
// isPadded says that the chunk extends beyond the variable's shape. mask is the filter mask of the
// chunk's ref. For a GRIB message it is the checksum in its ref instead.
func (f *Fit) Pipeline(shape []int64, mask uint32, isPadded bool) (*codec.Pipeline, error) {
	p, err := f.pipe.get(shape, f.skippedFilters(mask, isPadded))
	if err != nil {
		return nil, f.m.wrap(fmt.Errorf("variable %s: %w", f.Variable.Path, err))
	}
	return p.WithCheck(mask), nil
}

// skippedFilters returns a mask of the filters that were skipped for a chunk: the filters of the ref's
// mask or, for a padded chunk of a variable with RawEdges, all filters.
func (f *Fit) skippedFilters(mask uint32, isPadded bool) uint32 {
	all := uint32(1)<<min(max(f.Variable.Storage.Filters, 0), 31) - 1
	// H5Pset_chunk_opts stores padded chunks without filters, and their masks do not say so.
	if isPadded && f.Variable.Storage.RawEdges {
		return all
	}
	return mask & all
}

// codecs returns the codecs of chunks, without the filters that a mask skips.
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

// matchesSchema reports whether stored chunks with this codec shape, in the array's axes, and this
// filter mask decode to the elements that the schema declares. The results are cached.
func (f *Fit) matchesSchema(shape []int64, mask uint32) bool {
	f.mu.RLock()
	for i := range f.compared {
		if s := &f.compared[i]; s.mask == mask && slices.Equal(s.shape, shape) {
			f.mu.RUnlock()
			return s.isMatch
		}
	}
	f.mu.RUnlock()
	found := comparison{slices.Clone(shape), mask, f.compare(shape, mask)}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.compared) >= maxCached {
		f.compared = append(f.compared[:0:0], f.compared[maxCached/2:]...)
	}
	f.compared = append(f.compared, found)
	return found.isMatch
}

// compare computes matchesSchema. It builds the stored chunk's pipeline with the array's axes, and with
// length 1 along axes that the variable lacks. Most codecs ignore such axes, and the others reject the
// form.
func (f *Fit) compare(shape []int64, mask uint32) bool {
	declared, err := f.m.pipe.get(shape, 0)
	if err != nil {
		return false
	}
	stored, err := f.m.layout.shared.pipelines.New(f.codecs(mask), f.form(shape))
	return err == nil && (stored == declared || stored.SameDecode(declared))
}
