package hdf5

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"varve/codec"
	"varve/readers"
)

// ReadAll returns all elements of a dataset as stored, in C order, with fill values where nothing
// is stored. It fails if they take more than limit bytes. Where a damaged index makes libhdf5 read
// fill values instead of a chunk, ReadAll returns these too.
func (d *Dataset) ReadAll(ctx context.Context, limit uint64) ([]byte, error) {
	out, err := d.readAll(ctx, limit, newNesting())
	return out, d.f.locate(d.path, err)
}

// readAll is ReadAll for a dataset that a virtual dataset may refer to.
func (d *Dataset) readAll(ctx context.Context, limit uint64, in nesting) ([]byte, error) {
	n, err := d.bytes()
	if err != nil {
		return nil, err
	}
	if n > limit {
		return nil, unsupported("dataset of %d bytes is too large to read at once (limit %d)", n, limit)
	}
	switch d.Layout {
	case readers.Inline:
		return d.compact, nil
	case readers.Contiguous:
		if !d.Allocated {
			return d.filled(n), nil
		}
		out := make([]byte, n)
		_, err := d.f.src.ReadAt(ctx, out, d.Offset)
		return out, err
	case readers.Chunked:
		out := d.filled(n)
		return out, d.readChunks(ctx, out, allRows, in.isStrict)
	case readers.Virtual:
		out := d.filled(n)
		if n == 0 {
			return out, nil
		}
		return out, d.readVirtualValues(ctx, out, in)
	case readers.External:
		out := make([]byte, n)
		return out, d.readExternalFiles(ctx, out)
	}
	return nil, unsupported("%s storage cannot be read", d.Layout)
}

// rows is a range of indexes along the first dimension.
type rows struct{ first, end uint64 }

var allRows = rows{0, math.MaxUint64}

// hasRows reports whether rows of a dataset can be read separately.
func (d *Dataset) hasRows() bool {
	return len(d.Shape) > 0 && (d.Layout == readers.Chunked || d.Layout == readers.Contiguous && d.Allocated)
}

// rowBytes returns the size in bytes of one row of a dataset that hasRows.
func (d *Dataset) rowBytes() uint64 {
	n, _ := product(d.Shape[1:])
	return n * uint64(d.Type.Size)
}

// readRows is readAll for some rows of a dataset that hasRows.
func (d *Dataset) readRows(ctx context.Context, r rows, limit uint64, in nesting) ([]byte, error) {
	n := (r.end - r.first) * d.rowBytes()
	if n > limit {
		return nil, unsupported("%d rows of %d bytes are too large to read at once (limit %d)", r.end-r.first, n, limit)
	}
	if d.Layout == readers.Contiguous {
		out := make([]byte, n)
		_, err := d.f.src.ReadAt(ctx, out, d.Offset+int64(r.first*d.rowBytes()))
		return out, err
	}
	out := d.filled(n)
	return out, d.readChunks(ctx, out, r, in.isStrict)
}

// filled returns n bytes of fill values. Virtual datasets ignore the fill time, because they store
// nothing.
func (d *Dataset) filled(n uint64) []byte {
	out := make([]byte, n)
	if d.fill == nil || len(out) == 0 || d.FillTime == FillNever && d.Layout != readers.Virtual {
		return out
	}
	// Double the filled part until it covers everything.
	for at := copy(out, d.fill); at > 0 && at < len(out); {
		at += copy(out[at:], out[:at])
	}
	return out
}

// chunkDecoder decodes the chunks of one dataset. It keeps one pipeline per filter mask.
type chunkDecoder struct {
	d         *Dataset
	form      codec.Form
	pipelines map[uint32]*codec.Pipeline
	stored    []byte
	chunk     []byte
}

