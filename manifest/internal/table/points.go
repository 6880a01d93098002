package table

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"iter"
	"math"
	"slices"

	"varve/codec"
	"varve/manifest"
	"varve/readers/parquet"
	"varve/readers/source"
)

// ChunkPoints are the access points of one stored chunk. In a table it is one row, and after it one row for each
// window. So reading a span reads only the windows that it needs.
//
//	ref  source  offset  length  codecs  size  points  sums  window  checksum
//	 17  6c1b…     4096   81420  zlib    …     …       …     null    …
//	 17  null      null    null  null    null  null    null  bytes   …
//	 17  null      null    null  null    null  null    null  bytes   …
//	 18  6c1b…  …
type ChunkPoints struct {
	Ref int64 // row of the chunk's ref
	// Source is the ScanID of the source. Together with Offset and Length it proves that the points belong to the bytes
	// that a ref locates.
	Source         string
	Offset, Length int64
	codec.AccessPoints
	// Windows are the windows of the points that have one, in order. ReadPoints leaves them nil: see ReadWindows.
	Windows [][]byte

	section *section
	row     int64 // of the first window, within the section
}

// In a table of the kind FilePoints, a ChunkPoints is of a source inside a compressed file. Ref is the row of its first ref, Offset
// and Length are its position in the decompressed bytes and its size, and the bits of points count from the start of the outer file.

// AppendFile adds the access points of a source that is a packed file, with all windows. row is that of its first ref.
func AppendFile(ctx context.Context, w *Writer[*ChunkPoints], row int64, src *manifest.Source, points *source.Points) (err error) {
	c := &ChunkPoints{Ref: row, Source: src.ScanID(), Offset: points.Skip, Length: points.Length, AccessPoints: points.AccessPoints}
	if c.Windows, err = points.Windows(ctx, c.withWindow()); err != nil {
		return err
	}
	return w.Append(c)
}

// File returns the access points of a source that is a packed file. They read windows when these are needed.
func (c *ChunkPoints) File() *source.Points {
	return &source.Points{AccessPoints: c.AccessPoints, Skip: c.Offset, Length: c.Length, Windows: c.ReadWindows}
}

// IsOf reports whether the points belong to the bytes that a ref locates in a source.
func (c *ChunkPoints) IsOf(src *manifest.Source, ref manifest.Ref) bool {
	return c.Source == src.ScanID() && c.Offset == ref.Offset && c.Length == ref.Size
}

// NewPoints starts a table of access points. The refs of chunks have to increase.
func NewPoints(w io.Writer) *Writer[*ChunkPoints] {
	return pointsIn(newTable(w, manifest.Points, pointColumns))
}

// NewFilePoints is NewPoints for sources that are packed files.
func NewFilePoints(w io.Writer) *Writer[*ChunkPoints] {
	return pointsIn(newTable(w, manifest.FilePoints, pointColumns))
}

func pointsIn(b *builder) *Writer[*ChunkPoints] {
	last := int64(-1)
	return &Writer[*ChunkPoints]{b: b, add: func(b *builder, c *ChunkPoints) error {
		if c.Ref <= last {
			return fmt.Errorf("access points: ref %d follows ref %d, but refs have to increase", c.Ref, last)
		}
		last = c.Ref
		return b.addPoints(c)
	}}
}

// addPoints adds the rows of a chunk, and does not end the last one.
func (b *builder) addPoints(c *ChunkPoints) error {
	if n := c.windows(len(c.Points)); n != len(c.Windows) {
		return fmt.Errorf("access points of ref %d: %d windows, but %d points have one", c.Ref, len(c.Windows), n)
	}
	if c.Source == "" {
		return fmt.Errorf("access points of ref %d: they name no source", c.Ref)
	}
	r := pointsRow{ref: c.Ref, source: []byte(c.Source), offset: c.Offset, length: c.Length, codecs: []byte(c.Codecs), size: c.Size}
	at, bit := int64(0), int64(0)
	for _, p := range c.Points {
		flag := uint64(0)
		if p.HasWindow {
			flag = 1
		}
		r.points = binary.AppendUvarint(r.points, uint64(p.Out-at))
		r.points = binary.AppendUvarint(r.points, uint64(p.Bit-bit)<<1|flag)
		at, bit = p.Out, p.Bit
	}
	for _, sum := range c.Sums {
		r.sums = binary.LittleEndian.AppendUint32(r.sums, sum)
	}
	b.int(pointsRefColumn, r.ref)
	b.blob(pointsSourceColumn, r.source)
	b.int(pointsOffsetColumn, r.offset)
	b.int(pointsLengthColumn, r.length)
	b.blob(pointsCodecsColumn, r.codecs)
	b.int(pointsSizeColumn, r.size)
	b.blob(pointsPointsColumn, r.points)
	b.blob(pointsSumsColumn, r.sums)
	b.null(pointsWindowColumn)
	b.int(pointsChecksumColumn, int64(r.checksum()))
	for i, window := range c.Windows {
		if len(window) == 0 {
			return fmt.Errorf("access points of ref %d: window %d is empty", c.Ref, i)
		}
		if err := b.endRow(); err != nil {
			return err
		}
		b.int(pointsRefColumn, c.Ref)
		for column := pointsSourceColumn; column < pointsWindowColumn; column++ {
			b.null(column)
		}
		b.blob(pointsWindowColumn, window)
		b.int(pointsChecksumColumn, int64(windowSum(c.Ref, int64(i), window)))
	}
	return nil
}

