package grid

import "encoding/binary"

// copyLoops copies the elements of loops whose first blocks begin at at[0] in dst and
// at[1] in src. An element is unit items.
func copyLoops[T any](dst, src []T, loops []loop, at [2]int64, unit int64) {
	switch n := len(loops); {
	case n == 0:
		copyRow(dst, src, Row{Dst: at[0], Src: at[1], N: 1, DstStep: 1, SrcStep: 1}, unit)
	// The two innermost loops of a box: rows of one length, a fixed distance apart. One
	// call copies them all.
	case n == 2 && loops[0].isRun() && loops[1].strided():
		copyRuns(dst, src, loops, at, unit)
	case n == 1:
		rows(loops, at[0], at[1], func(r Row) { copyRow(dst, src, r, unit) })
	default:
		outer := &loops[n-1]
		for i := range outer.n {
			copyLoops(dst, src, loops[:n-1], [2]int64{at[0] + outer.dstAt(i), at[1] + outer.srcAt(i)}, unit)
		}
	}
}

// copyRuns copies contiguous runs that are a fixed distance apart: the two innermost
// loops of a box. A run as long as a machine word is copied as one element.
func copyRuns[T any](dst, src []T, loops []loop, at [2]int64, unit int64) {
	run, outer := loops[0].n*unit, loops[1]
	copyStrided(dst, src, Row{
		Dst: at[0] * unit, Src: at[1] * unit, N: outer.n,
		DstStep: outer.dst * unit, SrcStep: outer.src * unit,
	}, run)
}

// copyRow copies one row of elements of unit items.
func copyRow[T any](dst, src []T, r Row, unit int64) {
	if r.DstStep == 1 && r.SrcStep == 1 {
		copy(dst[r.Dst*unit:(r.Dst+r.N)*unit], src[r.Src*unit:])
		return
	}
	r = Row{Dst: r.Dst * unit, Src: r.Src * unit, N: r.N, DstStep: r.DstStep * unit, SrcStep: r.SrcStep * unit}
	copyStrided(dst, src, r, unit)
}

// copyStrided copies elements of unit items that are a fixed distance apart. Its row
// counts items, not elements.
func copyStrided[T any](dst, src []T, r Row, unit int64) {
	if d, ok := any(dst).([]byte); ok && copyWords(d, any(src).([]byte), r, unit) {
		return
	}
	d, s := r.Dst, r.Src
	if unit == 1 {
		for range r.N {
			dst[d] = src[s]
			d, s = d+r.DstStep, s+r.SrcStep
		}
		return
	}
	for range r.N {
		copy(dst[d:d+unit], src[s:s+unit])
		d, s = d+r.DstStep, s+r.SrcStep
	}
}

// copyWords copies elements of 2, 4, 8 or 16 bytes. It returns false, having copied
// nothing, for other sizes.
func copyWords(dst, src []byte, r Row, unit int64) bool {
	// One loop for each width: the common element sizes are copied by one load and one
	// store, without a call of memmove for each element.
	switch unit {
	case 2:
		copyWords2(dst, src, r)
	case 4:
		copyWords4(dst, src, r)
	case 8:
		copyWords8(dst, src, r)
	case 16:
		copyWords16(dst, src, r)
	default:
		return false
	}
	return true
}

func copyWords2(dst, src []byte, r Row) {
	d, s := r.Dst, r.Src
	for range r.N {
		binary.LittleEndian.PutUint16(dst[d:d+2], binary.LittleEndian.Uint16(src[s:s+2]))
		d, s = d+r.DstStep, s+r.SrcStep
	}
}

func copyWords4(dst, src []byte, r Row) {
	d, s := r.Dst, r.Src
	for range r.N {
		binary.LittleEndian.PutUint32(dst[d:d+4], binary.LittleEndian.Uint32(src[s:s+4]))
		d, s = d+r.DstStep, s+r.SrcStep
	}
}

func copyWords8(dst, src []byte, r Row) {
	d, s := r.Dst, r.Src
	for range r.N {
		binary.LittleEndian.PutUint64(dst[d:d+8], binary.LittleEndian.Uint64(src[s:s+8]))
		d, s = d+r.DstStep, s+r.SrcStep
	}
}

func copyWords16(dst, src []byte, r Row) {
	d, s := r.Dst, r.Src
	for range r.N {
		to, from := dst[d:d+16], src[s:s+16]
		binary.LittleEndian.PutUint64(to, binary.LittleEndian.Uint64(from))
		binary.LittleEndian.PutUint64(to[8:], binary.LittleEndian.Uint64(from[8:]))
		d, s = d+r.DstStep, s+r.SrcStep
	}
}
