package blosc

import (
	"fmt"
	"sync"

	"varve/codec/internal/corrupt"
	"varve/codec/internal/shuffle"
)

// Decode decodes a Blosc1 chunk to the beginning of dst and returns how many bytes it
// decodes to. It never writes beyond dst. Bytes of src after the chunk are left alone.
func Decode(dst, src []byte) (int, error) {
	h, err := readHeader(src)
	if err != nil {
		return 0, err
	}
	if err := h.checkVersion(); err != nil {
		return 0, err
	}
	if h.nbytes > len(dst) {
		return 0, corrupt.Errorf("blosc: nbytes %d at byte 4, at most %d are expected", h.nbytes, len(dst))
	}
	if err := DecodeRange(dst[:h.nbytes], src, 0); err != nil {
		return 0, err
	}
	return h.nbytes, nil
}

// DecodeRange fills dst with what a Blosc1 chunk decodes to from byte off on, decoding only
// the blocks that hold it.
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
		return corrupt.Errorf("blosc: bytes %d to %d are expected, the chunk decodes to %d", off, off+len(dst), h.nbytes)
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

// decodeBlocks fills dst, which has no spare capacity, from byte off on. A block that is wanted
// whole is decoded in place.
func (c chunk1) decodeBlocks(dst []byte, off int, s *scratch) error {
	for len(dst) > 0 {
		i := off / c.blocksize
		at, size := c.block(i)
		out := dst[:min(len(dst), at+size-off)]
		whole := out
		if len(out) < size {
			if err := c.justified(size); err != nil {
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

// justified refuses to make room for a block that no compressor here could have made from so
// few bytes (zstd comes closest). Only a block that is not decoded into the caller's own
// memory needs this.
func (c chunk1) justified(size int) error {
	const maxRatio = 1 << 16
	if size/maxRatio > c.cbytes {
		return corrupt.Errorf("blosc: blocksize %d at byte 8, too much for %d bytes", c.blocksize, c.cbytes)
	}
	return nil
}

// A chunk1 is a Blosc1 chunk that is not stored and whose header was checked.
type chunk1 struct {
	header
	src []byte
}

// streams is how many streams a block of size bytes is cut into.
func (c chunk1) streams(size int) int {
	if c.flags&flagNoSplit != 0 || size < c.blocksize || c.typesize > maxSplitType || size/c.typesize < minSplitElems {
		return 1
	}
	return c.typesize
}

func (c chunk1) decodeBlock(dst []byte, i int, s *scratch) error {
	n := c.streams(len(dst))
	if len(dst)%n != 0 {
		return corrupt.Errorf("blosc: blocksize %d at byte 8 is no multiple of typesize %d", c.blocksize, c.typesize)
	}
	doShuffle := c.flags&flagShuffle != 0 && c.typesize > 1
	doBits := c.flags&flagBitShuffle != 0 && len(dst) >= c.typesize
	out := dst
	if doShuffle || doBits {
		out = s.block.bytes(len(dst))
	}
	if err := c.decodeStreams(out, i, len(dst)/n); err != nil {
		return err
	}
	switch {
	case doShuffle:
		shuffle.Unshuffle(dst, out, c.typesize)
	case doBits:
		shuffle.BitUnshuffleBlosc1(dst, out, c.typesize)
	}
	return nil
}

// decodeStreams decodes block i, in streams of size bytes, to dst.
func (c chunk1) decodeStreams(dst []byte, i, size int) error {
	at := int(int32(le.Uint32(c.src[HeaderSize+4*i:])))
	for ; len(dst) > 0; dst = dst[size:] {
		if at < 0 || at > len(c.src)-4 {
			return corrupt.Errorf("blosc: block %d: a stream at byte %d, the chunk has %d", i, at, len(c.src))
		}
		n := int(int32(le.Uint32(c.src[at:])))
		if n < 0 || n > len(c.src)-at-4 {
			return corrupt.Errorf("blosc: block %d: stream at byte %d: length %d, %d bytes left", i, at, n, len(c.src)-at-4)
		}
		if err := decodeStream(dst[:size], c.src[at+4:at+4+n], c.compressor()); err != nil {
			return fmt.Errorf("blosc: block %d: stream at byte %d: %w", i, at, err)
		}
		at += 4 + n
	}
	return nil
}

// A scratch is the memory that decoding a chunk needs besides the caller's.
type scratch struct {
	block buffer // a block as its streams give it
	part  buffer // a block of which only a part is wanted
	first buffer // Blosc2: an array's block 0, which others may refer to
	spare buffer // Blosc2: where chunks begin
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// maxKept bounds what a scratch may hold on to between chunks.
const maxKept = 16 << 20

func (s *scratch) release() {
	if cap(s.block)+cap(s.part)+cap(s.first)+cap(s.spare) <= maxKept {
		scratches.Put(s)
	}
}

type buffer []byte

// bytes returns n bytes with any content.
func (b *buffer) bytes(n int) []byte {
	if cap(*b) < n {
		*b = make([]byte, n)
	}
	return (*b)[:n]
}
