package codec

import (
	"encoding/binary"
	"math"
)

// sumUp replaces each element of b by the sum of all elements up to it.
func sumUp(b []byte, n number) {
	switch {
	case n == numFloat16:
		sumHalves(b)
	case n == numFloat32:
		sumFloat32s(b)
	case n == numFloat64:
		sumFloat64s(b)
	case n.size() == 1:
		sumBytes(b)
	case n.size() == 2:
		sumWords16(b)
	case n.size() == 4:
		sumWords32(b)
	default:
		sumWords64(b)
	}
}

func sumBytes(b []byte) {
	var sum byte
	for i, v := range b {
		sum += v
		b[i] = sum
	}
}

// The functions for narrow words load and store several words at a time.

func sumWords16(b []byte) {
	var sum uint16
	for ; len(b) >= 8; b = b[8:] {
		w := binary.LittleEndian.Uint64(b)
		s0 := sum + uint16(w)
		s1 := s0 + uint16(w>>16)
		s2 := s1 + uint16(w>>32)
		sum = s2 + uint16(w>>48)
		binary.LittleEndian.PutUint64(b, uint64(s0)|uint64(s1)<<16|uint64(s2)<<32|uint64(sum)<<48)
	}
	for ; len(b) >= 2; b = b[2:] {
		sum += binary.LittleEndian.Uint16(b)
		binary.LittleEndian.PutUint16(b, sum)
	}
}

func sumWords32(b []byte) {
	var sum uint32
	for ; len(b) >= 16; b = b[16:] {
		v, w := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
		s0 := sum + uint32(v)
		s1 := s0 + uint32(v>>32)
		s2 := s1 + uint32(w)
		sum = s2 + uint32(w>>32)
		binary.LittleEndian.PutUint64(b, uint64(s0)|uint64(s1)<<32)
		binary.LittleEndian.PutUint64(b[8:], uint64(s2)|uint64(sum)<<32)
	}
	for ; len(b) >= 4; b = b[4:] {
		sum += binary.LittleEndian.Uint32(b)
		binary.LittleEndian.PutUint32(b, sum)
	}
}

func sumWords64(b []byte) {
	var sum uint64
	for ; len(b) >= 8; b = b[8:] {
		sum += binary.LittleEndian.Uint64(b)
		binary.LittleEndian.PutUint64(b, sum)
	}
}

// A sum of floats starts with the first element, not with 0: 0 + −0 is 0.

func sumHalves(b []byte) {
	sum := halfToFloat32(binary.LittleEndian.Uint16(b))
	for b = b[2:]; len(b) >= 2; b = b[2:] {
		sum = roundToHalf(sum + halfToFloat32(binary.LittleEndian.Uint16(b)))
		binary.LittleEndian.PutUint16(b, float64ToHalf(float64(sum)))
	}
}

func sumFloat32s(b []byte) {
	sum := math.Float32frombits(binary.LittleEndian.Uint32(b))
	for b = b[4:]; len(b) >= 4; b = b[4:] {
		sum += math.Float32frombits(binary.LittleEndian.Uint32(b))
		binary.LittleEndian.PutUint32(b, math.Float32bits(sum))
	}
}

func sumFloat64s(b []byte) {
	sum := math.Float64frombits(binary.LittleEndian.Uint64(b))
	for b = b[8:]; len(b) >= 8; b = b[8:] {
		sum += math.Float64frombits(binary.LittleEndian.Uint64(b))
		binary.LittleEndian.PutUint64(b, math.Float64bits(sum))
	}
}

// subtract fills dst with the difference of each element of src, from the second on, to
// the one before.
func subtract(dst, src []byte, n number) {
	size := n.size()
	before := src
	src = src[size:]
	switch {
	case n == numFloat16:
		for i := 0; i+2 <= len(dst); i += 2 {
			v := halfToFloat32(binary.LittleEndian.Uint16(src[i:])) - halfToFloat32(binary.LittleEndian.Uint16(before[i:]))
			binary.LittleEndian.PutUint16(dst[i:], float64ToHalf(float64(v)))
		}
	case n == numFloat32:
		for i := 0; i+4 <= len(dst); i += 4 {
			v := math.Float32frombits(binary.LittleEndian.Uint32(src[i:])) - math.Float32frombits(binary.LittleEndian.Uint32(before[i:]))
			binary.LittleEndian.PutUint32(dst[i:], math.Float32bits(v))
		}
	case n == numFloat64:
		for i := 0; i+8 <= len(dst); i += 8 {
			v := math.Float64frombits(binary.LittleEndian.Uint64(src[i:])) - math.Float64frombits(binary.LittleEndian.Uint64(before[i:]))
			binary.LittleEndian.PutUint64(dst[i:], math.Float64bits(v))
		}
	default:
		subtractWords(dst, src, before, size)
	}
}

func subtractWords(dst, src, before []byte, size int) {
	switch size {
	case 1:
		for i := range dst {
			dst[i] = src[i] - before[i]
		}
	case 2:
		for i := 0; i+2 <= len(dst); i += 2 {
			binary.LittleEndian.PutUint16(dst[i:], binary.LittleEndian.Uint16(src[i:])-binary.LittleEndian.Uint16(before[i:]))
		}
	case 4:
		last := binary.LittleEndian.Uint32(before)
		for ; len(dst) >= 4 && len(src) >= 4; dst, src = dst[4:], src[4:] {
			v := binary.LittleEndian.Uint32(src)
			binary.LittleEndian.PutUint32(dst, v-last)
			last = v
		}
	case 8:
		for i := 0; i+8 <= len(dst); i += 8 {
			binary.LittleEndian.PutUint64(dst[i:], binary.LittleEndian.Uint64(src[i:])-binary.LittleEndian.Uint64(before[i:]))
		}
	}
}
