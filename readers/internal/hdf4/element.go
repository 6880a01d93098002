package hdf4

import (
	"context"
	"encoding/binary"

	"varve/readers"
)

// Storage kinds of special elements.
const (
	linked     = 1
	external   = 2
	compressed = 3
	chunked    = 5
)

// run is a range of consecutive bytes of an element. A negative offset means zeros that are not
// stored.
type run struct{ offset, length int64 }

// readSpecial reads the storage kind of a special element, and returns a cursor over the rest of its
// header.
func (f *file) readSpecial(ctx context.Context, d descriptor) (kind uint16, c *cursor, err error) {
	b, err := f.bytes(ctx, d.offset, max(d.length, 0), "special element")
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
		return nil, f.fail(-1, readers.Corruptf("element %d/%d does not exist", tag, ref))
	}
	runs, err := f.runs(ctx, d)
	if err != nil {
		return nil, err
	}
	return f.join(ctx, runs)
}

// join reads runs one after another, as metadata.
func (f *file) join(ctx context.Context, runs []run) ([]byte, error) {
	if len(runs) == 1 && runs[0].offset >= 0 {
		return f.bytes(ctx, runs[0].offset, runs[0].length, "element")
	}
	var out []byte
	for _, r := range runs {
		if r.offset < 0 {
			// A few bytes of tables can describe a huge run of zeros.
			if err := f.spend(r.length); err != nil {
				return nil, err
			}
			out = append(out, make([]byte, r.length)...)
			continue
		}
		b, err := f.bytes(ctx, r.offset, r.length, "block of an element")
		if err != nil {
			return nil, err
		}
		out = append(out, b...)
	}
	return out, nil
}

// runs returns the positions of the bytes of an element that is neither compressed nor chunked.
func (f *file) runs(ctx context.Context, d descriptor) ([]run, error) {
	if !d.isSpecial {
		if d.length < 0 {
			return nil, nil
		}
		return []run{{d.offset, d.length}}, nil
	}
	kind, c, err := f.readSpecial(ctx, d)
	if err != nil {
		return nil, err
	}
	if kind != linked {
		return nil, f.fail(d.offset, unsupported("element %d/%d has the special storage kind %d", d.tag, d.ref, kind))
	}
	return f.linkedRuns(ctx, c)
}

// linkedRuns returns the positions of an element's linked blocks; adjacent blocks become one run.
func (f *file) linkedRuns(ctx context.Context, c *cursor) ([]run, error) {
	left, size, perTable, ref := c.int32(), c.int32(), c.int32(), c.uint16()
	if c.err != nil {
		return nil, c.err
	}
	if size <= 0 || perTable <= 0 {
		return nil, c.corrupt("linked blocks: %d bytes a block and %d blocks a table are out of range", size, perTable)
	}
	var out []run
	seen := map[uint16]bool{}
	blocks := 0
	for left > 0 {
		// Reference number 0 ends the chain of tables.
		if ref == 0 {
			return nil, c.corrupt("linked blocks: %d bytes of the element are in no block", left)
		}
		if seen[ref] {
			return nil, c.corrupt("linked blocks: the tables form a cycle")
		}
		seen[ref] = true
		table, err := f.blockTable(ctx, ref, perTable)
		if err != nil {
			return nil, err
		}
		ref = table.uint16()
		for i := int64(0); i < perTable && left > 0; i++ {
			if blocks++; blocks > maxBlocks {
				return nil, c.fail(unsupported("element with more than %d linked blocks", maxBlocks))
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
	if !ok || d.isSpecial || d.length < 2+2*blocks {
		return nil, f.fail(d.at, readers.Corruptf("linked blocks: table %d of %d blocks does not exist", ref, blocks))
	}
	b, err := f.bytes(ctx, d.offset, 2+2*blocks, "table of linked blocks")
	return &cursor{file: f, at: d.offset, b: b}, err
}

// block returns the position of a linked block. The first block has the length of the element at
// the time when it was converted to linked blocks, which can be 0. A block that was never written
// has the number 0, and consists of zeros.
func (f *file) block(ref uint16, size, left int64, first bool) (run, error) {
	if ref == 0 {
		return run{-1, min(size, left)}, nil
	}
	d, ok := f.find(tagLinked, ref)
	if first {
		size = d.length
	}
	size = min(size, left)
	if !ok || d.isSpecial || size < 0 || d.length < size {
		return run{}, f.fail(d.at, readers.Corruptf("linked blocks: block %d of %d bytes does not exist", ref, size))
	}
	return run{d.offset, size}, nil
}

func appendRun(runs []run, r run) []run {
	// The first block may be empty.
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

// cutRuns returns the parts of runs between two byte positions of the element.
func cutRuns(runs []run, from, to int64) []run {
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

// cursor decodes the fields of a structure. After an error it returns zeros.
type cursor struct {
	file *file
	at   int64 // offset of b in the file
	b    []byte
	err  error
}

func (c *cursor) fail(err error) error { return c.file.fail(c.at, err) }

func (c *cursor) corrupt(format string, args ...any) error {
	return c.fail(readers.Corruptf(format, args...))
}

func (c *cursor) take(n int64) []byte {
	if c.err == nil && (n < 0 || n > int64(len(c.b))) {
		c.err = c.corrupt("element ends early: %d bytes needed, %d remain", n, len(c.b))
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

// text returns a string with its length before it, cut at the first NUL.
func (c *cursor) text() string { return cText(c.take(int64(c.uint16()))) }
