package table

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"varve/manifest"
	"varve/readers/parquet"
)

// RefWriter writes a table of refs.
type RefWriter struct {
	b         *builder
	hasMasks  bool // a mask of the row group is not 0
	hasOthers bool
	isChecked bool // the table has the column of checksums
	hasSums   bool
	odd       oddPages
}

// oddPages has a bit for each page that contains a ref with more than an offset and size in its own
// file.
type oddPages []uint64

func (o *oddPages) mark(row int64) {
	page := row / refPageRows
	for int64(len(*o)) <= page/64 {
		*o = append(*o, 0)
	}
	(*o)[page/64] |= 1 << (page % 64)
}

// has reports whether the page of a row has its bit set.
func (o oddPages) has(row int64) bool {
	page := row / refPageRows
	return page/64 < int64(len(o)) && o[page/64]>>(page%64)&1 != 0
}

// NewRefs starts a table of refs. It writes to w one row group at a time; Close writes the last one.
func NewRefs(w io.Writer) *RefWriter {
	return &RefWriter{b: newTable(w, manifest.Refs, uncheckedRefColumns)}
}

// NewCheckedRefs starts a table of refs with checksums.
func NewCheckedRefs(w io.Writer) *RefWriter {
	return &RefWriter{b: newTable(w, manifest.Refs, refColumns), isChecked: true}
}

// Append adds refs.
func (w *RefWriter) Append(refs *manifest.RefColumns) error {
	n := len(refs.Offsets)
	if len(refs.Sizes) != n || refs.Masks != nil && len(refs.Masks) != n || refs.Others != nil && len(refs.Others) != n || refs.Checksums != nil && len(refs.Checksums) != n {
		return fmt.Errorf("refs: the numbers of offsets (%d), sizes (%d), masks (%d), others (%d) and checksums (%d) differ", n, len(refs.Sizes), len(refs.Masks), len(refs.Others), len(refs.Checksums))
	}
	for i, size := range refs.Sizes {
		if size < 0 || refs.Offsets[i] > 1<<62 || size > 1<<62 {
			return fmt.Errorf("refs: row %d has size %d and offset %d", w.Rows()+int64(i), size, refs.Offsets[i])
		}
		// Missing and inline chunks.
		if refs.Offsets[i] < 0 {
			w.odd.mark(w.b.total + int64(i))
		}
	}
	for at := 0; at < n; {
		end := min(n, at+w.b.cut.groupRows-w.b.rows)
		part := refs.Slice(at, end)
		w.fill(part.Offsets, part.Sizes)
		fillOther(w, maskColumn, &w.hasMasks, part.Masks, end-at)
		fillOther(w, otherColumn, &w.hasOthers, part.Others, end-at)
		if w.isChecked {
			fillOther(w, checksumColumn, &w.hasSums, part.Checksums, end-at)
		}
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

// manyRows is the number of rows from which on memory for a full row group is allocated at once.
const manyRows = 1 << 14

func (w *RefWriter) fill(offsets, sizes []int64) {
	v := w.b.values
	// Doubling a large slice again and again would copy it and leave garbage.
	if w.b.rows+len(offsets) > manyRows && cap(v[offsetColumn].Ints) < w.b.cut.groupRows {
		v[offsetColumn].Ints = slices.Grow(v[offsetColumn].Ints, w.b.cut.groupRows-w.b.rows)
		v[lengthColumn].Ints = slices.Grow(v[lengthColumn].Ints, w.b.cut.groupRows-w.b.rows)
	}
	v[offsetColumn].Ints = append(v[offsetColumn].Ints, offsets...)
	v[lengthColumn].Ints = append(v[lengthColumn].Ints, sizes...)
}

// fillOther adds n values to a column that is zero in nearly all archives. The column stays empty
// while it is zero.
func fillOther[T int32 | uint32](w *RefWriter, column int, some *bool, values []T, n int) {
	v := &w.b.values[column]
	if !*some {
		if !slices.ContainsFunc(values, func(x T) bool { return x != 0 }) {
			return
		}
		// The first value that is not zero: fill in the zeros before it.
		*some = true
		v.Ints = append(v.Ints[:0], make([]int64, w.b.rows)...)
	}
	if values == nil {
		v.Ints = append(v.Ints, make([]int64, n)...)
	}
	for i, x := range values {
		if x != 0 && column != checksumColumn {
			w.odd.mark(w.b.total + int64(i))
		}
		v.Ints = append(v.Ints, int64(x))
	}
}

// IsPlain reports whether some rows are known to contain nothing but offsets and sizes in their own
// file, so that nobody has to read them. It decides for whole pages.
func (w *RefWriter) IsPlain(row, rows int64) bool {
	if row < 0 || row+rows > w.b.total {
		return false
	}
	// The marks are for whole pages, so start at the first row of the page.
	for at := row - row%refPageRows; at < row+rows; at += refPageRows {
		if w.odd.has(at) {
			return false
		}
	}
	return true
}

// flush writes the present rows as a row group. It leaves out a size if the chunk ends where the next
// one starts, except in the last row of a page.
func (w *RefWriter) flush() error {
	v, rows := w.b.values, w.b.rows
	if rows == 0 {
		return w.b.err
	}
	v[lengthColumn].Present = markSizes(v[lengthColumn].Present[:0], v[offsetColumn].Ints, v[lengthColumn].Ints, w.b.cut.pageRows)
	if !w.hasMasks {
		v[maskColumn] = allZeros()
	}
	if !w.hasOthers {
		v[otherColumn] = allZeros()
	}
	if w.isChecked && !w.hasSums {
		v[checksumColumn] = allZeros()
	}
	for at := 0; at < rows; at += w.b.cut.pageRows {
		w.b.starts = append(w.b.starts, at)
	}
	w.hasMasks, w.hasOthers, w.hasSums = false, false, false
	return w.b.flush()
}

func allZeros() parquet.Values { return parquet.Values{Ints: []int64{0}, Same: true} }

// markSizes appends 1 for each ref whose size has to be written, else 0.
func markSizes(dst []uint8, offsets, sizes []int64, pageRows int) []uint8 {
	at := len(dst)
	dst = slices.Grow(dst, len(sizes))[:at+len(sizes)]
	for from := 0; from < len(sizes); from += pageRows {
		to := min(from+pageRows, len(sizes))
		page, offsets, sizes := dst[at+from:at+to], offsets[from:to], sizes[from:to]
		// The last size of a page is always written, so that a page can be decoded alone.
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

// Rows returns the number of refs so far.
func (w *RefWriter) Rows() int64 { return w.b.total }

// Close writes the remaining rows and the footer. It does not close the io.Writer.
func (w *RefWriter) Close() error {
	return errors.Join(w.flush(), w.b.close())
}
