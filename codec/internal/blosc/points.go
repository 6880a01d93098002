package blosc

import (
	"varve/codec/internal/access"
	"varve/codec/internal/corrupt"
)

// Points decodes as Decode does, and returns points between blocks. Spans have as many blocks as fit in every bytes.
//
// The window of a point is a header and the starts of the blocks in its span: with the stored bytes of the span they
// are a Blosc chunk. It is nil if the span's bytes are stored as they are.
//
// The blocks of a chunk can be stored in any order, as encoders with several threads do. A point is only where all
// blocks before it are stored before all blocks after it.
func Points(dst, src []byte, every int) (n int, points []access.Point, err error) {
	if n, err = Decode(dst, src); err != nil {
		return n, nil, err
	}
	h, err := readHeader(src)
	if err != nil {
		return 0, nil, err
	}
	if h.nbytes == 0 {
		return 0, []access.Point{{}}, nil
	}
	if h.flags&flagStored != 0 {
		for out := 0; out < n; out += every {
			points = append(points, access.Point{Out: out, Bit: 8 * (HeaderSize + out)})
		}
		return n, points, nil
	}
	return n, chunk1{h, src[:h.cbytes]}.points(every), nil
}

// points returns the points of a valid chunk.
func (c chunk1) points(every int) (points []access.Point) {
	count := c.blocks()
	starts := make([]int, count) // of each block
	least := make([]int, count)  // the smallest start of the block and those after it
	for i := count - 1; i >= 0; i-- {
		starts[i] = int(le.Uint32(c.src[HeaderSize+4*i:]))
		least[i] = starts[i]
		if i+1 < count {
			least[i] = min(least[i], least[i+1])
		}
	}
	splitter := access.Splitter{Every: every}
	var first []int // the first block of each span
	end := 0        // of all blocks before the next one
	// A block that cannot begin a span is a part of the block before it.
	for i := 0; i < count; {
		next := i
		for next == i || next < count && least[next] < end {
			end = max(end, c.storedEnd(next, starts[next]))
			next++
		}
		at, size := c.block(i)
		lastAt, lastSize := c.block(next - 1)
		if splitter.Splits(at, max(size, lastAt+lastSize-at)) {
			first = append(first, i)
		}
		i = next
	}
	for k, from := range first {
		to, storedTo := count, len(c.src)
		if k+1 < len(first) {
			to = first[k+1]
			storedTo = least[to]
		}
		at, _ := c.block(from)
		points = append(points, access.Point{Out: at, Bit: 8 * least[from], Window: c.part(starts[from:to], from, least[from], storedTo)})
	}
	return points
}

// storedEnd returns where the streams of a block end.
func (c chunk1) storedEnd(i, at int) int {
	_, size := c.block(i)
	for range c.streams(size) {
		at += 4 + int(le.Uint32(c.src[at:]))
	}
	return at
}

// part returns the header and the starts of blocks of a chunk that has the blocks from one on, whose stored bytes are
// from at to end.
func (c chunk1) part(starts []int, from, at, end int) []byte {
	first, _ := c.block(from)
	lastAt, lastSize := c.block(from + len(starts) - 1)
	head := HeaderSize + 4*len(starts)
	b := make([]byte, head)
	copy(b, c.src[:4])
	le.PutUint32(b[4:], uint32(lastAt+lastSize-first))
	le.PutUint32(b[8:], uint32(c.blocksize))
	le.PutUint32(b[12:], uint32(head+end-at))
	for i, start := range starts {
		le.PutUint32(b[HeaderSize+4*i:], uint32(start-at+head))
	}
	return b
}

// Resume fills dst with the decoded bytes from a point on. src has the stored bytes of its span.
func Resume(dst, window, src []byte) error {
	if window == nil {
		if len(dst) > len(src) {
			return corrupt.Errorf("blosc: a span has %d stored bytes, %d are expected", len(src), len(dst))
		}
		copy(dst, src)
		return nil
	}
	s := scratches.Get().(*scratch)
	defer s.release()
	chunk := append(append(s.chunk[:0], window...), src...)
	s.chunk = chunk
	h, err := readHeader(chunk)
	if err == nil && h.flags&flagStored == 0 && (h.blocksize == 0 || len(window) != HeaderSize+4*h.blocks()) {
		err = corrupt.Errorf("blosc: the window of a span has %d bytes, which does not fit %d bytes in blocks of %d", len(window), h.nbytes, h.blocksize)
	}
	if err != nil {
		return err
	}
	return DecodeRange(dst, chunk, 0)
}
