package lz4

import (
	"encoding/binary"
	"fmt"
	"math"

	"varve/codec/internal/corrupt"
)

const sizedHeader = 4

// SizedLen returns the decoded size in the header of a numcodecs.lz4 chunk. It checks nothing else.
func SizedLen(src []byte) (int, error) {
	if len(src) < sizedHeader {
		return 0, corrupt.Errorf("numcodecs.lz4: the chunk has %d bytes, fewer than its header (%d bytes)", len(src), sizedHeader)
	}
	return int(binary.LittleEndian.Uint32(src)), nil
}

// DecodeSized decodes a numcodecs.lz4 chunk to the beginning of dst and returns the decoded length.
func DecodeSized(dst, src []byte) (int, error) {
	size, err := SizedLen(src)
	if err != nil {
		return 0, err
	}
	if size > len(dst) {
		return 0, corrupt.Errorf("numcodecs.lz4: decoded size %d at byte 0, at most %d bytes are expected", size, len(dst))
	}
	n, err := Decode(dst[:size], src[sizedHeader:])
	if err != nil {
		return 0, err
	}
	if n != size {
		return 0, corrupt.Errorf("numcodecs.lz4: the block decodes to %d bytes, but its header has %d", n, size)
	}
	return n, nil
}

// AppendSized appends src to dst as a numcodecs.lz4 chunk.
func AppendSized(dst, src []byte, acceleration int) ([]byte, error) {
	if int64(len(src)) > math.MaxInt32 {
		return dst, fmt.Errorf("numcodecs.lz4: the chunk has %d bytes, at most %d are allowed; use smaller chunks", len(src), math.MaxInt32)
	}
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(src)))
	return appendBlock(dst, src, acceleration)
}

// appendBlock appends src to dst as an LZ4 block.
func appendBlock(dst, src []byte, acceleration int) ([]byte, error) {
	dst, room := grow(dst, Bound(len(src)))
	n, err := Encode(room, src, acceleration)
	return dst[:len(dst)+n], err
}

// grow returns dst with capacity for n more bytes, and these n bytes as room.
func grow(dst []byte, n int) (grown, room []byte) {
	if cap(dst)-len(dst) < n {
		dst = append(make([]byte, 0, len(dst)+n), dst...)
	}
	return dst, dst[len(dst) : len(dst)+n]
}

const (
	hdf5Header   = 12
	hdf5MaxBlock = 0x7E000000 // LZ4_MAX_INPUT_SIZE
)

// HDF5Len returns the decoded size in the header of a chunk of HDF5's filter 32004. It checks nothing
// else.
func HDF5Len(src []byte) (int, error) {
	if len(src) < hdf5Header {
		return 0, corrupt.Errorf("HDF5 lz4: the chunk has %d bytes, fewer than its header (%d bytes)", len(src), hdf5Header)
	}
	total := binary.BigEndian.Uint64(src)
	if total > math.MaxInt64 {
		return 0, corrupt.Errorf("HDF5 lz4: total size %d at byte 0, must be below 2^63", total)
	}
	return int(total), nil
}

// DecodeHDF5 decodes a chunk of HDF5's filter 32004 to the beginning of dst and returns the decoded
// length. Bytes after the last block are ignored, as in the filter.
func DecodeHDF5(dst, src []byte) (int, error) {
	total, err := HDF5Len(src)
	if err != nil {
		return 0, err
	}
	if total > len(dst) {
		return 0, corrupt.Errorf("HDF5 lz4: total size %d at byte 0, at most %d bytes are expected", total, len(dst))
	}
	blockSize := int(binary.BigEndian.Uint32(src[8:]))
	if blockSize == 0 && total > 0 {
		return 0, corrupt.Errorf("HDF5 lz4: block size 0 at byte 8, must be positive")
	}
	at := hdf5Header
	for done := 0; done < total; {
		size := min(blockSize, total-done)
		used, err := decodeHDF5Block(dst[done:done+size], src[at:])
		if err != nil {
			return 0, corrupt.Errorf("HDF5 lz4: block at byte %d: %w", at, err)
		}
		at, done = at+used, done+size
	}
	return total, nil
}

// decodeHDF5Block fills dst from the block at the beginning of src and returns the stored length of the
// block.
func decodeHDF5Block(dst, src []byte) (int, error) {
	if len(src) < 4 {
		return 0, corrupt.Errorf("truncated in its length: only %d of 4 bytes are left", len(src))
	}
	n := binary.BigEndian.Uint32(src)
	body := src[4:]
	if uint64(n) > uint64(len(body)) {
		return 0, corrupt.Errorf("length %d, only %d bytes are left", n, len(body))
	}
	body = body[:n]
	if len(body) == len(dst) { // the filter stores incompressible blocks
		return 4 + copy(dst, body), nil
	}
	got, err := Decode(dst, body)
	if err != nil {
		return 0, err
	}
	if got != len(dst) {
		return 0, corrupt.Errorf("decoded size %d, %d bytes are expected", got, len(dst))
	}
	return 4 + len(body), nil
}

// AppendHDF5 appends src to dst as a chunk of HDF5's filter 32004. blockSize 0 means the filter's
// default, the largest block that LZ4 allows.
func AppendHDF5(dst, src []byte, blockSize int) ([]byte, error) {
	if blockSize <= 0 || blockSize > hdf5MaxBlock {
		blockSize = hdf5MaxBlock
	}
	blockSize = min(blockSize, len(src))
	dst = binary.BigEndian.AppendUint64(dst, uint64(len(src)))
	dst = binary.BigEndian.AppendUint32(dst, uint32(blockSize))
	for len(src) > 0 {
		block := src[:min(blockSize, len(src))]
		src = src[len(block):]
		var err error
		if dst, err = appendHDF5Block(dst, block); err != nil {
			return dst, err
		}
	}
	return dst, nil
}

// appendHDF5Block appends a block with its length. It stores the block uncompressed if that is not
// longer.
func appendHDF5Block(dst, block []byte) ([]byte, error) {
	head := len(dst)
	dst = binary.BigEndian.AppendUint32(dst, 0)
	dst, err := appendBlock(dst, block, 1)
	if err != nil {
		return dst, err
	}
	if len(dst)-head-4 >= len(block) {
		dst = append(dst[:head+4], block...)
	}
	binary.BigEndian.PutUint32(dst[head:], uint32(len(dst)-head-4))
	return dst, nil
}
