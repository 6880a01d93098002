package hdf4

import (
	"context"
	"encoding/binary"
	"iter"
	"slices"

	"varve/readers"
)

const maxRank = 32 // as the SD interface has it

// chunkHead is the head of an element in chunks.
type chunkHead struct {
	bytes        int64
	size, number int64 // of a chunk in elements, and of an element
	table        key
	shape, chunk []uint64
	fill         []byte
	coder        coder
}

func (c *cursor) chunkHead() (*chunkHead, error) {
	c.take(4) // the length of what follows
	if v := c.take(1); v != nil && v[0] != 0 {
		return nil, c.fail(unsupported("a head of chunks of version %d", v[0]))
	}
	flags := c.int32()
	h := &chunkHead{bytes: c.int32()}
	h.size, h.number = c.int32(), c.int32()
	h.table = key{c.uint16(), c.uint16()}
	c.take(4) // a table that nobody uses
	rank := c.int32()
	if c.err == nil && (rank < 1 || rank > maxRank) {
		return nil, c.corrupt("chunks of rank %d", rank)
	}
	for i := int64(0); i < rank && c.err == nil; i++ {
		c.take(4)
		n, chunk := c.int32(), c.int32()
		if c.err == nil && (n < 0 || chunk < 1) {
			return nil, c.corrupt("chunks of length %d along an axis of %d", chunk, n)
		}
		h.shape, h.chunk = append(h.shape, uint64(n)), append(h.chunk, uint64(chunk))
	}
	h.fill = c.take(c.int32())
	if flags&0xff == compressed {
		c.take(6)
		h.coder = c.coder()
	}
	h.bytes *= h.number
	return h, c.err
}

// placeChunks says how values are divided into chunks.
func (b *builder) placeChunks(v *readers.Variable, s *stored) error {
	h, out := s.chunks, &v.Storage
	size, err := sizeOf(v.Type, h.chunk)
	switch {
	case err != nil:
		return err
	case !slices.Equal(h.shape, v.Shape):
		return b.fail(s.offset, readers.Corruptf("chunks of shape %v, of a dataset of shape %v", h.shape, v.Shape))
	case h.number != int64(v.Type.Size) || h.size*h.number != size:
		return b.fail(s.offset, readers.Corruptf("chunks of shape %v are said to have %d elements of %d bytes", h.chunk, h.size, h.number))
	}
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
		return func(yield func(*readers.Ref, error) bool) { b.own().tableRefs(ctx, h, size, yield) }
	}
	return nil
}

// own is the file with a budget of its own, for what is read once it is open.
func (f *file) own() *file {
	own := *f
	own.budget = maxMetadata
	return &own
}

