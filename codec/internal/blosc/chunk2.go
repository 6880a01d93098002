package blosc

import (
	"fmt"

	"varve/codec/internal/corrupt"
)

// A Blosc2 chunk (README_CHUNK_FORMAT.rst of c-blosc2) begins with the header of Blosc1, with a
// later version and both shuffle flags set, and 16 more bytes:
//
//	16  filters       6×u8  applied in this order: 0 none, 1 byte shuffle, 2 bit shuffle,
//	                        3 delta, 4 truncated precision
//	22  udcodec       u8
//	23  compcode_meta u8
//	24  filters_meta  6×u8  for byte shuffle: the element size to shuffle by; 0: typesize
//	30  blosc2_flags2 u8    1 blocks of variable length
//	31  blosc2_flags  u8    1 dictionary, 8 lazy, 128 instrumented;
//	                        bits 4 to 6: 0 blocks follow, 1 all zeros, 2 all NaN,
//	                        3 all equal to the value that follows, 4 never written
//	32  bstarts, blocks     as in Blosc1
//
// The length of a stream may also be 0, for a stream of zeros, or -v followed by a byte 1, for
// a stream of bytes v. Only flag 16 decides whether blocks are split.
const (
	extendedSize = 32

	version2Alpha    = 3
	version2Stable   = 5
	version2VLBlocks = 6

	flagDict         = 0x01
	flagExtended     = 0x02 | 0x04 // reserved for still longer headers and for a codec byte
	flagLazy         = 0x08
	flagInstrumented = 0x80
)

// A special is the kind of a chunk whose values are all equal, which is stored without blocks.
type special uint8

const (
	specialNone special = iota
	specialZeros
	specialNaN
	specialValue
	specialUninitialized
)

// A chunk2 is a Blosc2 chunk whose header was checked.
type chunk2 struct {
	header
	src     []byte
	special special
	value   []byte // the repeated value of a special chunk; nil means zeros
	steps   []step // the filters to undo, the last applied first
	store   [maxFilters]step
}

// read reads and checks the header of the chunk at the beginning of src into c.
func (c *chunk2) read(src []byte) error {
	h, err := readHeader(src)
	if err != nil {
		return err
	}
	c.header = h
	if err := c.checkHeader(len(src)); err != nil {
		return err
	}
	c.src = src[:h.cbytes]
	if h.nbytes > 0 {
		c.blocksize = min(h.blocksize, h.nbytes) // a single block then counts as a full one
	}
	flags := src[31]
	if err := checkFlags2(flags, src[30]); err != nil {
		return err
	}
	c.special = special(flags >> 4 & 7)
	if c.special != specialNone {
		return c.readSpecial()
	}
	if c.flags&flagStored != 0 {
		if h.nbytes != h.cbytes-extendedSize {
			return corrupt.Errorf("blosc2 chunk: stored: nbytes %d at byte 4, must be cbytes - %d (cbytes is %d)", h.nbytes, extendedSize, h.cbytes)
		}
		return nil
	}
	return c.readPipeline()
}

// checkHeader checks the header fields that Blosc1 has too, for a chunk of at most n bytes.
func (c *chunk2) checkHeader(n int) error {
	h := c.header
	const both = flagShuffle | flagBitShuffle
	switch {
	case h.version < version2Alpha || h.version > version2VLBlocks:
		return unsupported("a chunk of version %d in a frame, supported are %d to %d", h.version, version2Alpha, version2VLBlocks)
	case h.flags&both != both:
		return unsupported("a chunk of version %d without the extended header", h.version)
	case h.cbytes < extendedSize || h.cbytes > n:
		return corrupt.Errorf("blosc2 chunk: cbytes %d at byte 12, allowed %d to %d", h.cbytes, extendedSize, n)
	case h.typesize == 0:
		return corrupt.Errorf("blosc2 chunk: typesize 0 at byte 3")
	case h.blocksize == 0:
		return corrupt.Errorf("blosc2 chunk: blocksize 0 at byte 8")
	}
	return nil
}

// checkFlags2 returns an error for features of Blosc2 that are not supported.
func checkFlags2(flags, flags2 byte) error {
	switch {
	case flags2 != 0:
		return unsupported("a Blosc2 chunk with blocks of variable length (blosc2_flags2 0x%02x)", flags2)
	case flags&flagLazy != 0:
		return unsupported("a lazy Blosc2 chunk (blosc2_flags 0x%02x)", flags)
	case flags&flagDict != 0:
		return unsupported("a Blosc2 chunk with a dictionary (blosc2_flags 0x%02x)", flags)
	case flags&(flagInstrumented|flagExtended) != 0:
		return unsupported("a Blosc2 chunk with blosc2_flags 0x%02x", flags)
	}
	return nil
}

// readSpecial sets the repeated value of a special chunk.
func (c *chunk2) readSpecial() error {
	switch c.special {
	case specialZeros, specialUninitialized:
		c.value = nil
	case specialNaN:
		switch c.typesize {
		case 4:
			c.value = nan32[:]
		case 8:
			c.value = nan64[:]
		default:
			return corrupt.Errorf("blosc2 chunk: NaN with typesize %d, allowed 4 and 8", c.typesize)
		}
	case specialValue:
		c.value = c.src[extendedSize:]
		if len(c.value) == 0 {
			return corrupt.Errorf("blosc2 chunk: a repeated value without a value")
		}
	default:
		return unsupported("a Blosc2 chunk with special value %d", c.special)
	}
	if n := len(c.value); n > 0 && c.nbytes%n != 0 {
		return corrupt.Errorf("blosc2 chunk: nbytes %d at byte 4, must be a multiple of the value's %d bytes", c.nbytes, n)
	}
	return nil
}

