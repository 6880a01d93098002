//go:build amd64 || arm64

package codec

import "unsafe"

// view returns bytes as elements, on machines that are little-endian and allow unaligned
// access. With views, one loop loads, computes and stores, which decodes packed integers
// 1.5 to 2 times as fast.
func view[T any](b []byte) []T {
	var element T
	if len(b) == 0 {
		return nil
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(element)))
}

// decodeFused decodes integers of up to 32 bits to float32 and float64, and float32 and
// float64 to the same type. It returns false, having done nothing, for other types.
func decodeFused(s scaling, c conversion) bool {
	switch {
	case c.to == numFloat32 && c.from == numFloat32:
		unscaleSame(view[float32](c.dst), view[float32](c.src), s)
	case c.to == numFloat64 && c.from == numFloat64:
		unscaleSame(view[float64](c.dst), view[float64](c.src), s)
	case c.to == numFloat32:
		return unscaleTo[float32](s, c)
	case c.to == numFloat64:
		return unscaleTo[float64](s, c)
	default:
		return false
	}
	return true
}

func unscaleSame[F float32 | float64](dst, src []F, s scaling) {
	dst = dst[:len(src)]
	by, offset := F(s.scale), F(s.offset)
	for i, v := range src {
		dst[i] = v/by + offset
	}
}

func unscaleTo[D float32 | float64](s scaling, c conversion) bool {
	dst := view[D](c.dst)
	switch c.from {
	case numInt8:
		unscaleFrom(dst, view[int8](c.src), s)
	case numUint8:
		unscaleFrom(dst, c.src, s)
	case numInt16:
		unscaleFrom(dst, view[int16](c.src), s)
	case numUint16:
		unscaleFrom(dst, view[uint16](c.src), s)
	case numInt32:
		unscaleFrom(dst, view[int32](c.src), s)
	case numUint32:
		unscaleFrom(dst, view[uint32](c.src), s)
	default:
		return false
	}
	return true
}

func unscaleFrom[D float32 | float64, S int8 | uint8 | int16 | uint16 | int32 | uint32](dst []D, src []S, s scaling) {
	dst = dst[:len(src)]
	for i, v := range src {
		dst[i] = D(float64(v)/s.scale + s.offset)
	}
}