// decode returns the elements of a chunk as stored, without filters. The next call reuses the
// buffer.
func (x *chunkDecoder) decode(ctx context.Context, r *readers.Ref, b *box) ([]byte, error) {
	stored, err := x.read(ctx, r)
	if err != nil {
		return nil, err
	}
	mask := r.Mask
	// The flag "don't filter partial edge chunks" has the effect of a mask of all filters.
	if b.isPartial && x.d.RawEdges {
		mask = ^uint32(0)
	}
	p, err := x.pipeline(mask)
	if err != nil {
		return nil, err
	}
	err = p.Decode(codec.Elems{Fixed: x.chunk}, stored)
	var length *codec.LengthError
	if b.isPartial && errors.As(err, &length) {
		err = x.decodeStart(p, stored, b, length)
	}
	if err != nil {
		return nil, fmt.Errorf("chunk %v at offset %d: %w", r.Index, r.Offset, err)
	}
	return x.chunk, nil
}

// read returns the stored bytes of a chunk, after it has checked that the decoded size is plausible
// for them. A damaged size must not allocate memory.
func (x *chunkDecoder) read(ctx context.Context, r *readers.Ref) ([]byte, error) {
	size := int64(min(r.Size, math.MaxInt64))
	all, err := x.d.bytes()
	// Check every limit before allocating anything.
	if err = cmp.Or(err, codec.CheckStored(size), x.form.CheckSize(), x.form.CheckGrowth(size), x.form.CheckSpare(int64(all))); err != nil {
		return nil, fmt.Errorf("chunk %v at offset %d: %w", r.Index, r.Offset, err)
	}
	if x.chunk == nil {
		x.chunk = make([]byte, x.form.Bytes())
	}
	if uint64(cap(x.stored)) < r.Size {
		x.stored = make([]byte, r.Size)
	}
	stored := x.stored[:r.Size]
	_, err = x.d.f.src.ReadAt(ctx, stored, r.Offset)
	return stored, err
}

// decodeStart decodes a chunk that is too short, if the missing elements are outside the dataset.
// Some programs write edge chunks like this, and libhdf5 accepts them.
func (x *chunkDecoder) decodeStart(p *codec.Pipeline, stored []byte, b *box, length *codec.LengthError) error {
	n, size := length.Have, x.d.Type.Size
	// The elements before the last one inside the dataset must all be there.
	if n >= length.Need || n%size != 0 || uint64(n/size) < b.elements(x.d.Chunk) {
		return length
	}
	start, err := p.WithShape([]int64{int64(n / size)})
	if err != nil {
		return err
	}
	return start.Decode(codec.Elems{Fixed: x.chunk[:n]}, stored)
}

func (x *chunkDecoder) pipeline(mask uint32) (*codec.Pipeline, error) {
	if p := x.pipelines[mask]; p != nil {
		return p, nil
	}
	p, err := rawPipeline(x.d.Filters, mask, x.form)
	if err == nil {
		x.pipelines[mask] = p
	}
	return p, err
}

// readChunks copies the parts of all stored chunks in some rows to out. A chunk that a search of
// the index does not find is an error if strict, and otherwise skipped.
func (d *Dataset) readChunks(ctx context.Context, out []byte, some rows, strict bool) error {
	if len(out) == 0 {
		return nil
	}
	size := d.chunkSize()
	x := chunkDecoder{d: d, form: rawForm(int(size)/d.Type.Size, d.Type.Size), pipelines: map[uint32]*codec.Pipeline{}}
	onUnfound := func(err error) (bool, error) {
		if !strict {
			err = nil
		}
		return false, err
	}
	for r, err := range d.findableRefs(ctx, onUnfound) {
		if err != nil {
			return err
		}
		b := newBox(d.Shape, d.Chunk, r.Index)
		if !b.hasRows(some) {
			continue
		}
		chunk, err := x.decode(ctx, r, &b)
		if err != nil {
			return err
		}
		before := b.cutToRows(some)
		// Skip the rows of the chunk before the first wanted one.
		if before > 0 {
			chunk = chunk[before*(size/d.Chunk[0]):]
		}
		b.copy(out, chunk, d.Shape, d.Chunk, d.Type.Size)
	}
	return nil
}

