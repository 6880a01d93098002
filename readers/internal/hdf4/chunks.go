package hdf4

import (
	"context"
	"encoding/binary"
	"iter"
	"slices"

	"varve/readers"
)

const maxRank = 32 // limit of the SD interface

// chunkHead is the header of an element that is stored in chunks.
type chunkHead struct {
	bytes        int64
	size, number int64 // number of elements of a chunk, number of bytes of an element
	table        key
	shape, chunk []uint64
	fill         []byte
	coder        coder
}

func (c *cursor) chunkHead() (*chunkHead, error) {
	c.take(4) // length of the rest of the header
	if v := c.take(1); v != nil && v[0] != 0 {
		return nil, c.fail(unsupported("chunked element of version %d", v[0]))
	}
	flags := c.int32()
	h := &chunkHead{bytes: c.int32()}
	h.size, h.number = c.int32(), c.int32()
	h.table = key{c.uint16(), c.uint16()}
	c.take(4) // a second table, which is not used
	rank := c.int32()
	if c.err == nil && (rank < 1 || rank > maxRank) {
		return nil, c.corrupt("chunked element: rank is %d (want 1 to %d)", rank, maxRank)
	}
	for i := int64(0); i < rank && c.err == nil; i++ {
		c.take(4)
		n, chunk := c.int32(), c.int32()
		if c.err == nil && (n < 0 || chunk < 1) {
			return nil, c.corrupt("chunked element: chunk length %d of a dimension of length %d", chunk, n)
		}
		h.shape, h.chunk = append(h.shape, uint64(n)), append(h.chunk, uint64(chunk))
	}
	h.fill = c.take(c.int32())
	if flags&0xff == compressed {
		c.take(6)
		h.coder = c.coder()
	}
	// The header counts elements, the rest of this package bytes.
	h.bytes *= h.number
	return h, c.err
}

// setChunkStorage sets the storage of a variable in chunks.
func (b *builder) setChunkStorage(v *readers.Variable, s *stored) error {
	h, out := s.chunks, &v.Storage
	size, err := sizeOf(v.Type, h.chunk)
	switch {
	case err != nil:
		return err
	case !slices.Equal(h.shape, v.Shape):
		return b.fail(s.offset, readers.Corruptf("chunked element has shape %v (the dataset has %v)", h.shape, v.Shape))
	case h.number != int64(v.Type.Size) || h.size*h.number != size:
		return b.fail(s.offset, readers.Corruptf("chunked element: chunks of shape %v cannot have %d elements of %d bytes", h.chunk, h.size, h.number))
	}
	// A fill value of another size cannot be one element, and is ignored.
	if len(h.fill) == v.Type.Size {
		fill, err := v.Type.AppendMemory(nil, h.fill)
		if err != nil {
			return err
		}
		v.Fill.Value = fill
	}
	out.Layout, out.Index, out.ChunkShape = readers.Chunked, "table", h.chunk
	setFilters(out, h.coder)
	out.ReadIndex = func(ctx context.Context) iter.Seq2[*readers.Ref, error] {
		return func(yield func(*readers.Ref, error) bool) { b.withFullBudget().tableRefs(ctx, h, size, yield) }
	}
	return nil
}

// withFullBudget returns a copy of the file with a full budget, for reads after the file was opened.
func (f *file) withFullBudget() *file {
	own := *f
	own.budget = maxMetadata
	return &own
}

// tableRefs yields the chunks that a table lists. size is the uncompressed size of a chunk in
// bytes.
func (f *file) tableRefs(ctx context.Context, h *chunkHead, size int64, yield func(*readers.Ref, error) bool) {
	j := joiner{file: f}
	rank := int64(len(h.shape))
	rows, err := f.chunkTable(ctx, h)
	if err != nil {
		yield(nil, err)
		return
	}
	// Two rows for one chunk would make its value depend on the order of reading.
	seen := map[uint64]bool{}
	for row := range slices.Chunk(rows, int(4*rank+4)) {
		index, number, err := f.chunkPosition(h, row)
		if err == nil && seen[number] {
			err = f.fail(-1, readers.Corruptf("chunk %v is listed twice", index))
		}
		seen[number] = true
		if err != nil {
			yield(nil, err)
			return
		}
		tag, ref := binary.BigEndian.Uint16(row[4*rank:]), binary.BigEndian.Uint16(row[4*rank+2:])
		if tag != tagChunk {
			continue // the chunk was never written
		}
		runs, err := f.chunkRuns(ctx, h, ref, size)
		if err != nil {
			yield(nil, err)
			return
		}
		r, err := j.ref(ctx, chunk{index, runs})
		if !yield(r, err) || err != nil {
			return
		}
	}
}

// chunkTable reads the chunk table. A row is the grid position of a chunk (4 bytes a dimension) and
// the tag and reference number of its element.
func (f *file) chunkTable(ctx context.Context, h *chunkHead) ([]byte, error) {
	t, err := f.vdata(ctx, h.table.ref)
	if err != nil {
		return nil, err
	}
	if h.table.tag != tagVdata || !t.isInterlaced || t.row != int64(4*len(h.shape)+4) {
		return nil, f.fail(-1, readers.Corruptf("element %d/%d with rows of %d bytes is not a chunk table of rank %d", h.table.tag, h.table.ref, t.row, len(h.shape)))
	}
	return f.values(ctx, t)
}

