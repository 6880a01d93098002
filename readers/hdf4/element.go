package hdf4

import (
	"context"
	"encoding/binary"

	"varve/readers"
)

// The ways in which special elements are stored.
const (
	linked     = 1
	external   = 2
	compressed = 3
	chunked    = 5
)

// run is bytes of an element that lie one behind the other. At a negative offset are zeros that
// are nowhere.
type run struct{ offset, length int64 }

// special reads the header of a special element, and of what kind it is.
func (f *file) special(ctx context.Context, d descriptor) (kind uint16, c *cursor, err error) {
	b, err := f.bytes(ctx, d.offset, max(d.length, 0), "a special element")
	if err != nil {
		return 0, nil, err
	}
	c = &cursor{file: f, at: d.offset, b: b}
	kind = c.uint16()
	return kind, c, c.err
}

// element reads a small element whole.
func (f *file) element(ctx context.Context, tag, ref uint16) ([]byte, error) {
	d, ok := f.find(tag, ref)
	if !ok {
		return nil, f.fail(-1, readers.Corruptf("there is no element %d/%d", tag, ref))
	}
	runs, err := f.runs(ctx, d)
	if err != nil {
		return nil, err
	}
	return f.join(ctx, runs)
}

// join reads runs one after the other, as metadata.
func (f *file) join(ctx context.Context, runs []run) ([]byte, error) {
	if len(runs) == 1 && runs[0].offset >= 0 {
		return f.bytes(ctx, runs[0].offset, runs[0].length, "an element")
	}
	var out []byte
	for _, r := range runs {
		if r.offset < 0 {
			if err := f.spend(r.length); err != nil {
				return nil, err
			}
			out = append(out, make([]byte, r.length)...)
			continue
		}
		b, err := f.bytes(ctx, r.offset, r.length, "a block of an element")
		if err != nil {
			return nil, err
		}
		out = append(out, b...)
	}
	return out, nil
}

// runs returns where the bytes of an element are that is neither compressed nor in chunks.
func (f *file) runs(ctx context.Context, d descriptor) ([]run, error) {
	if !d.special {
		if d.length < 0 {
			return nil, nil
		}
		return []run{{d.offset, d.length}}, nil
	}
	kind, c, err := f.special(ctx, d)
	if err != nil {
		return nil, err
	}
	if kind != linked {
		return nil, f.fail(d.offset, unsupported("element %d/%d is special, of kind %d", d.tag, d.ref, kind))
	}
	return f.linkedRuns(ctx, c)
}

// linkedRuns returns where the blocks of an element are; those next to each other are one.
func (f *file) linkedRuns(ctx context.Context, c *cursor) ([]run, error) {
	left, size, perTable, ref := c.int32(), c.int32(), c.int32(), c.uint16()
	if c.err != nil {
		return nil, c.err
	}
	if size <= 0 || perTable <= 0 {
		return nil, c.corrupt("blocks of %d bytes, %d to a table", size, perTable)
	}
	var out []run
	seen := map[uint16]bool{}
	blocks := 0
	for left > 0 {
		if ref == 0 {
			return nil, c.corrupt("the blocks of an element hold %d bytes less than it", left)
		}
		if seen[ref] {
			return nil, c.corrupt("a table of blocks leads back to itself")
		}
		seen[ref] = true
		table, err := f.blockTable(ctx, ref, perTable)
		if err != nil {
			return nil, err
		}
		ref = table.uint16()
		for i := int64(0); i < perTable && left > 0; i++ {
			if blocks++; blocks > maxBlocks {
				return nil, c.fail(unsupported("an element of more than %d blocks", maxBlocks))
			}
			if err := f.spend(blockCost); err != nil {
				return nil, err
			}
			r, err := f.block(table.uint16(), size, left, blocks == 1)
			if err != nil {
				return nil, err
			}
			left -= r.length
			out = appendRun(out, r)
		}
	}
	return out, nil
}

func (f *file) blockTable(ctx context.Context, ref uint16, blocks int64) (*cursor, error) {
	d, ok := f.find(tagLinked, ref)
	if !ok || d.special || d.length < 2+2*blocks {
		return nil, f.fail(d.at, readers.Corruptf("there is no table %d of %d blocks", ref, blocks))
	}
	b, err := f.bytes(ctx, d.offset, 2+2*blocks, "a table of blocks")
	return &cursor{file: f, at: d.offset, b: b}, err
}

// block returns where a block is. The first is as long as what was there when the element was
// made one of blocks, which can be nothing; one that was never written has no number, and is
// zeros.
func (f *file) block(ref uint16, size, left int64, first bool) (run, error) {
	if ref == 0 {
		return run{-1, min(size, left)}, nil
	}
	d, ok := f.find(tagLinked, ref)
	if first {
		size = d.length
	}
	size = min(size, left)
	if !ok || d.special || size < 0 || d.length < size {
		return run{}, f.fail(d.at, readers.Corruptf("there is no block %d of %d bytes", ref, size))
	}
	return run{d.offset, size}, nil
}

func appendRun(runs []run, r run) []run {
	if r.length == 0 {
		return runs
	}
	if n := len(runs); n > 0 {
		last := &runs[n-1]
		if r.offset < 0 && last.offset < 0 || r.offset >= 0 && last.offset >= 0 && last.offset+last.length == r.offset {
			last.length += r.length
			return runs
		}
	}
	return append(runs, r)
}

func total(runs []run) (n int64) {
	for _, r := range runs {
		n += r.length
	}
	return n
}

// within returns the parts of runs from one byte of the element to another.
func within(runs []run, from, to int64) []run {
	var out []run
	at := int64(0)
	for _, r := range runs {
		a, b := max(from-at, 0), min(to-at, r.length)
		if a < b {
			part := run{r.offset, b - a}
			if r.offset >= 0 {
				part.offset += a
			}
			out = append(out, part)
		}
		if at += r.length; at >= to {
			break
		}
	}
	return out
}

// cursor takes a structure apart. After an error it gives zeros.
type cursor struct {
	file *file
	at   int64 // of b in the file
	b    []byte
	err  error
}

func (c *cursor) fail(err error) error { return c.file.fail(c.at, err) }

func (c *cursor) corrupt(format string, args ...any) error {
	return c.fail(readers.Corruptf(format, args...))
}

func (c *cursor) take(n int64) []byte {
	if c.err == nil && (n < 0 || n > int64(len(c.b))) {
		c.err = c.corrupt("the element ends too early: %d bytes are due, %d are left", n, len(c.b))
	}
	if c.err != nil {
		return nil
	}
	b := c.b[:n:n]
	c.b, c.at = c.b[n:], c.at+n
	return b
}

func (c *cursor) uint16() uint16 {
	if b := c.take(2); b != nil {
		return binary.BigEndian.Uint16(b)
	}
	return 0
}

func (c *cursor) int32() int64 {
	if b := c.take(4); b != nil {
		return int64(int32(binary.BigEndian.Uint32(b)))
	}
	return 0
}

// text is a text behind its length, as far as its first NUL.
func (c *cursor) text() string { return cText(c.take(int64(c.uint16()))) }
