package codec

import (
	"encoding/binary"
	"math"
)

// blockLen is the number of elements that are converted at a time. Elements are loaded in
// blocks, computed with in one of few wide types and stored again, so that there is one
// loop for each type instead of one for each pair of types. A block fits the first-level
// cache and is allocated on the stack.
const blockLen = 256

// wide is a type for computing: uint64 represents every integer in two's complement,
// sign-extended if it is signed.
type wide interface{ uint64 | float32 | float64 }

// load fills dst with elements from the start of src. It must not load floats as words,
// nor as a narrower type.
func load[W wide](dst []W, src []byte, n number) {
	switch n {
	case numBool, numUint8:
		load8[uint8](dst, src)
	case numInt8:
		load8[int8](dst, src)
	case numUint16:
		load16[uint16](dst, src)
	case numInt16:
		load16[int16](dst, src)
	case numUint32:
		load32[uint32](dst, src)
	case numInt32:
		load32[int32](dst, src)
	case numUint64:
		load64[uint64](dst, src)
	case numInt64:
		load64[int64](dst, src)
	case numFloat16:
		loadHalves(dst, src)
	case numFloat32:
		loadFloat32s(dst, src)
	case numFloat64:
		loadFloat64s(dst, src)
	}
}

func load8[S int8 | uint8, W wide](dst []W, src []byte) {
	for i, b := range src[:len(dst)] {
		dst[i] = W(S(b))
	}
}

func load16[S int16 | uint16, W wide](dst []W, src []byte) {
	for i := range dst {
		// Never true. The check lets the compiler omit the bounds check of Uint16.
		if len(src) < 2 {
			return
		}
		dst[i] = W(S(binary.LittleEndian.Uint16(src)))
		src = src[2:]
	}
}

func load32[S int32 | uint32, W wide](dst []W, src []byte) {
	for i := range dst {
		if len(src) < 4 {
			return
		}
		dst[i] = W(S(binary.LittleEndian.Uint32(src)))
		src = src[4:]
	}
}

func load64[S int64 | uint64, W wide](dst []W, src []byte) {
	for i := range dst {
		if len(src) < 8 {
			return
		}
		dst[i] = W(S(binary.LittleEndian.Uint64(src)))
		src = src[8:]
	}
}

func loadHalves[W wide](dst []W, src []byte) {
	for i := range dst {
		if len(src) < 2 {
			return
		}
		dst[i] = W(halfToFloat32(binary.LittleEndian.Uint16(src)))
		src = src[2:]
	}
}

func loadFloat32s[W wide](dst []W, src []byte) {
	for i := range dst {
		if len(src) < 4 {
			return
		}
		dst[i] = W(math.Float32frombits(binary.LittleEndian.Uint32(src)))
		src = src[4:]
	}
}

func loadFloat64s[W wide](dst []W, src []byte) {
	for i := range dst {
		if len(src) < 8 {
			return
		}
		dst[i] = W(math.Float64frombits(binary.LittleEndian.Uint64(src)))
		src = src[8:]
	}
}
