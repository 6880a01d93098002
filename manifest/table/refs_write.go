package table

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"varve/manifest"
	"varve/manifest/table/internal/parquet"
)

// RefWriter writes a table of refs.
type RefWriter struct {
	b      *builder
	masked bool // a mask of the row group is not 0
	others bool
	odd    oddPages
}

// oddPages marks pages, by bits, with a ref that says more than where the bytes are in the
// file itself.
type oddPages []uint64

func (o *oddPages) mark(row int64) {
	page := row / refPageRows
	for int64(len(*o)) <= page/64 {
		*o = append(*o, 0)
	}
	(*o)[page/64] |= 1 << (page % 64)
}

// has reports whether the page of a row is marked.
func (o oddPages) has(row int64) bool {
	page := row / refPageRows
	return page/64 < int64(len(o)) && o[page/64]>>(page%64)&1 != 0
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
		if offsets[i] < 0 {
			w.odd.mark(w.b.total + int64(i))
		}
	}
	for at := 0; at < n; {
		end := min(n, at+w.b.cut.groupRows-w.b.rows)
		w.fill(offsets[at:end], sizes[at:end])
		fillOther(w, maskColumn, &w.masked, part(masks, at, end), end-at)
		fillOther(w, otherColumn, &w.others, part(others, at, end), end-at)
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

// part is a slice of values, or nil for zeros.
func part[T any](values []T, from, to int) []T {
	if values == nil {
		return nil
	}
	return values[from:to]
}

// manyRows is from how many rows of a row group on room is made for all that it can have.
const manyRows = 1 << 14

func (w *RefWriter) fill(offsets, sizes []int64) {
	v := w.b.values
	if w.b.rows+len(offsets) > manyRows && cap(v[offsetColumn].Ints) < w.b.cut.groupRows {
		v[offsetColumn].Ints = slices.Grow(v[offsetColumn].Ints, w.b.cut.groupRows-w.b.rows)
		v[lengthColumn].Ints = slices.Grow(v[lengthColumn].Ints, w.b.cut.groupRows-w.b.rows)
	}
	v[offsetColumn].Ints = append(v[offsetColumn].Ints, offsets...)
	v[lengthColumn].Ints = append(v[lengthColumn].Ints, sizes...)
}

// fillOther adds n values to a column that is zeros for nearly all archives. It stays empty as
// long as it is.
func fillOther[T int32 | uint32](w *RefWriter, column int, some *bool, values []T, n int) {
	v := &w.b.values[column]
	if !*some {
		if !slices.ContainsFunc(values, func(x T) bool { return x != 0 }) {
			return
		}
		*some = true
		v.Ints = append(v.Ints[:0], make([]int64, w.b.rows)...)
	}
	if values == nil {
		v.Ints = append(v.Ints, make([]int64, n)...)
	}
	for i, x := range values {
		if x != 0 {
			w.odd.mark(w.b.total + int64(i))
		}
		v.Ints = append(v.Ints, int64(x))
	}
}

// IsPlain reports whether all that some rows say is known to be where bytes are in the file
// itself, so that nobody has to read them to know what becomes of them. It looks at whole pages.
func (w *RefWriter) IsPlain(row, rows int64) bool {
	if row < 0 || row+rows > w.b.total {
		return false
	}
	for at := row - row%refPageRows; at < row+rows; at += refPageRows {
		if w.odd.has(at) {
			return false
		}
	}
	return true
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
	at := len(dst)
	dst = slices.Grow(dst, len(sizes))[:at+len(sizes)]
	for from := 0; from < len(sizes); from += pageRows {
		to := min(from+pageRows, len(sizes))
		page, offsets, sizes := dst[at+from:at+to], offsets[from:to], sizes[from:to]
		last := len(page) - 1
		for i := range last {
			page[i] = 1
			if offsets[i+1] == offsets[i]+sizes[i] {
				page[i] = 0
			}
		}
		page[last] = 1
	}
	return dst
}

// Rows is the number of refs so far.
func (w *RefWriter) Rows() int64 { return w.b.total }

// Close writes what is left, and the footer. It does not close the io.Writer.
func (w *RefWriter) Close() error {
	return errors.Join(w.flush(), w.b.close())
}
