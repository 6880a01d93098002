package codec

import "encoding/binary"

// walk visits a C-order box row by row, with the offset of each row elsewhere.
type walk struct {
	shape   []int
	strides []int // elsewhere, in elements
}

func newWalk(shape, strides []int) *walk {
	w := &walk{}
	for i, n := range shape { // join axes that lie one after another elsewhere too
		last := len(w.shape) - 1
		if last >= 0 && w.strides[last] == n*strides[i] {
			w.shape[last] *= n
			w.strides[last] = strides[i]
			continue
		}
		w.shape = append(w.shape, n)
		w.strides = append(w.strides, strides[i])
	}
	return w
}

// each calls row with the offset in the box, the offset elsewhere, the length of the
// row and its step elsewhere. No axis may be empty.
func (w *walk) each(row func(to, from, count, step int)) {
	if len(w.shape) == 0 {
		row(0, 0, 1, 1)
		return
	}
	last := len(w.shape) - 1
	count, step := w.shape[last], w.strides[last]
	at := make([]int, last)
	from := 0
	for to := 0; ; to += count {
		row(to, from, count, step)
		axis := last - 1
		for ; axis >= 0; axis-- {
			at[axis]++
			from += w.strides[axis]
			if at[axis] < w.shape[axis] {
				break
			}
			from -= at[axis] * w.strides[axis]
			at[axis] = 0
		}
		if axis < 0 {
			return
		}
	}
}

// copyStrided fills dst with elements of a size, that lie step bytes apart in src.
func copyStrided(dst, src []byte, size, step int) {
	switch {
	case size == step:
		copy(dst, src)
	case size == 4:
		for at := 0; len(dst) >= 4; at += step {
			binary.LittleEndian.PutUint32(dst, binary.LittleEndian.Uint32(src[at:]))
			dst = dst[4:]
		}
	case size == 8:
		for at := 0; len(dst) >= 8; at += step {
			binary.LittleEndian.PutUint64(dst, binary.LittleEndian.Uint64(src[at:]))
			dst = dst[8:]
		}
	default:
		for at := 0; len(dst) > 0 && size > 0; at += step {
			copy(dst[:size], src[at:])
			dst = dst[size:]
		}
	}
}
