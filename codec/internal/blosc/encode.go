package blosc

import (
	"fmt"
	"math"

	"varve/codec/internal/shuffle"
)

// Options are the options of Append.
type Options struct {
	Compressor string // blosclz, lz4, lz4hc, zlib or zstd
	Level      int    // 0 (no compression) to 9
	Shuffle    Shuffle
	TypeSize   int // bytes per element; above 255 it counts as 1, as in c-blosc
	BlockSize  int // bytes per block; 0 chooses the size that c-blosc would choose
}

// A Shuffle is the filter that is applied to each block before compression.
type Shuffle uint8

// The shuffles, by the numbers numcodecs and HDF5 use.
const (
	NoShuffle   Shuffle = 0
	ByteShuffle Shuffle = 1
	BitShuffle  Shuffle = 2
)

const (
	maxTypeSize = 255
	minBuffer   = 128 // c-blosc stores fewer bytes uncompressed, and makes no smaller blocks
	maxBlock    = (math.MaxInt32 - maxTypeSize*4) / 3
	maxInput    = math.MaxInt32 - HeaderSize
)

// Check returns an error if an option is invalid.
func (o Options) Check() error {
	_, err := o.method()
	switch {
	case err != nil:
		return err
	case o.Level < 0 || o.Level > 9:
		return fmt.Errorf("blosc: level %d, allowed 0 to 9", o.Level)
	case o.Shuffle > BitShuffle:
		return fmt.Errorf("blosc: shuffle %d, allowed 0 to 2", o.Shuffle)
	case o.TypeSize < 1:
		return fmt.Errorf("blosc: typesize %d, allowed 1 and more", o.TypeSize)
	case o.BlockSize < 0:
		return fmt.Errorf("blosc: blocksize %d, allowed 0 and more", o.BlockSize)
	}
	return nil
}

// Append appends src to dst as a Blosc1 chunk with the layout of c-blosc. The same bytes and
// options always give the same chunk. It is at most HeaderSize bytes longer than src.
func Append(dst, src []byte, o Options) ([]byte, error) {
	if err := o.Check(); err != nil {
		return dst, err
	}
	if len(src) > maxInput {
		return dst, fmt.Errorf("blosc: the chunk has %d bytes, at most %d are allowed; use smaller chunks", len(src), maxInput)
	}
	m, err := o.method()
	if err != nil {
		return dst, err
	}
	if o.TypeSize > maxTypeSize {
		o.TypeSize = 1
	}
	size := HeaderSize + len(src)
	if cap(dst)-len(dst) < size {
		dst = append(make([]byte, 0, len(dst)+size), dst...)
	}
	s := scratches.Get().(*scratch)
	defer s.release()
	e := encoder{Options: o, method: m, src: src, out: dst[len(dst) : len(dst)+size], s: s}
	n, err := e.encode()
	return dst[:len(dst)+n], err
}

// An encoder encodes one chunk.
type encoder struct {
	Options
	method method
	header header
	src    []byte
	out    []byte // HeaderSize + len(src) bytes
	s      *scratch
}

// encode writes the chunk to out and returns its length.
func (e *encoder) encode() (int, error) {
	e.writeHeader()
	if e.Level > 0 && len(e.src) >= minBuffer {
		n, err := e.encodeBlocks()
		if n > 0 || err != nil {
			le.PutUint32(e.out[12:], uint32(n))
			return n, err
		}
	}
	// Not smaller than src, or not worth trying: store src uncompressed, which always fits.
	e.out[2] |= flagStored
	n := HeaderSize + copy(e.out[HeaderSize:], e.src)
	le.PutUint32(e.out[12:], uint32(n))
	return n, nil
}

// writeHeader writes the header except cbytes, which is not known yet.
func (e *encoder) writeHeader() {
	h := header{version: version1, versionLZ: 1, typesize: e.TypeSize, nbytes: len(e.src), blocksize: e.blockSize(len(e.src))}
	h.flags = byte(e.method.format) << compressorBits
	switch e.Shuffle {
	case ByteShuffle:
		h.flags |= flagShuffle
	case BitShuffle:
		h.flags |= flagBitShuffle
	}
	if !e.splits(h.blocksize) {
		h.flags |= flagNoSplit
	}
	e.header = h
	e.out[0], e.out[1], e.out[2], e.out[3] = h.version, h.versionLZ, h.flags, byte(h.typesize)
	le.PutUint32(e.out[4:], uint32(h.nbytes))
	le.PutUint32(e.out[8:], uint32(h.blocksize))
}

