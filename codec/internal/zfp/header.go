package zfp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"varve/codec/internal/corrupt"
)

const (
	magic       = 'z' | 'f'<<8 | 'p'<<16
	codec       = 5         // the stream version of ZFP 0.4 to 1.0
	shortHeader = 96        // bits
	longHeader  = 148       // bits
	longMode    = 1<<12 - 1 // the mode after which all limits follow
	maxPlanes   = 64
)

// The modes of the header that set one limit.
const (
	fixedPrecision = 2048
	reversible     = 2176
	fixedAccuracy  = 2177
	leastLongExp   = -16495
)

// unlimited holds ZFP's values of limits that a mode does not use. No block has more bits.
var unlimited = limits{minBits: 1, maxBits: 16658, maxPrec: maxPlanes, minExp: leastExp}

// Parse returns the Array for the client values (parameters) of HDF5's filter.
func Parse(values []uint32) (*Array, error) {
	const least, most = 1 + shortHeader/32, 7 // as the filter has it
	if len(values) < least || len(values) > most {
		return nil, corrupt.Errorf("zfp: %d client values, must be %d to %d", len(values), least, most)
	}
	if v := writerCodec(values[0]); v > codec {
		return nil, fmt.Errorf("zfp: client value 0 (%#x): codec version %d, supported are up to %d: %w",
			values[0], v, codec, errors.ErrUnsupported)
	}
	var header []byte
	for _, v := range values[1:] {
		header = binary.LittleEndian.AppendUint32(header, v)
	}
	isSwapped := slices.Equal(header[1:4], []byte("pfz")) // "zfp" in the other byte order
	if isSwapped {
		reverseElements(header, 4)
	}
	a, _, err := parseHeader(header)
	if err != nil {
		return nil, fmt.Errorf("client values from 1 on: %w", err)
	}
	a.isSwapped = isSwapped
	return a, nil
}

// writerCodec returns the codec version of a stream, from the first client value. H5Z-ZFP stores it since
// version 1.1. For earlier versions it follows from the version of ZFP: up to 0.9 it is the second number of that
// version (0x54 is 0.5.4), and it has not changed since.
func writerCodec(version uint32) uint32 {
	if version&0xfff >= 0x110 {
		return version >> 12 & 15
	}
	if library := version >> 16; library < 0x100 {
		return library >> 4
	}
	return codec
}

// parseHeader reads the header at the beginning of src. It returns the Array and the header's length in bits.
func parseHeader(src []byte) (*Array, int64, error) {
	if 8*len(src) < shortHeader {
		return nil, 0, corrupt.Errorf("zfp: truncated at byte %d, in the header (%d bytes)", len(src), shortHeader/8)
	}
	r := reader{src: src}
	if m := r.take(24); m != magic {
		return nil, 0, corrupt.Errorf("zfp: the header begins with %q, must begin with %q", src[:3], "zfp")
	}
	if v := r.take(8); v != codec {
		return nil, 0, fmt.Errorf("zfp: codec version %d at byte 3 of the header, supported is %d: %w", v, codec, errors.ErrUnsupported)
	}
	a := parseMetadata(r.take(52))
	mode := r.take(12)
	if mode == longMode {
		if 8*len(src) < longHeader {
			return nil, 0, corrupt.Errorf("zfp: truncated at byte %d, in the header (%d bytes)", len(src), (longHeader+7)/8)
		}
		a.limits = parseLimits(r.take(52))
	} else {
		a.limits = modeLimits(int(mode))
	}
	if a.limits.maxPrec > maxPlanes {
		return nil, 0, corrupt.Errorf("zfp: precision of %d bits at bit 84 of the header, at most %d are allowed", a.limits.maxPrec, maxPlanes)
	}
	if a.limits.minBits > a.limits.maxBits {
		return nil, 0, corrupt.Errorf("zfp: minbits %d at bit 96 of the header, must be at most maxbits %d",
			a.limits.minBits, a.limits.maxBits)
	}
	return a, r.at, nil
}

// parseMetadata returns an Array with the type and the shape in the header's metadata. All values are valid.
func parseMetadata(meta uint64) *Array {
	a := &Array{kind: kind(meta & 3), dims: int(meta>>2&3) + 1, lengths: [4]int{1, 1, 1, 1}}
	meta >>= 4
	a.size = int64(a.kind.width())
	if a.dims == 1 {
		meta &= 1<<32 - 1 // ZFP uses only 32 of the 48 bits
	}
	width := 48 / a.dims
	for i := range a.dims {
		length := int64(meta&(1<<width-1)) + 1
		a.lengths[i] = int(length)
		a.size *= length
		meta >>= width
	}
	return a
}

// parseLimits returns the limits that follow longMode.
func parseLimits(v uint64) limits {
	const bits15, bits7 = 1<<15 - 1, 1<<7 - 1
	return limits{
		minBits: uint32(v&bits15) + 1,
		maxBits: uint32(v>>15&bits15) + 1,
		maxPrec: int(v>>30&bits7) + 1,
		minExp:  int(v>>37&bits15) + leastLongExp,
	}
}

// modeLimits returns the limits of a mode other than longMode.
func modeLimits(mode int) limits {
	l := unlimited
	switch {
	case mode < fixedPrecision:
		l.minBits, l.maxBits = uint32(mode)+1, uint32(mode)+1
	case mode < reversible:
		l.maxPrec = mode - fixedPrecision + 1
	case mode == reversible:
		l.minExp = leastExp - 1
	default:
		l.minExp = mode - fixedAccuracy + leastExp
	}
	return l
}
