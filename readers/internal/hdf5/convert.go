package hdf5

import (
	"encoding/binary"
	"math"
	"slices"

	"varve/readers"
)

// appendNative appends numbers as a C program holds them: little-endian, of 1, 2, 4 or 8 bytes.
// Numbers with unused bits or other sizes are converted; values out of range are clipped.
func appendNative(dst []byte, t *readers.Type, to *netcdfType, stored []byte) []byte {
	whole := t.Class == readers.Float && t.IsIEEE() || t.Class == readers.Integer && t.Precision == 8*t.Size && t.BitOffset == 0
	if whole && t.Size == to.size {
		return appendNumbers(dst, t, stored)
	}
	for ; len(stored) >= t.Size; stored = stored[t.Size:] {
		one := slices.Clone(stored[:t.Size])
		if t.Order == readers.BigEndian {
			slices.Reverse(one)
		}
		if t.Class == readers.Float {
			dst = appendFloat(dst, to.size, t.Float64(one))
		} else {
			dst = appendInt(dst, to.size, t, one)
		}
	}
	return dst
}

func appendInt(dst []byte, size int, t *readers.Type, b []byte) []byte {
	n := min(t.Precision, 64)
	v := readers.Bits(b, t.BitOffset, n)
	for i := n; i < t.Precision; i++ { // clip values of more than 64 bits, as libhdf5 does
		if !t.Signed && readers.Bits(b, t.BitOffset+i, 1) != 0 {
			v = math.MaxUint64
		}
	}
	if t.Signed && n < 64 && v>>(n-1) != 0 {
		v |= ^uint64(0) << n
	}
	return append(dst, binary.LittleEndian.AppendUint64(nil, v)[:size]...)
}

func appendFloat(dst []byte, size int, v float64) []byte {
	if size == 4 {
		return binary.LittleEndian.AppendUint32(dst, math.Float32bits(float32(v)))
	}
	return binary.LittleEndian.AppendUint64(dst, math.Float64bits(v))
}
