package blosc

import (
	"math"

	"varve/codec/internal/corrupt"
)

// An array holds the shapes in a frame's b2nd metalayer (README_B2ND_METALAYER.rst of
// c-blosc2), which is msgpack:
//
//	97 version, n, [shape: n times i64], [chunkshape: n times i32], [blockshape: n times i32],
//	   format of the type's name, the type's name
//
// Chunks tile the shape and blocks tile a chunk, in C order. Chunks and blocks that extend
// beyond the edge are padded to full size, so a chunk is a whole number of full blocks.
// Elements within a block are in C order. Padding is decoded and dropped.
type array struct {
	n                   int
	shape, chunk, block [maxDims]int
}

const maxDims = 15 // the limit of a msgpack fixarray; c-blosc2 allows 8

// readArray reads a b2nd metalayer.
func readArray(content []byte) (*array, error) {
	m := msgpack{content}
	a := new(array)
	if fields := m.array(); fields < 5 {
		return nil, corrupt.Errorf("b2nd: %d fields at byte 0, at least 5 are expected", fields)
	}
	version := m.integer()
	a.n = int(m.integer())
	if version < 0 || a.n < 1 || a.n > maxDims {
		return nil, unsupported("b2nd: version %d, %d dimensions, allowed 1 to %d", version, a.n, maxDims)
	}
	for _, to := range []*[maxDims]int{&a.shape, &a.chunk, &a.block} {
		if n := m.array(); n != a.n {
			return nil, corrupt.Errorf("b2nd: a shape has %d numbers, but the array has %d dimensions", n, a.n)
		}
		for i := range a.n {
			to[i] = int(m.integer())
		}
	}
	for i := range a.n {
		if a.shape[i] < 0 || a.shape[i] > maxBytes || a.block[i] < 1 || a.chunk[i] < a.block[i] || a.chunk[i] > math.MaxInt32 {
			return nil, corrupt.Errorf("b2nd: dimension %d: shape %d, chunk %d, block %d; must be 1 <= block <= chunk", i, a.shape[i], a.chunk[i], a.block[i])
		}
	}
	return a, nil
}

// check returns an error unless the shapes match the sizes in the frame's header, which also
// bound them.
func (a *array) check(f *frame) error {
	chunk, all := f.typesize, f.typesize
	for i := range a.n {
		blocks := a.blocks(i)
		chunks := (a.shape[i] + a.chunk[i] - 1) / a.chunk[i]
		if !product(&chunk, blocks*a.block[i]) || !product(&all, blocks*a.block[i]) || !product(&all, chunks) {
			return corrupt.Errorf("b2nd: shape %v, chunks %v, blocks %v are too large", a.shape[:a.n], a.chunk[:a.n], a.block[:a.n])
		}
	}
	if all != f.nbytes || all > 0 && chunk != f.chunkSize {
		return corrupt.Errorf("b2nd: the shapes give %d bytes in chunks of %d, the frame's header %d in chunks of %d", all, chunk, f.nbytes, f.chunkSize)
	}
	if size := a.size(f.typesize); all/maxPadding > size+maxKept/maxPadding {
		return corrupt.Errorf("b2nd: %d bytes with padding, %d without, at most %d times as many are allowed", all, size, maxPadding)
	}
	return nil
}

// maxPadding limits the size of an array with padding to this multiple of its size without,
// unless it is small. It bounds the time spent on padding.
const maxPadding = 64

// product multiplies *p by n. It returns false if the result would exceed maxBytes.
func product(p *int, n int) bool {
	if *p > 0 && n > maxBytes / *p {
		return false
	}
	*p *= n
	return true
}

// blocks returns the number of blocks of a chunk along dimension i.
func (a *array) blocks(i int) int { return (a.chunk[i] + a.block[i] - 1) / a.block[i] }

// blockItems returns the number of elements in a block.
func (a *array) blockItems() int {
	n := 1
	for i := range a.n {
		n *= a.block[i]
	}
	return n
}

// size returns the decoded size without padding. It is at most the frame's nbytes, see check.
func (a *array) size(typesize int) int {
	for i := range a.n {
		typesize *= a.shape[i]
	}
	return typesize
}

// An arrayChunk is a chunk of an array. Elements may be wider than the 255 bytes that a chunk's
// typesize can express, so their size comes from the frame.
type arrayChunk struct {
	*chunk2
	itemSize int
}

// place decodes chunk i and copies it, without padding, to its position in dst.
func (a *array) place(dst []byte, i int, c arrayChunk, s *scratch) error {
	size := a.blockItems() * c.itemSize
	if c.blocksize != size {
		return corrupt.Errorf("b2nd: blocksize %d at byte 8, %d is expected (blocks %v of %d-byte elements)", c.blocksize, size, a.block[:a.n], c.itemSize)
	}
	if size > maxKept+len(dst) {
		return corrupt.Errorf("b2nd: blocks of %d bytes in an array of %d bytes", size, len(dst))
	}
	if n := len(c.value); n > 0 && size%n != 0 {
		return corrupt.Errorf("b2nd: blocks of %d bytes, must be a multiple of the repeated value's %d bytes", size, n)
	}
	var origin, grid, at [maxDims]int
	for d := a.n - 1; d >= 0; d-- {
		chunks := (a.shape[d] + a.chunk[d] - 1) / a.chunk[d]
		origin[d] = i % chunks * a.chunk[d]
		i /= chunks
		grid[d] = a.blocks(d)
	}
	block, first := s.part.bytes(size), s.first.bytes(size)
	for b := range c.blocks() {
		out := block
		if b == 0 {
			out = first
		}
		rest := b
		for d := a.n - 1; d >= 0; d-- {
			at[d] = origin[d] + rest%grid[d]*a.block[d]
			rest /= grid[d]
		}
		// A block of padding only needs no decoding, except block 0, to which delta refers.
		extent, ok := a.extent(&origin, &at)
		if !ok && b > 0 {
			continue
		}
		if err := c.decodeBlock(out, b, first, s); err != nil {
			return err
		}
		if ok {
			a.copyBlock(dst, out, &box{at, extent, c.itemSize})
		}
	}
	return nil
}

// extent returns the size of the part of the block at `at` that is not padding. ok is false if
// all of it is.
func (a *array) extent(origin, at *[maxDims]int) (extent [maxDims]int, ok bool) {
	for d := range a.n {
		end := min(at[d]+a.block[d], origin[d]+a.chunk[d], a.shape[d])
		if extent[d] = end - at[d]; extent[d] <= 0 {
			return extent, false
		}
	}
	return extent, true
}

// A box is a rectangular part of the array.
type box struct {
	at, extent [maxDims]int
	itemSize   int
}

// copyBlock copies the part of a block that is not padding to its box in dst, row by row.
func (a *array) copyBlock(dst, block []byte, b *box) {
	last := a.n - 1
	row := b.extent[last] * b.itemSize
	var i [maxDims]int
	for {
		from, to := 0, 0
		for d := range a.n {
			from = from*a.block[d] + i[d]
			to = to*a.shape[d] + b.at[d] + i[d]
		}
		copy(dst[to*b.itemSize:][:row], block[from*b.itemSize:])
		d := last - 1
		for ; d >= 0; d-- {
			if i[d]++; i[d] < b.extent[d] {
				break
			}
			i[d] = 0
		}
		if d < 0 {
			return
		}
	}
}
