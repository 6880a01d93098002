package hdf5

import (
	"bytes"
	"encoding/binary"
	"math"

	"varve/readers"
)

// undefined is the address that stands for "nowhere", whatever its stored size.
const undefined = math.MaxUint64

// cursor decodes the fields of one structure. The first thing wrong is kept in err, and
// everything after that reads as zero, so that callers check once, before they use what
// they read to allocate or to loop.
type cursor struct {
	b       []byte
	pos     int
	at      int64 // offset of b[0] in the source
	offsets int   // size of addresses
	lengths int   // size of lengths
	err     error
}

func (c *cursor) fail(format string, args ...any) {
	if c.err == nil {
		c.err = &readers.Error{Offset: c.at + int64(c.pos), Err: readers.Corruptf(format, args...)}
	}
}

// left is the number of bytes not read yet.
func (c *cursor) left() int {
	if c.err != nil {
		return 0
	}
	return len(c.b) - c.pos
}

// take returns the next n bytes, or nil.
func (c *cursor) take(n int) []byte {
	if c.err != nil {
		return nil
	}
	if n < 0 || n > len(c.b)-c.pos {
		c.fail("%d bytes wanted, %d left", n, len(c.b)-c.pos)
		return nil
	}
	out := c.b[c.pos : c.pos+n : c.pos+n]
	c.pos += n
	return out
}

func (c *cursor) skip(n int) { c.take(n) }

// uint reads a little-endian number of up to eight bytes.
func (c *cursor) uint(size int) uint64 {
	b := c.take(size)
	if len(b) == 8 {
		return binary.LittleEndian.Uint64(b)
	}
	var v uint64
	for i, x := range b {
		v |= uint64(x) << (8 * i)
	}
	return v
}

func (c *cursor) u8() int     { return int(c.uint(1)) }
func (c *cursor) u16() int    { return int(c.uint(2)) }
func (c *cursor) u32() int    { return int(c.uint(4)) }
func (c *cursor) u64() uint64 { return c.uint(8) }

// length reads a length of the file's size for them.
func (c *cursor) length() uint64 { return c.uint(c.lengths) }

// address reads an address; all ones are undefined, whatever their size.
func (c *cursor) address() uint64 {
	v := c.uint(c.offsets)
	if c.offsets < 8 && v == 1<<(8*c.offsets)-1 {
		return undefined
	}
	return v
}

// size32 is a length that must fit what is left of the structure.
func (c *cursor) fits(n uint64, what string) int {
	if n > uint64(c.left()) {
		c.fail("%s is %d, but %d bytes are left", what, n, c.left())
		return 0
	}
	return int(n)
}

// text reads bytes up to a NUL, which is read too.
func (c *cursor) text(what string) string {
	if c.err != nil {
		return ""
	}
	n := bytes.IndexByte(c.b[c.pos:], 0)
	if n < 0 {
		c.fail("%s has no NUL at its end", what)
		return ""
	}
	out := string(c.b[c.pos : c.pos+n])
	c.pos += n + 1
	return out
}

// signature reads four bytes that must be want.
func (c *cursor) signature(want string) {
	if got := c.take(4); got != nil && string(got) != want {
		c.pos -= 4
		c.fail("signature is %q, not %q", got, want)
	}
}

// version reads a byte that must lie between lo and hi.
func (c *cursor) version(what string, lo, hi int) int {
	v := c.u8()
	if c.err == nil && (v < lo || v > hi) {
		c.pos--
		c.fail("version of %s is %d, not from %d to %d", what, v, lo, hi)
	}
	return v
}

// checksum reads four bytes that must be the checksum of all before them.
func (c *cursor) checksum(what string) {
	end := c.pos
	stored := c.uint(4)
	if c.err == nil && uint32(stored) != lookup3(c.b[:end]) {
		c.pos = end
		c.fail("checksum of %s is %08x, computed %08x", what, stored, lookup3(c.b[:end]))
	}
}

// sub returns a cursor over the next n bytes.
func (c *cursor) sub(n int) cursor {
	at := c.at + int64(c.pos)
	return cursor{b: c.take(n), at: at, offsets: c.offsets, lengths: c.lengths, err: c.err}
}

// encodedSize is the number of bytes that numbers up to limit take.
func encodedSize(limit uint64) int {
	n := 1
	for limit > 255 {
		limit >>= 8
		n++
	}
	return n
}
