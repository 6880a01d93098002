package blosc

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"varve/codec/internal/corrupt"
)

// A contiguous frame (README_CFRAME_FORMAT.rst of c-blosc2) is a header in msgpack, chunks and
// a trailer in msgpack. The header's fields are at fixed offsets; its integers are big-endian:
//
//	 0  9e a8 "b2frame" 00
//	10  d2 header_len  i32
//	15  cf frame_len   u64
//	24  a4             general_flags u8: version & 15, offsets of 64 bits 0x10, chunks of
//	                   variable length 0x40, blocks of variable length 0x80;
//	                   frame_type u8: 0 contiguous, 1 sparse; codec_flags u8; other_flags u8
//	29  d3 nbytes      i64
//	38  d3 cbytes      i64  total size of the chunks
//	47  d2 typesize    i32
//	52  d2 blocksize   i32
//	57  d2 chunksize   i32
//	62  threads, has_vlmetalayers, filter pipeline
//	87  93 cd u16, de u16 n: n metalayers (name: fixstr, d2 i32 offset of the content in the header),
//	    dc u16, the contents: c6 u32 length, bytes
//
// The header is followed by the chunks, then by a chunk of offsets: one little-endian i64 per
// chunk, its start after the header. A negative offset means a special chunk that is not
// stored; its highest byte is the kind. HDF5's filter 32026 stores one frame with one chunk. If
// a metalayer is named b2nd, the data are an n-dimensional array, see ndim.go.
const (
	frameMinHeader = 87

	frameVersionMax = 3
	frameVarChunks  = 0x40
	frameVarBlocks  = 0x80

	maxBytes = 1 << 50 // more than any frame has, and far from overflow

	offsetZeros         = 1
	offsetNaN           = 2
	offsetUninitialized = 4
)

var be = binary.BigEndian

var frameMagic = []byte("\x9e\xa8b2frame\x00")

// A frame is a contiguous frame whose header was checked.
type frame struct {
	src       []byte // the frame, from its magic to its end
	headerLen int
	nbytes    int // decoded size, including the padding of an array
	cbytes    int
	typesize  int
	chunkSize int
	chunks    int
	array     *array // nil unless the frame has a b2nd metalayer
}

// size returns the decoded size without padding.
func (f *frame) size() int {
	if f.array != nil {
		return f.array.size(f.typesize)
	}
	return f.nbytes
}

// DecodeFrame decodes a Blosc2 contiguous frame to the beginning of dst and returns the
// decoded length. A longer frame than len(dst) is an error. The elements of an n-dimensional
// array are in C order. Values that were never written are zeros.
func DecodeFrame(dst, src []byte) (int, error) {
	f, err := readFrame(src)
	if err != nil {
		return 0, err
	}
	if f.size() > len(dst) {
		return 0, corrupt.Errorf("blosc2 frame: decoded size %d, at most %d bytes are expected", f.size(), len(dst))
	}
	dst = dst[:f.size():f.size()]
	if len(dst) == 0 {
		return 0, nil
	}
	s := scratches.Get().(*scratch)
	defer s.release()
	offsets, err := f.offsets(s)
	if err != nil {
		return 0, err
	}
	for i := range f.chunks {
		if err := f.decodeChunk(dst, i, int64(le.Uint64(offsets[8*i:])), s); err != nil {
			return 0, err
		}
	}
	return len(dst), nil
}

// decodeChunk decodes chunk i, which is at the given offset, to its place in dst.
func (f *frame) decodeChunk(dst []byte, i int, offset int64, s *scratch) error {
	size := min(f.chunkSize, f.nbytes-i*f.chunkSize)
	c, err := f.chunk(offset, size)
	if err == nil && c.nbytes != size {
		err = corrupt.Errorf("nbytes %d at byte 4, %d are expected", c.nbytes, size)
	}
	if err == nil && f.array != nil {
		err = f.array.place(dst, i, arrayChunk{c, f.typesize}, s)
	} else if err == nil {
		at := i * f.chunkSize
		err = c.decode(dst[at:at+size], s)
	}
	if err != nil {
		return fmt.Errorf("blosc2 frame: chunk %d: %w", i, err)
	}
	return nil
}

// chunk returns the chunk at an offset, or the special chunk that a negative offset means.
func (f *frame) chunk(offset int64, size int) (*chunk2, error) {
	c := new(chunk2)
	if offset >= 0 {
		if offset > int64(f.cbytes) {
			return nil, corrupt.Errorf("offset %d, but all chunks have %d bytes", offset, f.cbytes)
		}
		return c, c.read(f.src[f.headerLen : f.headerLen+f.cbytes][offset:])
	}
	// Any block size works for a special chunk, but an array compares it with its own.
	c.header = header{version: version2Stable, typesize: f.typesize, nbytes: size, blocksize: size}
	if f.array != nil {
		c.blocksize = f.array.blockItems() * f.typesize
	}
	switch kind := byte(uint64(offset) >> 56); {
	case kind&offsetZeros != 0:
		c.special = specialZeros
	case kind&offsetUninitialized != 0:
		c.special = specialUninitialized
	case kind&offsetNaN != 0:
		c.special = specialNaN
	default:
		return nil, unsupported("a Blosc2 chunk of kind 0x%02x", kind)
	}
	return c, c.readSpecial()
}

