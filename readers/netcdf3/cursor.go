package netcdf3

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"varve/readers"
	"varve/readers/source"
)

// The limits of a header. They are far above what libraries write, and keep a hostile
// file from taking more memory than it has a use for.
const (
	maxHeader     = 64 << 20 // bytes
	maxDims       = 1 << 17
	maxVars       = 1 << 15
	maxAttributes = 1 << 17
	maxRank       = 1024 // as in netcdf-c
	maxDimIDs     = 1 << 20
)

const windowSize = 64 << 10 // of a read; the source holds blocks of this size

// cursor reads a header from its start. After an error it reads zeros; err holds the
// first one.
type cursor struct {
	ctx  context.Context
	src  *source.Source
	at   int64
	wide bool // numbers called n are 8 bytes
	err  error

	window []byte // what is at offset start
	start  int64
}

func (c *cursor) fail(at int64, err error) {
	if c.err == nil {
		c.err = &readers.Error{Source: c.src.Name(), Offset: at, Err: err}
	}
}

// left is how many bytes follow.
func (c *cursor) left() uint64 { return uint64(c.src.Size() - c.at) }

// take returns the next n bytes, or nil after an error.
func (c *cursor) take(n uint64, what string) []byte {
	switch {
	case c.err != nil:
		return nil
	case n > c.left():
		c.fail(c.at, readers.Corruptf("the file ends within the header: %s takes %d bytes, %d are left", what, n, c.left()))
		return nil
	case uint64(c.at)+n > maxHeader:
		c.fail(c.at, unsupported("a header of more than %d bytes", maxHeader))
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

// number reads an n of the grammar.
func (c *cursor) number(what string) uint64 {
	if c.wide {
		return c.uint64(what)
	}
	return uint64(c.uint32(what))
}

// width is the size of an n.
func (c *cursor) width() uint64 {
	if c.wide {
		return 8
	}
	return 4
}

// count reads an n that says how many things follow, each of at least size bytes.
func (c *cursor) count(size, limit uint64, what string) uint64 {
	at := c.at
	n := c.number("number of " + what)
	switch {
	case c.err != nil:
		return 0
	case n > c.left()/size:
		c.fail(at, readers.Corruptf("%d %s, of at least %d bytes each, do not fit in the %d bytes left", n, what, size, c.left()))
		return 0
	case n > limit:
		c.fail(at, unsupported("%d %s in one header, more than %d", n, what, limit))
		return 0
	}
	return n
}

// padded reads n bytes and the padding behind them.
func (c *cursor) padded(n uint64, what string) []byte {
	if n > c.left() { // so that the padding cannot overflow
		c.take(n, what)
		return nil
	}
	b := c.take(n+-n%4, what)
	return b[:min(n, uint64(len(b)))]
}

func (c *cursor) name(what string) string {
	n := c.number("length of the name of " + what)
	return string(c.padded(n, "the name of "+what))
}

// list reads the head of a list and returns how many elements follow.
func (c *cursor) list(tag uint32, size, limit uint64, what string) uint64 {
	at := c.at
	got := c.uint32("tag of the " + what)
	n := c.count(size, limit, what)
	if c.err == nil && got != tag && (got != 0 || n != 0) {
		c.fail(at, readers.Corruptf("tag %d before %d elements where %d is due, for %s", got, n, tag, what))
		return 0
	}
	return n
}

func unsupported(format string, args ...any) error {
	return fmt.Errorf(format+": %w", append(args, errors.ErrUnsupported)...)
}
