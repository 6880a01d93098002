package grid

import "encoding/binary"

// copyStrided copies blocks of unit items that lie apart. Loop and starts count
// items. Bytes in blocks of a machine word's size move as words.
func copyStrided[T any](dst, src []T, l loop, at [2]int64, unit int64) {
	if d, ok := any(dst).([]byte); ok {
		if s, ok := any(src).([]byte); ok && copyWords(d, s, l, at, unit) {
			return
		}
	}
	d, s := at[0], at[1]
	if unit == 1 {
		for range l.n {
			dst[d] = src[s]
			d, s = d+l.dst, s+l.src
		}
		return
	}
	for range l.n {
		copy(dst[d:d+unit], src[s:s+unit])
		d, s = d+l.dst, s+l.src
	}
}

// copyWords copies blocks of 2, 4, 8 or 16 bytes and reports whether they were.
func copyWords(dst, src []byte, l loop, at [2]int64, unit int64) bool {
	switch unit {
	case 2:
		copyWords2(dst, src, l, at)
	case 4:
		copyWords4(dst, src, l, at)
	case 8:
		copyWords8(dst, src, l, at)
	case 16:
		copyWords16(dst, src, l, at)
	default:
		return false
	}
	return true
}

func copyWords2(dst, src []byte, l loop, at [2]int64) {
	d, s := at[0], at[1]
	for range l.n {
		binary.LittleEndian.PutUint16(dst[d:d+2], binary.LittleEndian.Uint16(src[s:s+2]))
		d, s = d+l.dst, s+l.src
	}
}

func copyWords4(dst, src []byte, l loop, at [2]int64) {
	d, s := at[0], at[1]
	for range l.n {
		binary.LittleEndian.PutUint32(dst[d:d+4], binary.LittleEndian.Uint32(src[s:s+4]))
		d, s = d+l.dst, s+l.src
	}
}

func copyWords8(dst, src []byte, l loop, at [2]int64) {
	d, s := at[0], at[1]
	for range l.n {
		binary.LittleEndian.PutUint64(dst[d:d+8], binary.LittleEndian.Uint64(src[s:s+8]))
		d, s = d+l.dst, s+l.src
	}
}

func copyWords16(dst, src []byte, l loop, at [2]int64) {
	d, s := at[0], at[1]
	for range l.n {
		to, from := dst[d:d+16], src[s:s+16]
		binary.LittleEndian.PutUint64(to, binary.LittleEndian.Uint64(from))
		binary.LittleEndian.PutUint64(to[8:], binary.LittleEndian.Uint64(from[8:]))
		d, s = d+l.dst, s+l.src
	}
}