// offsets decodes the chunk of offsets, to scratch memory.
func (f *frame) offsets(s *scratch) ([]byte, error) {
	var c chunk2
	at := f.headerLen + f.cbytes
	if err := c.read(f.src[at:]); err != nil {
		return nil, fmt.Errorf("blosc2 frame: offsets at byte %d: %w", at, err)
	}
	if c.nbytes != 8*f.chunks {
		return nil, corrupt.Errorf("blosc2 frame: offsets at byte %d: %d bytes, %d are expected", at, c.nbytes, 8*f.chunks)
	}
	// A special chunk of offsets takes few bytes whatever its size, so the size needs a limit.
	if c.nbytes > maxKept+len(f.src) {
		return nil, corrupt.Errorf("blosc2 frame: %d chunks in %d bytes", f.chunks, len(f.src))
	}
	out := s.spare.bytes(c.nbytes)
	if err := c.decode(out, s); err != nil {
		return nil, fmt.Errorf("blosc2 frame: offsets at byte %d: %w", at, err)
	}
	return out, nil
}

// readFrame reads and checks the header of the frame at the beginning of src.
func readFrame(src []byte) (*frame, error) {
	if len(src) < frameMinHeader || !bytes.HasPrefix(src, frameMagic) {
		return nil, corrupt.Errorf("blosc2 frame: it must have at least %d bytes and begin with % x (it has %d and begins with % x)",
			frameMinHeader, frameMagic, len(src), src[:min(len(src), len(frameMagic))])
	}
	switch flags, kind := src[25], src[26]; {
	case flags&15 > frameVersionMax:
		return nil, unsupported("a Blosc2 frame of version %d, supported are 0 to %d", flags&15, frameVersionMax)
	case flags&frameVarBlocks != 0:
		return nil, unsupported("a Blosc2 frame with blocks of variable length")
	case flags&frameVarChunks != 0:
		return nil, unsupported("a Blosc2 frame with chunks of variable length")
	case kind != 0:
		return nil, unsupported("a Blosc2 frame of type %d; only a contiguous frame (type 0) holds its chunks", kind)
	}
	f := new(frame)
	if err := f.readLengths(src); err != nil {
		return nil, err
	}
	if err := f.countChunks(); err != nil {
		return nil, err
	}
	content, err := f.metalayer("b2nd")
	if content == nil || err != nil {
		return f, err
	}
	f.array, err = readArray(content)
	if err == nil {
		err = f.array.check(f)
	}
	return f, err
}

// readLengths reads the fields on which all offsets depend.
func (f *frame) readLengths(src []byte) error {
	frameLen := be.Uint64(src[16:])
	if frameLen < frameMinHeader || frameLen > uint64(len(src)) {
		return corrupt.Errorf("blosc2 frame: frame_len %d at byte 16, allowed %d to %d", frameLen, frameMinHeader, len(src))
	}
	f.src = src[:frameLen]
	headerLen := be.Uint32(src[11:])
	if headerLen < frameMinHeader || uint64(headerLen) > frameLen {
		return corrupt.Errorf("blosc2 frame: header_len %d at byte 11, allowed %d to %d", headerLen, frameMinHeader, frameLen)
	}
	f.headerLen = int(headerLen)
	cbytes := be.Uint64(src[39:])
	if cbytes > frameLen-uint64(headerLen) {
		return corrupt.Errorf("blosc2 frame: cbytes %d at byte 39, allowed up to %d", cbytes, frameLen-uint64(headerLen))
	}
	f.cbytes = int(cbytes)
	typesize := int32(be.Uint32(src[48:]))
	if typesize <= 0 {
		return corrupt.Errorf("blosc2 frame: typesize %d at byte 48, must be positive", typesize)
	}
	f.typesize = int(typesize)
	return nil
}

// countChunks reads the decoded size and the chunk size.
func (f *frame) countChunks() error {
	nbytes := be.Uint64(f.src[30:])
	if nbytes > maxBytes {
		return corrupt.Errorf("blosc2 frame: nbytes %d at byte 30, at most %d are allowed", nbytes, int64(maxBytes))
	}
	f.nbytes = int(nbytes)
	size := int32(be.Uint32(f.src[58:]))
	if size <= 0 && nbytes > 0 {
		return corrupt.Errorf("blosc2 frame: chunksize %d at byte 58, must be positive", size)
	}
	f.chunkSize = int(size)
	if nbytes > 0 {
		f.chunks = (f.nbytes + f.chunkSize - 1) / f.chunkSize
	}
	return nil
}

// metalayer returns the content of the metalayer called name, or nil if there is none.
func (f *frame) metalayer(name string) ([]byte, error) {
	m := msgpack{f.src[frameMinHeader:f.headerLen]}
	if len(m.src) == 0 {
		return nil, nil
	}
	m.skip(1 + 3) // the marker of the array and the size of the index
	if !m.marker(0xde) {
		return nil, corrupt.Errorf("blosc2 frame: no index of metalayers at byte %d", frameMinHeader+4)
	}
	for range be.Uint16(m.take(2)) {
		n := int(m.take(1)[0] & 31)
		key := m.take(n)
		if !m.marker(0xd2) {
			return nil, corrupt.Errorf("blosc2 frame: metalayer %q has no offset", key)
		}
		at := int32(be.Uint32(m.take(4)))
		if string(key) == name {
			return f.content(int(at))
		}
	}
	return nil, nil
}

// content returns the content of the metalayer at byte at of the header.
func (f *frame) content(at int) ([]byte, error) {
	if at < 0 || at > f.headerLen-5 || f.src[at] != 0xc6 {
		return nil, corrupt.Errorf("blosc2 frame: no metalayer at byte %d", at)
	}
	n := be.Uint32(f.src[at+1:])
	if int64(n) > int64(f.headerLen-at-5) {
		return nil, corrupt.Errorf("blosc2 frame: metalayer of %d bytes at byte %d, only %d are left", n, at, f.headerLen-at-5)
	}
	return f.src[at+5 : at+5+int(n)], nil
}