// encodeBlocks writes all blocks and their offsets. It returns the end of the last block, or 0
// if the blocks do not fit in out.
func (e *encoder) encodeBlocks() (int, error) {
	at := HeaderSize + 4*e.header.blocks()
	if at > len(e.out) {
		return 0, nil
	}
	for i := range e.header.blocks() {
		le.PutUint32(e.out[HeaderSize+4*i:], uint32(at))
		from, size := e.header.block(i)
		streams := chunk1{header: e.header}.streams(size)
		block := e.filter(e.src[from : from+size])
		for each := size / streams; len(block) > 0; block = block[each:] {
			n, err := e.encodeStream(at, block[:each])
			if n == 0 || err != nil {
				return 0, err
			}
			at += n
		}
	}
	return at, nil
}

// filter returns the shuffled block, in scratch memory, or block itself without a shuffle.
func (e *encoder) filter(block []byte) []byte {
	switch {
	case e.Shuffle == ByteShuffle && e.TypeSize > 1:
		out := e.s.block.bytes(len(block))
		shuffle.Shuffle(out, block, e.TypeSize)
		return out
	case e.Shuffle == BitShuffle && len(block) >= e.TypeSize:
		out := e.s.block.bytes(len(block))
		shuffle.BitShuffleBlosc1(out, block, e.TypeSize)
		return out
	}
	return block
}

// encodeStream writes a stream with its length field at out[at:]. It returns the bytes written,
// or 0 if the stream does not fit.
func (e *encoder) encodeStream(at int, src []byte) (int, error) {
	room := len(e.out) - at - 4
	if room <= 0 {
		return 0, nil
	}
	body := e.out[at+4:]
	n, err := e.method.compress(body[:min(room, len(src))], src, e.Level)
	if err != nil {
		return 0, err
	}
	if n == 0 || n >= len(src) { // incompressible: a stream may be stored
		if room < len(src) {
			return 0, nil
		}
		n = copy(body, src)
	}
	le.PutUint32(e.out[at:], uint32(n))
	return 4 + n, nil
}

// splits reports whether blocks of this size are split into one stream per byte of an element.
// The rule is c-blosc's mode for forward compatibility: its versions that ignore flagNoSplit
// split in the same cases.
func (o Options) splits(blockSize int) bool {
	return o.Compressor != "zstd" && o.TypeSize <= maxSplitType && blockSize/o.TypeSize >= minSplitElems
}

// blockSize returns the block size that c-blosc chooses for n bytes (compute_blocksize in
// blosc.c).
func (o Options) blockSize(n int) int {
	if n < o.TypeSize {
		return 1
	}
	size := n
	if o.BlockSize > 0 {
		size = min(max(o.BlockSize, minBuffer), maxBlock)
	} else if n >= 32<<10 {
		size = o.levelBlockSize()
	}
	if o.Level > 0 && o.splits(size) {
		size = min(max(min(size, 256<<10)*o.TypeSize, 64<<10), 1<<20)
	}
	size = min(size, n)
	if size > o.TypeSize {
		size = size / o.TypeSize * o.TypeSize
	}
	return size
}

// levelBlockSize returns the block size of a level: a multiple of 32 KiB, the size of a
// first-level cache, and twice as much for compressors that profit from larger blocks.
func (o Options) levelBlockSize() int {
	size := 32 << 10
	isHighRatio := o.Compressor == "lz4hc" || o.Compressor == "zlib" || o.Compressor == "zstd"
	if isHighRatio {
		size *= 2
	}
	switch o.Level {
	case 0:
		return size / 4
	case 1:
		return size / 2
	case 2:
		return size
	case 3:
		return size * 2
	case 4, 5:
		return size * 4
	}
	if o.Level == 9 && isHighRatio {
		size *= 2
	}
	return size * 8
}