// chunkPosition returns the grid position of the chunk in a row, and its number in C order.
func (f *file) chunkPosition(h *chunkHead, row []byte) (index []uint64, number uint64, err error) {
	for i, n := range h.shape {
		at, chunks := uint64(binary.BigEndian.Uint32(row[4*i:])), (n+h.chunk[i]-1)/h.chunk[i]
		index = append(index, at)
		if at >= chunks {
			return index, 0, f.fail(-1, readers.Corruptf("chunk table: position %d of %d chunks in dimension %d", at, chunks, i))
		}
		number = number*chunks + at
	}
	return index, number, nil
}

// chunkRuns returns the positions of the bytes of a chunk.
func (f *file) chunkRuns(ctx context.Context, h *chunkHead, ref uint16, size int64) ([]run, error) {
	d, ok := f.find(tagChunk, ref)
	if !ok {
		return nil, f.fail(-1, readers.Corruptf("chunk element %d does not exist", ref))
	}
	s, err := f.readStored(ctx, d)
	switch {
	case err != nil:
		return nil, err
	// The bytes of a chunk must be in this file, and not be split further.
	case s.kind == external || s.kind == chunked:
		return nil, f.fail(d.at, unsupported("chunk element %d has the special storage kind %d", ref, s.kind))
	case s.coder != h.coder:
		return nil, f.fail(d.at, unsupported("chunk element %d is compressed with another method than the dataset", ref))
	case s.bytes < size:
		return nil, f.fail(d.at, readers.Corruptf("chunk element %d has %d of %d bytes", ref, s.bytes, size))
	case s.kind == compressed:
		return s.runs, nil
	}
	return cutRuns(s.runs, 0, size), nil
}

// readWhole sets the index of a variable with a single chunk.
func (b *builder) readWhole(v *readers.Variable, runs []run) {
	first := make([]uint64, len(v.Shape))
	v.Storage.ReadIndex = func(ctx context.Context) iter.Seq2[*readers.Ref, error] {
		return func(yield func(*readers.Ref, error) bool) {
			j := joiner{file: b.withFullBudget()}
			yield(j.ref(ctx, chunk{first, runs}))
		}
	}
}

// readRows sets the index of a variable with one chunk for each row of its first dimension.
func (b *builder) readRows(v *readers.Variable, runs []run) {
	rank, rows := len(v.Shape), v.Shape[0]
	row := total(runs) / int64(rows)
	v.Storage.ReadIndex = func(ctx context.Context) iter.Seq2[*readers.Ref, error] {
		return func(yield func(*readers.Ref, error) bool) {
			j, left := joiner{file: b.withFullBudget()}, splitter{runs: runs}
			for i := range rows {
				index := make([]uint64, rank)
				index[0] = i
				r, err := j.ref(ctx, chunk{index, left.take(row)})
				if !yield(r, err) || err != nil {
					return
				}
			}
		}
	}
}

// splitter takes bytes from the start of a list of runs.
type splitter struct {
	runs []run
	used int64 // bytes already taken of the first run
}

func (s *splitter) take(n int64) (out []run) {
	for n > 0 && len(s.runs) > 0 {
		r := s.runs[0]
		part := run{r.offset, min(n, r.length-s.used)}
		if r.offset >= 0 {
			// Zeros that are not stored have no offset to advance.
			part.offset += s.used
		}
		out = append(out, part)
		n -= part.length
		if s.used += part.length; s.used == r.length {
			s.runs, s.used = s.runs[1:], 0
		}
	}
	return out
}

// chunk is the position of a chunk's bytes.
type chunk struct {
	index []uint64
	runs  []run
}

// joiner makes refs of chunks. It reads the bytes of a chunk that is stored in several places, up
// to maxJoined bytes in all, because a ref can only point to one place.
type joiner struct {
	*file
	joined int64
}

func (j *joiner) ref(ctx context.Context, c chunk) (*readers.Ref, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r := &readers.Ref{Index: c.index, Size: uint64(total(c.runs))}
	if len(c.runs) == 1 && c.runs[0].offset >= 0 {
		r.Offset = c.runs[0].offset
		if c.runs[0].length > j.src.Size()-r.Offset {
			return nil, j.fail(r.Offset, readers.Corruptf("file is truncated: chunk %v has %d bytes, but the file ends at %d; fetch it again", c.index, r.Size, j.src.Size()))
		}
		return r, nil
	}
	if j.joined += int64(r.Size) + joinedChunkCost; j.joined > maxJoined {
		return nil, j.fail(-1, unsupported("chunks in several blocks take more than %d bytes; rewrite the file with hrepack", maxJoined))
	}
	inline, err := j.join(ctx, c.runs)
	r.Other = &readers.Other{Inline: append([]byte{}, inline...)}
	return r, err
}
