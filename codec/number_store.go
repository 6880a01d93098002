package codec

import (
	"encoding/binary"
	"math"
)

// storeWords stores integers as an integer type. It truncates integers to the low bits; a
// boolean is true if any bit is set.
func storeWords(dst []byte, src []uint64, n number) {
	switch n.size() {
	case 1:
		if n == numBool {
			storeBools(dst, src)
			return
		}
		for i, v := range src {
			dst[i] = byte(v)
		}
	case 2:
		for i, v := range src {
			binary.LittleEndian.PutUint16(dst[2*i:], uint16(v))
		}
	case 4:
		for i, v := range src {
			binary.LittleEndian.PutUint32(dst[4*i:], uint32(v))
		}
	case 8:
		for i, v := range src {
			binary.LittleEndian.PutUint64(dst[8*i:], v)
		}
	}
}

func storeBools[W wide](dst []byte, src []W) {
	for i, v := range src {
		dst[i] = 0
		if v != 0 {
			dst[i] = 1
		}
	}
}

// storeFloats stores floats as any type. Floats become integers as in NumPy on x86-64:
// they are truncated to a wider integer, which is then truncated to the low bits. A float
// that the wider integer cannot hold becomes its least value. C leaves the result for
// floats out of range undefined, and NumPy's own loops for uint32 disagree there; this
// function follows the one for single elements.
func storeFloats[F float32 | float64](dst []byte, src []F, n number) {
	switch n {
	case numBool:
		storeBools(dst, src)
	case numInt8, numUint8:
		for i, v := range src {
			dst[i] = byte(toInt32(float64(v)))
		}
	case numInt16, numUint16:
		for i, v := range src {
			binary.LittleEndian.PutUint16(dst[2*i:], uint16(toInt32(float64(v))))
		}
	case numInt32:
		for i, v := range src {
			binary.LittleEndian.PutUint32(dst[4*i:], uint32(toInt32(float64(v))))
		}
	case numUint32:
		for i, v := range src {
			binary.LittleEndian.PutUint32(dst[4*i:], uint32(toInt64(float64(v))))
		}
	case numInt64:
		for i, v := range src {
			binary.LittleEndian.PutUint64(dst[8*i:], uint64(toInt64(float64(v))))
		}
	case numUint64:
		for i, v := range src {
			binary.LittleEndian.PutUint64(dst[8*i:], toUint64(float64(v)))
		}
	case numFloat16:
		for i, v := range src {
			binary.LittleEndian.PutUint16(dst[2*i:], float64ToHalf(float64(v)))
		}
	case numFloat32:
		for i, v := range src {
			binary.LittleEndian.PutUint32(dst[4*i:], math.Float32bits(float32(v)))
		}
	case numFloat64:
		for i, v := range src {
			binary.LittleEndian.PutUint64(dst[8*i:], math.Float64bits(float64(v)))
		}
	}
}

// toInt32 computes the x86-64 instruction CVTTSD2SI, on every machine.
func toInt32(v float64) int32 {
	if v > -0x1p31-1 && v < 0x1p31 {
		return int32(v)
	}
	return math.MinInt32
}

// toInt64 computes CVTTSD2SI for 64 bits.
func toInt64(v float64) int64 {
	if v >= -0x1p63 && v < 0x1p63 {
		return int64(v)
	}
	return math.MinInt64
}

// toUint64 converts as compilers for x86-64 do, which has no such instruction.
func toUint64(v float64) uint64 {
	if v >= 0x1p63 {
		return uint64(toInt64(v-0x1p63)) ^ 1<<63
	}
	return uint64(toInt64(v))
}