// tableRefs gives out the chunks that a table lists, each of which takes so many bytes when it
// is not compressed.
func (f *file) tableRefs(ctx context.Context, h *chunkHead, size int64, yield func(*readers.Ref, error) bool) {
	j := joiner{file: f}
	rank := int64(len(h.shape))
	rows, err := f.chunkTable(ctx, h)
	if err != nil {
		yield(nil, err)
		return
	}
	seen := map[uint64]bool{}
	for row := range slices.Chunk(rows, int(4*rank+4)) {
		index, number, err := f.place(h, row)
		if err == nil && seen[number] {
			err = f.fail(-1, readers.Corruptf("chunk %v is stored twice", index))
		}
		seen[number] = true
		if err != nil {
			yield(nil, err)
			return
		}
		tag, ref := binary.BigEndian.Uint16(row[4*rank:]), binary.BigEndian.Uint16(row[4*rank+2:])
		if tag != tagChunk {
			continue // never written
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

// chunkTable reads the table of chunks: the place of each, a tag and a number.
func (f *file) chunkTable(ctx context.Context, h *chunkHead) ([]byte, error) {
	t, err := f.vdata(ctx, h.table.ref)
	if err != nil {
		return nil, err
	}
	if h.table.tag != tagVdata || !t.interlaced || t.row != int64(4*len(h.shape)+4) {
		return nil, f.fail(-1, readers.Corruptf("table %d/%d with rows of %d bytes is none of chunks of rank %d", h.table.tag, h.table.ref, t.row, len(h.shape)))
	}
	return f.values(ctx, t)
}

// place returns where the chunk of a row is, and its number.
func (f *file) place(h *chunkHead, row []byte) (index []uint64, number uint64, err error) {
	for i, n := range h.shape {
		at, chunks := uint64(binary.BigEndian.Uint32(row[4*i:])), (n+h.chunk[i]-1)/h.chunk[i]
		index = append(index, at)
		if at >= chunks {
			return index, 0, f.fail(-1, readers.Corruptf("a chunk is number %d of %d along axis %d", at, chunks, i))
		}
		number = number*chunks + at
	}
	return index, number, nil
}

// chunkRuns returns where the bytes of a chunk are.
func (f *file) chunkRuns(ctx context.Context, h *chunkHead, ref uint16, size int64) ([]run, error) {
	d, ok := f.find(tagChunk, ref)
	if !ok {
		return nil, f.fail(-1, readers.Corruptf("there is no chunk %d", ref))
	}
	s, err := f.stored(ctx, d)
	switch {
	case err != nil:
		return nil, err
	case s.kind == external || s.kind == chunked:
		return nil, f.fail(d.at, unsupported("chunk %d is special, of kind %d", ref, s.kind))
	case s.coder != h.coder:
		return nil, f.fail(d.at, unsupported("chunk %d is not compressed as the dataset is", ref))
	case s.bytes < size:
		return nil, f.fail(d.at, readers.Corruptf("chunk %d has %d bytes of %d", ref, s.bytes, size))
	case s.kind == compressed:
		return s.runs, nil
	}
	return within(s.runs, 0, size), nil
}

// readWhole gives a variable one chunk.
func (b *builder) readWhole(v *readers.Variable, runs []run) {
	first := make([]uint64, len(v.Shape))
	v.Storage.ReadIndex = func(ctx context.Context) iter.Seq2[*readers.Ref, error] {
		return func(yield func(*readers.Ref, error) bool) {
			j := joiner{file: b.own()}
			yield(j.ref(ctx, chunk{first, runs}))
		}
	}
}

// readRows gives a variable a chunk for each row of its first axis.
func (b *builder) readRows(v *readers.Variable, runs []run) {
	rank, rows := len(v.Shape), v.Shape[0]
	row := total(runs) / int64(rows)
	v.Storage.ReadIndex = func(ctx context.Context) iter.Seq2[*readers.Ref, error] {
		return func(yield func(*readers.Ref, error) bool) {
			j, left := joiner{file: b.own()}, splitter{runs: runs}
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

// splitter takes bytes from the beginning of runs.
type splitter struct {
	runs []run
	used int64 // bytes of the first
}

func (s *splitter) take(n int64) (out []run) {
	for n > 0 && len(s.runs) > 0 {
		r := s.runs[0]
		part := run{r.offset, min(n, r.length-s.used)}
		if r.offset >= 0 {
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

// chunk is where the bytes of a chunk are.
type chunk struct {
	index []uint64
	runs  []run
}

// joiner makes refs of chunks. What is in several places is joined, up to maxJoined bytes.
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
			return nil, j.fail(r.Offset, readers.Corruptf("the file is cut off: chunk %v takes %d bytes, the file ends at %d", c.index, r.Size, j.src.Size()))
		}
		return r, nil
	}
	if j.joined += int64(r.Size) + joinedCost; j.joined > maxJoined {
		return nil, j.fail(-1, unsupported("chunks that lie in several blocks each take more than %d bytes; hrepack puts them together", maxJoined))
	}
	inline, err := j.join(ctx, c.runs)
	r.Other = &readers.Other{Inline: append([]byte{}, inline...)}
	return r, err
}
