package hdf5

import (
	"context"
	"fmt"
	"iter"
	"math/bits"
	"slices"

	"varve/readers"
)

// Dataset is a dataset as the file has it.
type Dataset struct {
	Type      *readers.Type
	Committed bool // the type has a name of its own in the file
	Space     Space
	Shape     []uint64
	MaxShape  []uint64 // readers.Unlimited where there is no maximum
	Layout    readers.Layout
	Filters   []readers.Filter
	Chunk     []uint64 // Chunked
	Index     string   // Chunked: "btree1", "single", "implicit", "farray", "earray", "btree2"
	RawEdges  bool     // Chunked: partial chunks are not filtered
	Offset    int64    // Contiguous: from byte 0 of the source
	Allocated bool     // Contiguous: there is an Offset
	External  []readers.ExternalFile
	Mappings  []readers.Mapping
	FillState readers.FillState
	FillTime  FillTime
	AllocTime AllocTime

	f        *File
	path     string   // the first that leads to it
	declared *Dataset // with the shape that the file says, if its sources have become longer or shorter
	layout   layout
	fill     []byte // one element as stored; nil stands for zeros
	compact  []byte
	oldFill  bool // no message says when storage is allocated: it depends on the layout
}

// readDataset reads what the messages of a dataset say.
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
	return readSharedRef(f.over(m.data, m.addr-f.super.base)).heapID == nil
}

