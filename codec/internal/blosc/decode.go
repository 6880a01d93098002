package blosc

import (
	"fmt"
	"sync"

	"varve/codec/internal/corrupt"
	"varve/codec/internal/shuffle"
)

// Decode decodes a Blosc1 chunk to the beginning of dst and returns the decoded length. A
// chunk that decodes to more than len(dst) bytes is an error. Bytes of src after the chunk
// are ignored.
func Decode(dst, src []byte) (int, error) {
	h, err := readHeader(src)
	if err != nil {
		return 0, err
	}
	if err := h.checkVersion(); err != nil {
		return 0, err
	}
	if h.nbytes > len(dst) {
		return 0, corrupt.Errorf("blosc: nbytes %d at byte 4, at most %d bytes are expected", h.nbytes, len(dst))
	}
	if err := DecodeRange(dst[:h.nbytes], src, 0); err != nil {
		return 0, err
	}
	return h.nbytes, nil
}

// DecodeRange fills dst with the decoded bytes of a Blosc1 chunk from position off on. It
// decodes only the blocks that hold these bytes.
func DecodeRange(dst, src []byte, off int) error {
	h, err := readHeader(src)
	if err != nil {
		return err
	}
	if err := h.checkVersion(); err != nil {
		return err
	}
	if err := h.check(len(src)); err != nil {
		return err
	}
	if off < 0 || off > h.nbytes || len(dst) > h.nbytes-off {
		return corrupt.Errorf("blosc: bytes %d to %d are expected, but nbytes is %d", off, off+len(dst), h.nbytes)
	}
	if len(dst) == 0 {
		return nil
	}
	if h.flags&flagStored != 0 {
		copy(dst, src[HeaderSize+off:])
		return nil
	}
	s := scratches.Get().(*scratch)
	defer s.release()
	return chunk1{h, src[:h.cbytes]}.decodeBlocks(dst[:len(dst):len(dst)], off, s)
}

// decodeBlocks fills dst with the decoded bytes from position off on. A block whose bytes are
// all needed is decoded directly to dst. The capacity of dst must be its length, because a
// decoder may write up to the capacity.
func (c chunk1) decodeBlocks(dst []byte, off int, s *scratch) error {
	for len(dst) > 0 {
		i := off / c.blocksize
		at, size := c.block(i)
		out := dst[:min(len(dst), at+size-off)]
		whole := out
		if len(out) < size {
			if err := c.checkRatio(size); err != nil {
				return err
			}
			whole = s.part.bytes(size)
		}
		if err := c.decodeBlock(whole, i, s); err != nil {
			return err
		}
		if len(out) < size {
			copy(out, whole[off-at:])
		}
		dst, off = dst[len(out):], off+len(out)
	}
	return nil
}

// checkRatio returns an error if a block of size bytes cannot have been compressed to this
// chunk's bytes. It bounds the memory allocated for a block that is not decoded directly to
// the caller's memory.
func (c chunk1) checkRatio(size int) error {
	const maxRatio = 1 << 16 // no compressor here reaches it; zstd comes closest
	if size/maxRatio > c.cbytes {
		return corrupt.Errorf("blosc: blocksize %d at byte 8, no compressor reduces it to %d bytes", c.blocksize, c.cbytes)
	}
	return nil
}

// A chunk1 is a compressed Blosc1 chunk whose header was checked.
type chunk1 struct {
	header
	src []byte
}

// streams returns the number of streams of a block of size bytes.
func (c chunk1) streams(size int) int {
	if c.flags&flagNoSplit != 0 || size < c.blocksize || c.typesize > maxSplitType || size/c.typesize < minSplitElems {
		return 1
	}
	return c.typesize
}

// decodeBlock fills dst with block i.
func (c chunk1) decodeBlock(dst []byte, i int, s *scratch) error {
	n := c.streams(len(dst))
	if len(dst)%n != 0 {
		return corrupt.Errorf("blosc: blocksize %d at byte 8, must be a multiple of typesize %d", c.blocksize, c.typesize)
	}
	// c-blosc ignores the flags in these cases, and its chunks are stored accordingly.
	hasShuffle := c.flags&flagShuffle != 0 && c.typesize > 1
	hasBitShuffle := c.flags&flagBitShuffle != 0 && len(dst) >= c.typesize
	out := dst
	if hasShuffle || hasBitShuffle {
		out = s.block.bytes(len(dst))
	}
	if err := c.decodeStreams(out, i, len(dst)/n); err != nil {
		return err
	}
	switch {
	case hasShuffle:
		shuffle.Unshuffle(dst, out, c.typesize)
	case hasBitShuffle:
		shuffle.BitUnshuffleBlosc1(dst, out, c.typesize)
	}
	return nil
}

// decodeStreams decodes the streams of block i, each of size bytes, to dst.
func (c chunk1) decodeStreams(dst []byte, i, size int) error {
	at := int(int32(le.Uint32(c.src[HeaderSize+4*i:])))
	for ; len(dst) > 0; dst = dst[size:] {
		if at < 0 || at > len(c.src)-4 {
			return corrupt.Errorf("blosc: block %d: stream at byte %d, the chunk has %d bytes", i, at, len(c.src))
		}
		n := int(int32(le.Uint32(c.src[at:])))
		if n < 0 || n > len(c.src)-at-4 {
			return corrupt.Errorf("blosc: block %d: stream at byte %d: length %d, only %d bytes are left", i, at, n, len(c.src)-at-4)
		}
		if err := decodeStream(dst[:size], c.src[at+4:at+4+n], c.compressor()); err != nil {
			return fmt.Errorf("blosc: block %d: stream at byte %d: %w", i, at, err)
		}
		at += 4 + n
	}
	return nil
}

// A scratch is reusable memory for decoding and encoding chunks.
type scratch struct {
	block buffer // a block between compression and filters
	part  buffer // a block of which the caller needs only a part
	first buffer // Blosc2: block 0 of a chunk of an array, for the delta filter
	spare buffer // Blosc2: the offsets of the chunks in a frame
	chunk buffer // a span as a chunk
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// maxKept is the maximum size in bytes of a scratch that is kept for reuse.
const maxKept = 16 << 20

// release returns the scratch to its pool.
func (s *scratch) release() {
	if cap(s.block)+cap(s.part)+cap(s.first)+cap(s.spare)+cap(s.chunk) <= maxKept {
		scratches.Put(s)
	}
}

// buffer is memory that grows as needed.
type buffer []byte

// bytes returns n bytes of arbitrary content. They are valid until the next call.
func (b *buffer) bytes(n int) []byte {
	if cap(*b) < n {
		*b = make([]byte, n)
	}
	return (*b)[:n]
}
