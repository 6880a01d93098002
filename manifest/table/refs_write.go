package table

import (
	"errors"
	"fmt"
	"io"

	"varve/manifest"
	"varve/manifest/table/internal/parquet"
)

// RefWriter writes a table of refs.
type RefWriter struct {
	b      *builder
	masked bool // a mask of the row group is not 0
	others bool
}

// NewRefs starts a table of refs. Rows reach w in row groups; Close writes the last of them.
func NewRefs(w io.Writer) *RefWriter {
	return &RefWriter{b: newTable(w, manifest.Refs, refColumns)}
}

// Append adds refs, given by columns of equal length. Masks and others may be nil, which
// stands for zeros.
func (w *RefWriter) Append(offsets, sizes []int64, masks []uint32, others []int32) error {
	n := len(offsets)
	if len(sizes) != n || masks != nil && len(masks) != n || others != nil && len(others) != n {
		return fmt.Errorf("refs: %d offsets, %d sizes, %d masks, %d others", n, len(sizes), len(masks), len(others))
	}
	for i, size := range sizes {
		if size < 0 || offsets[i] > 1<<62 || size > 1<<62 {
			return fmt.Errorf("refs: row %d: %d bytes at offset %d", w.Rows()+int64(i), size, offsets[i])
		}
	}
	for at := 0; at < n; {
		end := min(n, at+w.b.cut.groupRows-w.b.rows)
		w.fill(offsets[at:end], sizes[at:end])
		w.fillOther(maskColumn, &w.masked, end-at, func(i int) int64 { return at32(masks, at+i) })
		w.fillOther(otherColumn, &w.others, end-at, func(i int) int64 { return at32(others, at+i) })
		w.b.rows += end - at
		w.b.total += int64(end - at)
		at = end
		if w.b.rows == w.b.cut.groupRows {
			if err := w.flush(); err != nil {
				return err
			}
		}
	}
	return w.b.err
}

func at32[T int32 | uint32](values []T, i int) int64 {
	if values == nil {
		return 0
	}
	return int64(values[i])
}

func (w *RefWriter) fill(offsets, sizes []int64) {
	v := w.b.values
	v[offsetColumn].Ints = append(v[offsetColumn].Ints, offsets...)
	v[lengthColumn].Ints = append(v[lengthColumn].Ints, sizes...)
}

// fillOther adds to a column that is zeros for nearly all archives. It stays empty as long as
// it is.
func (w *RefWriter) fillOther(column int, some *bool, n int, value func(int) int64) {
	v := &w.b.values[column]
	for i := range n {
		x := value(i)
		if x != 0 && !*some {
			*some = true
			v.Ints = append(v.Ints[:0], make([]int64, w.b.rows+i)...)
		}
		if *some {
			v.Ints = append(v.Ints, x)
		}
	}
}

// flush makes a row group of what is there. A length that only says that the next row's offset
// is where the bytes end is left out, but never in the last row of a page.
func (w *RefWriter) flush() error {
	v, rows := w.b.values, w.b.rows
	if rows == 0 {
		return w.b.err
	}
	v[lengthColumn].Present = follow(v[lengthColumn].Present[:0], v[offsetColumn].Ints, v[lengthColumn].Ints, w.b.cut.pageRows)
	if !w.masked {
		v[maskColumn] = allZeros()
	}
	if !w.others {
		v[otherColumn] = allZeros()
	}
	for at := 0; at < rows; at += w.b.cut.pageRows {
		w.b.starts = append(w.b.starts, at)
	}
	w.masked, w.others = false, false
	return w.b.flush()
}

func allZeros() parquet.Values { return parquet.Values{Ints: []int64{0}, Same: true} }

// follow appends for each ref whether its length has to be written down.
func follow(dst []uint8, offsets, sizes []int64, pageRows int) []uint8 {
	for i, size := range sizes {
		one := uint8(1)
		if i+1 < len(offsets) && (i+1)%pageRows != 0 && offsets[i+1] == offsets[i]+size {
			one = 0
		}
		dst = append(dst, one)
	}
	return dst
}

// Rows is the number of refs so far.
func (w *RefWriter) Rows() int64 { return w.b.total }

// Close writes what is left, and the footer. It does not close the io.Writer.
func (w *RefWriter) Close() error {
	return errors.Join(w.flush(), w.b.close())
}
