package hdf5

import (
	"context"
	"fmt"
	"iter"
	"math/bits"
	"slices"

	"varve/readers"
)

// Dataset is a dataset, as stored in the file.
type Dataset struct {
	Type      *readers.Type
	Committed bool // the datatype is a named one
	Space     Space
	Shape     []uint64
	MaxShape  []uint64 // readers.Unlimited for dimensions without a maximum
	Layout    readers.Layout
	Filters   []readers.Filter
	Chunk     []uint64 // Chunked
	Index     string   // Chunked: "btree1", "single", "implicit", "farray", "earray", "btree2"
	RawEdges  bool     // Chunked: partial chunks are not filtered
	Offset    int64    // Contiguous: from the start of the source
	Allocated bool     // Contiguous: Offset is set
	External  []readers.ExternalFile
	Mappings  []readers.Mapping
	FillState readers.FillState
	FillTime  FillTime
	AllocTime AllocTime

	f          *File
	path       string   // first path found for it
	declared   *Dataset // with the shape in the file, if the sources of a virtual dataset have another extent now
	layout     layout
	fill       []byte // one element as stored; nil means zeros
	compact    []byte
	hasOldFill bool // no fill value message (type 5): the allocation time depends on the layout
}

// readDataset decodes the messages of a dataset's object header.
func (f *File) readDataset(ctx context.Context, h *header) (*Dataset, error) {
	d := &Dataset{f: f}
	m, _ := h.find(msgDatatype)
	d.Committed = f.isCommitted(m)
	var err error
	if d.Type, err = f.typeMessage(ctx, m, h); err != nil {
		return nil, err
	}
	m, _ = h.find(msgDataspace)
	c, err := f.cursorOf(ctx, m)
	if err != nil {
		return nil, err
	}
	s := readDataspace(&c)
	if c.err != nil {
		return nil, c.err
	}
	d.Space, d.Shape, d.MaxShape = s.kind, s.shape, s.maxShape
	if err := d.readFill(ctx, h); err != nil {
		return nil, err
	}
	if err := d.readFilters(ctx, h); err != nil {
		return nil, err
	}
	return d, d.readLayout(ctx, h)
}

func (f *File) isCommitted(m message) bool {
	if m.flags&flagShared == 0 {
		return false
	}
	return readSharedRef(f.newCursor(m.data, m.addr-f.super.base)).heapID == nil
}

func (d *Dataset) readFill(ctx context.Context, h *header) error {
	v := fillValue{time: FillIfSet, state: readers.FillUndefined}
	// Files of HDF5 1.4 and earlier have the old fill value message only.
	m, ok := h.find(msgFill)
	old := !ok
	if old {
		m, ok = h.find(msgOldFill)
	}
	if ok {
		c, err := d.f.cursorOf(ctx, m)
		if err != nil {
			return err
		}
		if m.kind == msgFill {
			v = readFill(&c)
		} else {
			v = readOldFill(&c)
		}
		if c.err != nil {
			return c.err
		}
	}
	d.FillState, d.FillTime, d.AllocTime = v.state, v.time, v.alloc
	d.hasOldFill = old
	if v.state == readers.FillUser {
		if len(v.value) != d.Type.Size {
			return readers.Corruptf("fill value has %d bytes (elements have %d)", len(v.value), d.Type.Size)
		}
		d.fill = v.value
	}
	return nil
}

func (d *Dataset) readFilters(ctx context.Context, h *header) error {
	m, ok := h.find(msgFilters)
	if !ok {
		return nil
	}
	c, err := d.f.cursorOf(ctx, m)
	if err != nil {
		return err
	}
	d.Filters = readFilters(&c)
	resolveFilters(d.Filters, d.Type)
	return c.err
}