var (
	nan32 = [4]byte{0, 0, 0xC0, 0x7F}
	nan64 = [8]byte{0, 0, 0, 0, 0, 0, 0xF8, 0x7F}
)

// readPipeline reads the compressor and the filters of a chunk that has blocks.
func (c *chunk2) readPipeline() error {
	if c.compressor() == compSnappy || int(c.compressor()) >= len(compressorNames) {
		return unsupported("a Blosc2 chunk with codec %d (user-defined codec %d)", c.compressor(), c.src[22])
	}
	if err := checkStreams(c.compressor(), c.versionLZ); err != nil {
		return err
	}
	if c.blocks() > (c.cbytes-extendedSize)/4 {
		return corrupt.Errorf("blosc2 chunk: %d blocks (nbytes %d, blocksize %d), but cbytes %d is too small for their offsets",
			c.blocks(), c.nbytes, c.blocksize, c.cbytes)
	}
	var err error
	c.steps, err = appendSteps(c.store[:0], c.src[16:22], c.src[24:30], c.typesize)
	return err
}

// decode fills dst with the whole chunk.
func (c *chunk2) decode(dst []byte, s *scratch) error {
	if c.special != specialNone {
		repeat(dst, c.value)
		return nil
	}
	first := dst[:min(c.blocksize, len(dst))]
	for i := 0; len(dst) > 0; i++ {
		block := dst[:min(c.blocksize, len(dst))]
		if err := c.decodeBlock(block, i, first, s); err != nil {
			return err
		}
		dst = dst[len(block):]
	}
	return nil
}

// decodeBlock fills dst with block i. The delta filter needs first, the decoded block 0. If i is
// 0, dst and first are the same memory.
func (c *chunk2) decodeBlock(dst []byte, i int, first []byte, s *scratch) error {
	switch {
	case c.special != specialNone:
		repeat(dst, c.value)
		return nil
	case c.flags&flagStored != 0:
		at, _ := c.block(i)
		copy(dst, c.src[extendedSize+at:])
		return nil
	}
	streams := 1
	if c.flags&flagNoSplit == 0 && len(dst) == c.blocksize {
		streams = c.typesize
	}
	if len(dst)%streams != 0 {
		return corrupt.Errorf("blosc2 chunk: blocksize %d at byte 8, must be a multiple of typesize %d", c.blocksize, c.typesize)
	}
	bufs := pair{dst: dst}
	out := bufs.begin(c.steps, s)
	if err := c.decodeStreams(out, i, len(dst)/streams); err != nil {
		return err
	}
	for _, st := range c.steps {
		if st.filter == filterDelta {
			if i == 0 {
				undoDeltaFirst(out, st.size)
			} else {
				undoDelta(out, first, st.size)
			}
			continue
		}
		to := bufs.other(out)
		st.undo(to, out)
		out = to
	}
	return nil
}

// decodeStreams decodes the streams of block i, each of size bytes, to dst.
func (c *chunk2) decodeStreams(dst []byte, i, size int) error {
	at := int(int32(le.Uint32(c.src[extendedSize+4*i:])))
	for ; len(dst) > 0; dst = dst[size:] {
		if at <= 0 || at > len(c.src)-4 {
			return corrupt.Errorf("blosc2 chunk: block %d: stream at byte %d, the chunk has %d bytes", i, at, len(c.src))
		}
		n := int(int32(le.Uint32(c.src[at:])))
		body := c.src[at+4:]
		switch {
		case n <= 0:
			used, err := fillRun(dst[:size], -n, body)
			if err != nil {
				return fmt.Errorf("blosc2 chunk: block %d: stream at byte %d: %w", i, at, err)
			}
			at += 4 + used
			continue
		case n > len(body):
			return corrupt.Errorf("blosc2 chunk: block %d: stream at byte %d: length %d, only %d bytes are left", i, at, n, len(body))
		}
		if err := decodeStream(dst[:size], body[:n], c.compressor()); err != nil {
			return fmt.Errorf("blosc2 chunk: block %d: stream at byte %d: %w", i, at, err)
		}
		at += 4 + n
	}
	return nil
}

// fillRun fills dst with a stream of equal bytes, whose stored length was -value. body begins
// after the length. It returns the number of bytes of body that belong to the stream.
func fillRun(dst []byte, value int, body []byte) (int, error) {
	if value == 0 {
		clear(dst)
		return 0, nil
	}
	if len(body) == 0 || value > 255 {
		return 0, corrupt.Errorf("length %d, a negative one must be at least -255 and be followed by a token", -value)
	}
	if body[0]&1 == 0 {
		return 0, unsupported("a Blosc2 stream with token 0x%02x", body[0])
	}
	repeat(dst, []byte{byte(value)})
	return 1, nil
}

// repeat fills dst with copies of value, or with zeros if value is empty.
func repeat(dst, value []byte) {
	if len(value) == 0 {
		clear(dst)
		return
	}
	n := copy(dst, value)
	for n < len(dst) { // doubles the filled part, so that large copies do most of the work
		n += copy(dst[n:], dst[:n])
	}
}