// box is the position of a chunk in its dataset.
type box struct {
	origin    []uint64
	shape     []uint64 // cut at the dataset's shape
	isPartial bool     // the chunk extends beyond the dataset
}

func newBox(shape, chunk, index []uint64) box {
	b := box{origin: make([]uint64, len(shape)), shape: make([]uint64, len(shape))}
	for i := range shape {
		b.origin[i] = index[i] * chunk[i]
		b.shape[i] = min(chunk[i], shape[i]-b.origin[i])
		b.isPartial = b.isPartial || b.shape[i] < chunk[i]
	}
	return b
}

// hasRows reports whether a box contains some of the rows.
func (b *box) hasRows(r rows) bool {
	return len(b.origin) == 0 || b.origin[0] < r.end && b.origin[0]+b.shape[0] > r.first
}

// cutToRows reduces a box to the rows of r, with an origin relative to these, and returns how many of its
// rows come before them.
func (b *box) cutToRows(r rows) uint64 {
	if len(b.origin) == 0 {
		return 0
	}
	first, end := max(b.origin[0], r.first), min(b.origin[0]+b.shape[0], r.end)
	before := first - b.origin[0]
	b.origin[0], b.shape[0] = first-r.first, end-first
	return before
}

// elements returns the number of leading elements of a chunk, in C order, up to the last one inside
// the dataset.
func (b *box) elements(chunk []uint64) uint64 {
	last := uint64(0)
	for i, n := range b.shape {
		last = last*chunk[i] + n - 1
	}
	return last + 1
}

// copy copies the part of a chunk inside the dataset to dst, row by row.
func (b *box) copy(dst, src []byte, shape, chunk []uint64, size int) {
	rank := len(shape)
	if rank == 0 {
		copy(dst, src)
		return
	}
	row := int(b.shape[rank-1]) * size
	at := make([]uint64, rank)
	for {
		var from, to uint64
		for d := range rank {
			from = from*chunk[d] + at[d]
			to = to*shape[d] + b.origin[d] + at[d]
		}
		copy(dst[to*uint64(size):][:row], src[from*uint64(size):])
		// Advance to the next row: an odometer over all dimensions except the last.
		d := rank - 2
		for ; d >= 0; d-- {
			if at[d]++; at[d] < b.shape[d] {
				break
			}
			at[d] = 0
		}
		if d < 0 {
			return
		}
	}
}

// Chunks is a summary of the chunk index of a dataset.
type Chunks struct {
	Refs    []readers.Ref // sorted by chunk index; nil if there are more than requested
	Count   int
	Masked  int    // chunks for which a filter was skipped
	Bytes   uint64 // stored size
	Outside Outside
	Unfound error // for the first chunk that a search of the index does not find
}

// ReadChunkList reads the chunk index of a dataset, and keeps the refs if there are at most limit.
func (d *Dataset) ReadChunkList(ctx context.Context, limit int) (*Chunks, error) {
	c := &Chunks{}
	x := d.index()
	x.onUnfound = func(err error) (bool, error) {
		c.Unfound = cmp.Or(c.Unfound, d.f.locate(d.path, err))
		return true, nil
	}
	for r, err := range x.refs(ctx, &c.Outside) {
		if err != nil {
			return nil, d.f.locate(d.path, err)
		}
		c.Count++
		c.Bytes += r.Size
		if r.Mask != 0 {
			c.Masked++
		}
		if c.Count <= limit {
			c.Refs = append(c.Refs, readers.Ref{Index: slices.Clone(r.Index), Offset: r.Offset, Size: r.Size, Mask: r.Mask})
		}
	}
	// Part of a list would be mistaken for the whole.
	if c.Count > limit {
		c.Refs = nil
	}
	byPlace := func(a, b readers.Ref) int { return slices.Compare(a.Index, b.Index) }
	if !slices.IsSortedFunc(c.Refs, byPlace) {
		slices.SortFunc(c.Refs, byPlace)
	}
	return c, nil
}