func (d *Dataset) readFill(ctx context.Context, h *header) error {
	v := fillValue{time: FillIfSet, state: readers.FillUndefined}
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
	d.oldFill = old
	if v.state == readers.FillUser {
		if len(v.value) != d.Type.Size {
			return readers.Corruptf("fill value is of %d bytes, elements of %d", len(v.value), d.Type.Size)
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
		return readers.Corruptf("dataset has no layout")
	}
	c := d.f.over(m.data, m.addr-d.f.super.base)
	d.layout = readLayout(c)
	if c.err != nil {
		return c.err
	}
	if d.oldFill {
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

// bytes is the size of all elements as they are stored.
func (d *Dataset) bytes() (uint64, error) {
	if d.Space == Null {
		return 0, nil
	}
	n, ok := product(d.Shape)
	hi, lo := bits.Mul64(n, uint64(d.Type.Size))
	if !ok || hi != 0 || lo >= 1<<63 {
		return 0, readers.Corruptf("size of a dataset of shape %v of %d bytes each is out of range", d.Shape, d.Type.Size)
	}
	return lo, nil
}

func (d *Dataset) checkCompact() error {
	n, err := d.bytes()
	if err == nil && d.Space != Null && uint64(len(d.compact)) != n {
		err = readers.Corruptf("compact data of %d bytes for shape %v of %d bytes each", len(d.compact), d.Shape, d.Type.Size)
	}
	return err
}

func (d *Dataset) readContiguous(ctx context.Context, h *header) error {
	if m, ok := h.find(msgExternalFiles); ok {
		d.Layout = readers.External
		return d.readExternal(ctx, m)
	}
	if d.layout.addr == undefined {
		return nil // of any shape: nothing is stored
	}
	n, err := d.bytes()
	if err != nil {
		return err
	}
	if d.layout.sized && d.layout.size < n {
		return readers.Corruptf("contiguous data of %d bytes for shape %v of %d bytes each", d.layout.size, d.Shape, d.Type.Size)
	}
	if n == 0 && d.layout.sized && d.layout.size == 0 {
		return nil // nor here: rust-hdf5 has an address for no bytes
	}
	if n == 0 {
		return readers.Corruptf("contiguous data at address %d of a dataset of no elements", d.layout.addr)
	}
	d.Offset, err = d.f.offset(d.layout.addr, n)
	d.Allocated = err == nil
	return err
}

func (d *Dataset) readExternal(ctx context.Context, m message) error {
	c := d.f.over(m.data, m.addr-d.f.super.base)
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
		return readers.Corruptf("chunks have %d dimensions, the dataset %d", len(d.layout.chunk), len(d.Shape))
	}
	// PureHDF wrote other sizes there, by which libhdf5 reads nothing before 2.0, and all lengths in eight bytes.
	if !d.layout.wide && d.layout.element != uint64(d.Type.Size) {
		return readers.Corruptf("chunks are of elements of %d bytes, the dataset of %d", d.layout.element, d.Type.Size)
	}
	if _, ok := d.layout.chunkBytes(d.Type.Size); !ok {
		return readers.Corruptf("chunks of shape %v are too large", d.layout.chunk)
	}
	for i, n := range d.layout.chunk {
		if most := d.MaxShape[i]; most != readers.Unlimited && most != 0 && n > most && d.layout.version > 3 {
			return readers.Corruptf("chunks of shape %v in a dataset of up to %v", d.layout.chunk, d.MaxShape)
		}
	}
	if grid := gridOf(d.Shape, d.layout.chunk); len(grid) > 0 && slices.Max(grid) >= 1<<62 {
		return readers.Corruptf("shape %v has more chunks of %v than there can be", d.Shape, d.layout.chunk)
	}
	d.Chunk, d.Index = d.layout.chunk, d.layout.index.String()
	d.RawEdges = d.layout.flags&flagRawEdges != 0
	return nil
}

// Refs streams where the stored chunks of a chunked dataset are. Those that lie outside
// the shape are left out and counted in outside, if that is not nil.
//
// In a damaged index there can be chunks that libhdf5 lists, but does not find when it reads
// values. These are here, and an error in the refs of a readers.Storage.
func (d *Dataset) Refs(ctx context.Context, outside *Outside) iter.Seq2[*readers.Ref, error] {
	x := d.index()
	return x.refs(ctx, outside)
}

// strictRefs streams the chunks that values are read from. One that libhdf5 lists and does not find
// when it reads values is an error.
func (d *Dataset) strictRefs(ctx context.Context) iter.Seq2[*readers.Ref, error] {
	return d.findable(ctx, func(err error) (bool, error) { return false, err })
}

// findable streams the chunks that values are read from.
func (d *Dataset) findable(ctx context.Context, unfound func(error) (bool, error)) iter.Seq2[*readers.Ref, error] {
	x := d.index()
	x.findable, x.unfound = true, unfound
	return x.refs(ctx, nil)
}

// inOrder reports whether the index has chunks in C order. An extensible array begins with its
// unlimited dimension, whichever that is.
func (d *Dataset) inOrder() bool {
	return d.layout.index != indexExtensibleArray || slices.Index(d.MaxShape, readers.Unlimited) == 0
}

func (d *Dataset) index() *chunkIndex {
	size, _ := d.layout.chunkBytes(d.Type.Size)
	return &chunkIndex{
		f:        d.f,
		path:     d.path,
		addr:     d.layout.addr,
		kind:     d.layout.index,
		version:  d.layout.version,
		filtered: len(d.Filters) > 0,
		chunk:    d.Chunk,
		shape:    d.Shape,
		maxShape: d.MaxShape,
		bytes:    size,
		size:     uint64(d.Type.Size),
		oneSize:  d.layout.oneSize,
		oneMask:  d.layout.oneMask,
		flags:    d.layout.flags,
	}
}

// chunkSize is the size of a chunk before filters.
func (d *Dataset) chunkSize() uint64 {
	n, _ := d.layout.chunkBytes(d.Type.Size)
	return n
}

// FillValue returns one element of the fill value in memory form, and whether somebody set
// one.
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

// StoredBytes is how many bytes a dataset that is not chunked has in storage.
func (d *Dataset) StoredBytes() uint64 {
	switch {
	case d.Layout == readers.Inline:
		return uint64(len(d.compact))
	case d.Layout == readers.Contiguous && !d.Allocated:
		return 0
	case d.layout.sized:
		return d.layout.size
	}
	n, _ := d.bytes()
	return n
}

// Elsewhere reports whether values are in other files.
func (d *Dataset) Elsewhere() bool {
	for _, m := range d.Mappings {
		if m.File != "." {
			return true
		}
	}
	return len(d.External) > 0
}