func (d *Dataset) readLayout(ctx context.Context, h *header) error {
	m, ok := h.find(msgLayout)
	if !ok {
		return readers.Corruptf("dataset has no data layout message")
	}
	c := d.f.newCursor(m.data, m.addr-d.f.super.base)
	d.layout = readLayout(c)
	if c.err != nil {
		return c.err
	}
	// Files of HDF5 1.4 store no allocation time: it follows from the layout class.
	if d.hasOldFill {
		d.AllocTime = [...]AllocTime{AllocEarly, AllocLate, AllocIncremental, AllocIncremental}[d.layout.class]
	}
	switch d.layout.class {
	case classCompact:
		d.Layout, d.compact = readers.Inline, d.layout.compact
		return d.checkCompact()
	case classContiguous:
		d.Layout = readers.Contiguous
		return d.readContiguous(ctx, h)
	case classVirtual:
		d.Layout = readers.Virtual
		return d.readVirtual(ctx)
	}
	d.Layout = readers.Chunked
	return d.readChunkedLayout()
}

// bytes returns the size of all elements as stored, in bytes.
func (d *Dataset) bytes() (uint64, error) {
	if d.Space == Null {
		return 0, nil
	}
	n, ok := product(d.Shape)
	hi, lo := bits.Mul64(n, uint64(d.Type.Size))
	if !ok || hi != 0 || lo >= 1<<63 {
		return 0, readers.Corruptf("dataset of shape %v with elements of %d bytes is too large", d.Shape, d.Type.Size)
	}
	return lo, nil
}

func (d *Dataset) checkCompact() error {
	n, err := d.bytes()
	// A null dataspace has no elements; the message may still hold bytes.
	if err == nil && d.Space != Null && uint64(len(d.compact)) != n {
		err = readers.Corruptf("compact data has %d bytes, which do not fit shape %v with elements of %d bytes", len(d.compact), d.Shape, d.Type.Size)
	}
	return err
}

func (d *Dataset) readContiguous(ctx context.Context, h *header) error {
	if m, ok := h.find(msgExternalFiles); ok {
		d.Layout = readers.External
		return d.readExternal(ctx, m)
	}
	// Late allocation: no value was written yet.
	if d.layout.addr == undefined {
		return nil // never allocated
	}
	n, err := d.bytes()
	if err != nil {
		return err
	}
	if d.layout.hasSize && d.layout.size < n {
		return readers.Corruptf("contiguous data has %d bytes, too few for shape %v with elements of %d bytes", d.layout.size, d.Shape, d.Type.Size)
	}
	if n == 0 && d.layout.hasSize && d.layout.size == 0 {
		return nil // rust-hdf5 writes an address for empty datasets
	}
	if n == 0 {
		return readers.Corruptf("contiguous data at address %d, but the dataset is empty", d.layout.addr)
	}
	d.Offset, err = d.f.offset(d.layout.addr, n)
	d.Allocated = err == nil
	return err
}

func (d *Dataset) readExternal(ctx context.Context, m message) error {
	c := d.f.newCursor(m.data, m.addr-d.f.super.base)
	list := readExternal(c)
	if c.err != nil {
		return c.err
	}
	heap, err := d.f.readLocalHeap(ctx, list.heap)
	if err != nil {
		return err
	}
	for _, s := range list.slots {
		name, err := heap.text(s.nameOffset)
		if err != nil {
			return err
		}
		d.External = append(d.External, readers.ExternalFile{Name: name, Offset: s.offset, Size: s.size})
	}
	return nil
}

func (d *Dataset) readChunkedLayout() error {
	if len(d.layout.chunk) != len(d.Shape) {
		return readers.Corruptf("chunks have %d dimensions (dataset has %d)", len(d.layout.chunk), len(d.Shape))
	}
	// PureHDF writes other element sizes here, together with lengths of eight bytes. libhdf5
	// rejects these files before version 2.0, which ignores the field if lengths have eight bytes.
	if !d.layout.hasWideLengths && d.layout.element != uint64(d.Type.Size) {
		return readers.Corruptf("chunks have elements of %d bytes (dataset has %d)", d.layout.element, d.Type.Size)
	}
	if _, ok := d.layout.chunkBytes(d.Type.Size); !ok {
		return readers.Corruptf("chunks of shape %v are too large", d.layout.chunk)
	}
	for i, n := range d.layout.chunk {
		// libhdf5 checks this for layout messages of version 4 and later.
		if most := d.MaxShape[i]; most != readers.Unlimited && most != 0 && n > most && d.layout.version > 3 {
			return readers.Corruptf("chunks of shape %v exceed the maximum shape %v", d.layout.chunk, d.MaxShape)
		}
	}
	if grid := gridOf(d.Shape, d.layout.chunk); len(grid) > 0 && slices.Max(grid) >= 1<<62 {
		return readers.Corruptf("shape %v has too many chunks of shape %v", d.Shape, d.layout.chunk)
	}
	d.Chunk, d.Index = d.layout.chunk, d.layout.index.String()
	d.RawEdges = d.layout.flags&flagRawEdges != 0
	return nil
}

