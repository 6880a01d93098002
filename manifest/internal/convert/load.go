package convert

import (
	"encoding/binary"
	"math"

	"varve/codec"
	"varve/manifest/internal/cf"
)

// wide is the type of elements during a conversion.
type wide interface{ uint64 | float64 }

// loadWords fills dst with elements from the start of src: integers with their sign extended, floats
// as their bits.
func loadWords(dst []uint64, src []byte, t codec.Type) {
	if t.Kind == codec.Int {
		loadSigned(dst, src, t.Size)
		return
	}
	loadUnsigned(dst, src, t.Size)
}

// loadIntegers fills dst with integers from the start of src, as floats.
func loadIntegers(dst []float64, src []byte, t codec.Type) {
	if t.Kind == codec.Int {
		loadSigned(dst, src, t.Size)
		return
	}
	loadUnsigned(dst, src, t.Size)
}

func loadSigned[W wide](dst []W, src []byte, size int) {
	switch size {
	case 1:
		for i, b := range src[:len(dst)] {
			dst[i] = W(int8(b))
		}
	case 2:
		for i := range dst {
			dst[i] = W(int16(binary.LittleEndian.Uint16(src[2*i:])))
		}
	case 4:
		for i := range dst {
			dst[i] = W(int32(binary.LittleEndian.Uint32(src[4*i:])))
		}
	case 8:
		for i := range dst {
			dst[i] = W(int64(binary.LittleEndian.Uint64(src[8*i:])))
		}
	}
}

func loadUnsigned[W wide](dst []W, src []byte, size int) {
	switch size {
	case 1:
		for i, b := range src[:len(dst)] {
			dst[i] = W(b)
		}
	case 2:
		for i := range dst {
			dst[i] = W(binary.LittleEndian.Uint16(src[2*i:]))
		}
	case 4:
		for i := range dst {
			dst[i] = W(binary.LittleEndian.Uint32(src[4*i:]))
		}
	case 8:
		for i := range dst {
			dst[i] = W(binary.LittleEndian.Uint64(src[8*i:]))
		}
	}
}

func loadFloats(dst []float64, src []byte, size int) {
	switch size {
	case 2:
		for i := range dst {
			dst[i] = cf.HalfToFloat(binary.LittleEndian.Uint16(src[2*i:]))
		}
	case 4:
		for i := range dst {
			dst[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(src[4*i:])))
		}
	case 8:
		for i := range dst {
			dst[i] = math.Float64frombits(binary.LittleEndian.Uint64(src[8*i:]))
		}
	}
}

// storeWords stores the low bytes of words.
func storeWords(dst []byte, src []uint64, size int) {
	switch size {
	case 1:
		for i, w := range src {
			dst[i] = byte(w)
		}
	case 2:
		for i, w := range src {
			binary.LittleEndian.PutUint16(dst[2*i:], uint16(w))
		}
	case 4:
		for i, w := range src {
			binary.LittleEndian.PutUint32(dst[4*i:], uint32(w))
		}
	case 8:
		for i, w := range src {
			binary.LittleEndian.PutUint64(dst[8*i:], w)
		}
	}
}

func storeFloats(dst []byte, src []float64, size int) {
	switch size {
	case 2:
		for i, f := range src {
			binary.LittleEndian.PutUint16(dst[2*i:], cf.FloatToHalf(f))
		}
	case 4:
		for i, f := range src {
			binary.LittleEndian.PutUint32(dst[4*i:], math.Float32bits(float32(f)))
		}
	case 8:
		for i, f := range src {
			binary.LittleEndian.PutUint64(dst[8*i:], math.Float64bits(f))
		}
	}
}