// windows returns the number of windows of the first n points.
func (c *ChunkPoints) windows(n int) (windows int) {
	for _, p := range c.Points[:n] {
		if p.HasWindow {
			windows++
		}
	}
	return windows
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// windowSum returns the checksum of a window's row. index is its number among the windows of the chunk.
func windowSum(ref, index int64, window []byte) uint32 {
	head := binary.LittleEndian.AppendUint64(nil, uint64(ref))
	head = binary.LittleEndian.AppendUint64(head, uint64(index))
	return crc32.Update(crc32.Checksum(head, castagnoli), castagnoli, window)
}

// pointsRow is the first row of a chunk, or a row of a window, for which only ref is set.
type pointsRow struct {
	ref, offset, length, size    int64
	source, codecs, points, sums []byte
	sum                          int64
}

// checksum returns the checksum of a chunk's first row.
func (r *pointsRow) checksum() uint32 {
	var b []byte
	for _, n := range []int64{r.ref, r.offset, r.length, r.size} {
		b = binary.LittleEndian.AppendUint64(b, uint64(n))
	}
	for _, text := range [][]byte{r.source, r.codecs, r.points, r.sums} {
		b = binary.LittleEndian.AppendUint64(b, uint64(len(text)))
		b = append(b, text...)
	}
	return crc32.Checksum(b, castagnoli)
}

// parse returns the access points of the row.
func (r *pointsRow) parse() (*ChunkPoints, error) {
	if int64(r.checksum()) != r.sum {
		return nil, fmt.Errorf("ref %d: CRC-32C of the row is %08x instead of %08x", r.ref, r.checksum(), r.sum)
	}
	c := &ChunkPoints{Ref: r.ref, Source: string(r.source), Offset: r.offset, Length: r.length}
	c.Codecs, c.Size = string(r.codecs), r.size
	var at, bit int64
	for rest := r.points; len(rest) > 0; {
		out, n := binary.Uvarint(rest)
		bits, m := binary.Uvarint(rest[max(n, 0):])
		if n <= 0 || m <= 0 || out > math.MaxInt64/2 || bits>>1 > math.MaxInt64/2 {
			return nil, fmt.Errorf("ref %d: access point %d is no pair of numbers", r.ref, len(c.Points))
		}
		at, bit, rest = at+int64(out), bit+int64(bits>>1), rest[n+m:]
		if at < 0 || bit < 0 {
			return nil, fmt.Errorf("ref %d: access point %d overflows", r.ref, len(c.Points))
		}
		c.Points = append(c.Points, codec.AccessPoint{Out: at, Bit: bit, HasWindow: bits&1 != 0})
	}
	if len(r.sums)%4 != 0 {
		return nil, fmt.Errorf("ref %d: checksums have %d bytes", r.ref, len(r.sums))
	}
	for rest := r.sums; len(rest) > 0; rest = rest[4:] {
		c.Sums = append(c.Sums, binary.LittleEndian.Uint32(rest))
	}
	return c, nil
}

// pointsPage is a decoded page of access points, without the windows.
type pointsPage struct {
	first int64 // row within the table
	rows  []pointsRow
}

func (s *section) pointsPage(row int64) (*pointsPage, error) {
	at, err := s.find(row)
	if err != nil {
		return nil, err
	}
	key := cacheKey{s.id, int32(at.group), int32(at.page), pageContent}
	return cached(s.cache, key, func() (*pointsPage, int64, error) {
		columns := make([]parquet.Values, len(pointColumns))
		for i := range columns {
			if i == pointsWindowColumn {
				continue
			}
			if err := s.read(at, i, &columns[i]); err != nil {
				return nil, 0, err
			}
		}
		p := &pointsPage{first: at.first, rows: make([]pointsRow, at.rows)}
		bytes := 160 * at.rows
		for i := range p.rows {
			p.rows[i] = pointsRowAt(columns, i)
			bytes += int64(len(p.rows[i].points) + len(p.rows[i].sums))
		}
		return p, bytes, nil
	})
}

// pointsRowAt returns a row of decoded columns.
func pointsRowAt(c []parquet.Values, i int) pointsRow {
	return pointsRow{
		ref: c[pointsRefColumn].Ints[i], offset: c[pointsOffsetColumn].Ints[i], length: c[pointsLengthColumn].Ints[i], size: c[pointsSizeColumn].Ints[i],
		source: c[pointsSourceColumn].Bytes[i], codecs: c[pointsCodecsColumn].Bytes[i], points: c[pointsPointsColumn].Bytes[i], sums: c[pointsSumsColumn].Bytes[i],
		sum: c[pointsChecksumColumn].Ints[i],
	}
}

// isChunk reports whether the row is the first one of a chunk.
func (r *pointsRow) isChunk() bool { return len(r.source) > 0 }

// HasPoints reports whether there are any access points.
func (r *Reader) HasPoints() bool { return r.Rows(manifest.Points) > 0 }

// ReadPoints returns the access points of the chunk of a ref, without windows. ok is false if there are none.
func (r *Reader) ReadPoints(ctx context.Context, ref int64) (c *ChunkPoints, ok bool, err error) {
	return r.readPoints(ctx, manifest.Points, ref)
}

// ReadFilePoints returns the access points of a source that is a packed file, by the row of its first ref, without windows. ok
// is false if there are none.
func (r *Reader) ReadFilePoints(ctx context.Context, ref int64, src *manifest.Source) (c *ChunkPoints, ok bool, err error) {
	c, ok, err = r.readPoints(ctx, manifest.FilePoints, ref)
	// A source without refs has no points, and the next source has the same row.
	return c, ok && c.Source == src.ScanID(), err
}

func (r *Reader) readPoints(ctx context.Context, kind manifest.TableKind, ref int64) (c *ChunkPoints, ok bool, err error) {
	k := r.kinds[kind]
	if k == nil {
		return nil, false, ctx.Err()
	}
	// The points of a newer table replace the points of older tables.
	for i := len(k.tables) - 1; i >= 0; i-- {
		if err := ctx.Err(); err != nil {
			return nil, false, err
		}
		s, err := r.section(ctx, k.tables[i])
		if err != nil {
			return nil, false, err
		}
		if c, ok, err = s.readPoints(ref); ok || err != nil {
			return c, ok, err
		}
	}
	return nil, false, nil
}

// readPoints searches the first row of a ref.
func (s *section) readPoints(ref int64) (c *ChunkPoints, ok bool, err error) {
	for low, high := int64(0), s.rows; low < high; {
		page, err := s.pointsPage((low + high) / 2)
		if err != nil {
			return nil, false, err
		}
		// Rows of a ref may begin in the page before, so search for the first of them.
		from, to := max(low-page.first, 0), min(high-page.first, int64(len(page.rows)))
		at, found := slices.BinarySearchFunc(page.rows[from:to], ref, func(r pointsRow, ref int64) int { return cmp.Compare(r.ref, ref) })
		at += int(from)
		switch {
		case found && page.rows[at].isChunk():
			if c, err = page.rows[at].parse(); err != nil {
				return nil, false, s.damaged(err)
			}
			c.section, c.row = s, page.first+int64(at)+1
			return c, true, nil
		case int64(at) == from:
			high = page.first + from
		case int64(at) == to:
			low = page.first + to
		default:
			return nil, false, nil
		}
	}
	return nil, false, nil
}

// ReadWindows returns the windows of some points of a chunk that ReadPoints returned, by their index, in order.
func (c *ChunkPoints) ReadWindows(ctx context.Context, points []int) ([][]byte, error) {
	var windows [][]byte
	for _, i := range points {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		index := int64(c.windows(i))
		b, err := c.section.window(c.Ref, index, c.row+index)
		if err != nil {
			return nil, err
		}
		windows = append(windows, b)
	}
	return windows, nil
}

// window returns the window in a row, which must belong to a ref.
func (s *section) window(ref, index, row int64) ([]byte, error) {
	if row >= s.rows {
		return nil, s.damaged(fmt.Errorf("ref %d: window %d is missing", ref, index))
	}
	page, err := s.pointsPage(row)
	if err != nil {
		return nil, err
	}
	at, err := s.find(row)
	if err != nil {
		return nil, err
	}
	list, err := s.column(at, pointsWindowColumn)
	if err != nil {
		return nil, err
	}
	r, window := page.rows[row-page.first], list[row-at.first]
	if sum := windowSum(ref, index, window); r.ref != ref || int64(sum) != r.sum {
		return nil, s.damaged(fmt.Errorf("row %d: CRC-32C of window %d of ref %d is %08x instead of %08x", row, index, ref, sum, r.sum))
	}
	return window, nil
}

// ScanPoints yields the chunks of the table that begins at a row of the kind, with their windows.
func (r *Reader) ScanPoints(ctx context.Context, first, rows int64) iter.Seq2[*ChunkPoints, error] {
	return func(yield func(*ChunkPoints, error) bool) {
		var c *ChunkPoints
		// emit yields the chunk whose windows are complete.
		emit := func() (more bool, err error) {
			if c == nil {
				return true, nil
			}
			if n := c.windows(len(c.Points)); n != len(c.Windows) {
				return false, fmt.Errorf("access points of ref %d: %d windows, but %d points have one: %w", c.Ref, len(c.Windows), n, codec.ErrCorrupt)
			}
			return yield(c, nil), nil
		}
		for s, err := range r.strips(ctx, manifest.Points, first, rows) {
			for i := s.from; i < s.to && err == nil; i++ {
				row := pointsRowAt(s.columns, i)
				if !row.isChunk() {
					window := s.columns[pointsWindowColumn].Bytes[i]
					if c == nil || c.Ref != row.ref || int64(windowSum(row.ref, int64(len(c.Windows)), window)) != row.sum {
						err = s.of.damaged(errors.New("a window has a wrong checksum, or belongs to no chunk"))
						break
					}
					c.Windows = append(c.Windows, slices.Clone(window))
					continue
				}
				more := false
				if more, err = emit(); err == nil && !more {
					return
				}
				if c = nil; err == nil {
					c, err = row.parse()
				}
			}
			if err != nil {
				yield(nil, err)
				return
			}
		}
		if _, err := emit(); err != nil {
			yield(nil, err)
		}
	}
}

// MovePoints writes the access points of all tables as one table, with other refs. to returns the new ref of a chunk, or
// false if there is none any more. It returns the number of rows. Chunks whose points are damaged are left out.
func (r *Reader) MovePoints(ctx context.Context, to func(ref int64) (int64, bool), w io.Writer) (rows int64, err error) {
	type moved struct{ from, to int64 }
	var chunks []moved
	for s, err := range r.strips(ctx, manifest.Points, 0, r.Rows(manifest.Points)) {
		if err != nil {
			return 0, err
		}
		for i := s.from; i < s.to; i++ {
			if row := pointsRowAt(s.columns, i); row.isChunk() {
				if now, ok := to(row.ref); ok {
					chunks = append(chunks, moved{row.ref, now})
				}
			}
		}
	}
	slices.SortFunc(chunks, func(a, b moved) int { return cmp.Compare(a.to, b.to) })
	chunks = slices.CompactFunc(chunks, func(a, b moved) bool { return a.to == b.to }) // in several tables
	out := NewPoints(w)
	for _, m := range chunks {
		c, ok, err := r.ReadPoints(ctx, m.from)
		if err == nil && ok {
			c.Windows, err = c.ReadWindows(ctx, c.withWindow())
		}
		var damage *manifest.DamageError
		if !ok || errors.As(err, &damage) {
			continue
		}
		if err != nil {
			return 0, err
		}
		c.Ref = m.to
		if err := out.Append(c); err != nil {
			return 0, err
		}
	}
	return out.Rows(), out.Close()
}

// withWindow returns the indices of the points that have a window.
func (c *ChunkPoints) withWindow() (points []int) {
	for i, p := range c.Points {
		if p.HasWindow {
			points = append(points, i)
		}
	}
	return points
}