// Refs streams the positions of the stored chunks of a chunked dataset. It skips chunks outside the
// shape, and counts them in outside if that is not nil.
//
// A damaged index can list chunks that libhdf5 does not find when it reads values. Refs yields
// these; the refs of a readers.Storage end with an error instead.
func (d *Dataset) Refs(ctx context.Context, outside *Outside) iter.Seq2[*readers.Ref, error] {
	x := d.index()
	return x.refs(ctx, outside)
}

// strictRefs streams the chunks that values are read from. A chunk that the index lists and a
// search by libhdf5 does not find is an error.
func (d *Dataset) strictRefs(ctx context.Context) iter.Seq2[*readers.Ref, error] {
	return d.findableRefs(ctx, func(err error) (bool, error) { return false, err })
}

// findableRefs streams the chunks that a search finds. It calls onUnfound for each other chunk.
func (d *Dataset) findableRefs(ctx context.Context, onUnfound func(error) (bool, error)) iter.Seq2[*readers.Ref, error] {
	x := d.index()
	x.requireReadable, x.onUnfound = true, onUnfound
	return x.refs(ctx, nil)
}

// inOrder reports whether the index lists chunks in C order. An extensible array is ordered by its
// unlimited dimension first.
func (d *Dataset) inOrder() bool {
	return d.layout.index != indexExtensibleArray || slices.Index(d.MaxShape, readers.Unlimited) == 0
}

func (d *Dataset) index() *chunkIndex {
	size, _ := d.layout.chunkBytes(d.Type.Size)
	return &chunkIndex{
		f:          d.f,
		path:       d.path,
		addr:       d.layout.addr,
		kind:       d.layout.index,
		version:    d.layout.version,
		isFiltered: len(d.Filters) > 0,
		chunk:      d.Chunk,
		shape:      d.Shape,
		maxShape:   d.MaxShape,
		bytes:      size,
		size:       uint64(d.Type.Size),
		oneSize:    d.layout.oneSize,
		oneMask:    d.layout.oneMask,
		flags:      d.layout.flags,
	}
}

// chunkSize returns the size of a chunk before filters, in bytes.
func (d *Dataset) chunkSize() uint64 {
	n, _ := d.layout.chunkBytes(d.Type.Size)
	return n
}

// FillValue returns one element of the fill value in memory form, and whether the file sets one.
func (d *Dataset) FillValue(ctx context.Context) ([]byte, bool, error) {
	if d.FillState != readers.FillUser {
		return nil, false, nil
	}
	v, err := d.f.Canonical(ctx, nil, d.Type, d.fill)
	if err != nil {
		err = d.f.locate(d.path, fmt.Errorf("fill value: %w", err))
	}
	return v, true, err
}

// StoredBytes returns the stored size of a dataset that is not chunked.
func (d *Dataset) StoredBytes() uint64 {
	switch {
	case d.Layout == readers.Inline:
		return uint64(len(d.compact))
	case d.Layout == readers.Contiguous && !d.Allocated:
		return 0
	case d.layout.hasSize:
		return d.layout.size
	}
	n, _ := d.bytes()
	return n
}

// Elsewhere reports whether values are stored in other files.
func (d *Dataset) Elsewhere() bool {
	for _, m := range d.Mappings {
		if m.File != "." {
			return true
		}
	}
	return len(d.External) > 0
}
