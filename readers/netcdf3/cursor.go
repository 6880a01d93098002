package netcdf3

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"varve/readers"
	"varve/readers/source"
)

// Limits of a header. They are far above real files, and bound the memory that a hostile file can
// use.
const (
	maxHeader     = 64 << 20 // bytes
	maxDims       = 1 << 17
	maxVars       = 1 << 15
	maxAttributes = 1 << 17
	maxRank       = 1024 // as in netcdf-c
	maxDimIDs     = 1 << 20
)

const windowSize = 64 << 10 // size of a read; the source caches blocks of this size

// cursor decodes a header. It keeps the first error in err and reads zeros after it.
type cursor struct {
	ctx    context.Context
	src    *source.Source
	at     int64
	isWide bool // numbers called n have 8 bytes
	err    error

	window []byte // bytes at offset start
	start  int64
}

func (c *cursor) fail(at int64, err error) {
	if c.err == nil {
		c.err = &readers.Error{Source: c.src.Name(), Offset: at, Err: err}
	}
}

// left returns the number of bytes that follow.
func (c *cursor) left() uint64 { return uint64(c.src.Size() - c.at) }

// take returns the next n bytes, or nil after an error.
func (c *cursor) take(n uint64, what string) []byte {
	switch {
	case c.err != nil:
		return nil
	case n > c.left():
		c.fail(c.at, readers.Corruptf("file is truncated in its header: %s needs %d bytes, but only %d remain", what, n, c.left()))
		return nil
	case uint64(c.at)+n > maxHeader:
		c.fail(c.at, unsupported("header of more than %d bytes", maxHeader))
		return nil
	}
	if end := c.start + int64(len(c.window)); c.at < c.start || uint64(end-c.at) < n || c.at > end {
		if !c.load(n) {
			return nil
		}
	}
	b := c.window[c.at-c.start:][:n:n]
	c.at += int64(n)
	return b
}

// load moves the window so that it holds at least the next n bytes.
func (c *cursor) load(n uint64) bool {
	// Read up to a block border, so that every block of the source is read once.
	block := windowSize - uint64(c.at)%windowSize
	view, err := c.src.View(c.ctx, c.at, int(min(max(n, block), c.left())))
	if err = errors.Join(err, c.ctx.Err()); err != nil {
		c.err = err
		return false
	}
	c.window, c.start = view, c.at
	return true
}

func (c *cursor) uint32(what string) uint32 {
	if b := c.take(4, what); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

func (c *cursor) uint64(what string) uint64 {
	if b := c.take(8, what); b != nil {
		return binary.BigEndian.Uint64(b)
	}
	return 0
}

// number decodes an n of the grammar.
func (c *cursor) number(what string) uint64 {
	if c.isWide {
		return c.uint64(what)
	}
	return uint64(c.uint32(what))
}

// width returns the size of an n.
func (c *cursor) width() uint64 {
	if c.isWide {
		return 8
	}
	return 4
}

// count decodes an n that counts items of at least size bytes each.
func (c *cursor) count(size, limit uint64, what string) uint64 {
	at := c.at
	n := c.number("number of " + what)
	switch {
	case c.err != nil:
		return 0
	case n > c.left()/size:
		c.fail(at, readers.Corruptf("%d %s of at least %d bytes each do not fit in the remaining %d bytes", n, what, size, c.left()))
		return 0
	case n > limit:
		c.fail(at, unsupported("%d %s in one header (limit %d)", n, what, limit))
		return 0
	}
	return n
}

// padded returns the next n bytes and skips their padding.
func (c *cursor) padded(n uint64, what string) []byte {
	if n > c.left() { // n with its padding could overflow
		c.take(n, what)
		return nil
	}
	b := c.take(n+-n%4, what)
	return b[:min(n, uint64(len(b)))]
}

func (c *cursor) name(what string) string {
	n := c.number("name length of " + what)
	return string(c.padded(n, "name of "+what))
}

// list decodes the head of a list and returns the number of elements.
func (c *cursor) list(tag uint32, size, limit uint64, what string) uint64 {
	at := c.at
	got := c.uint32("tag of the " + what)
	n := c.count(size, limit, what)
	// An absent list is written as two zeros.
	if c.err == nil && got != tag && (got != 0 || n != 0) {
		c.fail(at, readers.Corruptf("list of %[4]s: tag is %[1]d (want %[3]d) for %[2]d elements", got, n, tag, what))
		return 0
	}
	return n
}

func unsupported(format string, args ...any) error {
	return fmt.Errorf(format+": %w", append(args, errors.ErrUnsupported)...)
}
