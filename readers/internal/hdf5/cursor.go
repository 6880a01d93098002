package hdf5

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"

	"varve/readers"
	"varve/readers/lookup3"
)

// undefined is the address of structures that do not exist. The file stores it as all ones,
// for every size of addresses.
const undefined = math.MaxUint64

// cursor decodes the fields of one structure. It keeps the first error in err and returns zeros
// after it, so that callers check err once, before they allocate or loop by the numbers read.
type cursor struct {
	b       []byte
	pos     int
	at      int64 // offset of b[0] in the source
	offsets int   // size of addresses in bytes
	lengths int   // size of lengths in bytes
	err     error
}

func (c *cursor) fail(format string, args ...any) {
	if c.err == nil {
		c.err = &readers.Error{Offset: c.at + int64(c.pos), Err: readers.Corruptf(format, args...)}
	}
}

// left returns the number of bytes that were not read yet.
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
		c.fail("structure ends early: %d bytes needed, %d remain", n, len(c.b)-c.pos)
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

// length reads a length, whose size the superblock sets.
func (c *cursor) length() uint64 { return c.uint(c.lengths) }

// address reads an address and returns undefined for all ones of its size.
func (c *cursor) address() uint64 {
	v := c.uint(c.offsets)
	if c.offsets < 8 && v == 1<<(8*c.offsets)-1 {
		return undefined
	}
	return v
}

// fits returns n, a count of bytes that must remain in the structure.
func (c *cursor) fits(n uint64, what string) int {
	if n > uint64(c.left()) {
		c.fail("%s is %d, but only %d bytes remain", what, n, c.left())
		return 0
	}
	return int(n)
}

// text reads a NUL-terminated string.
func (c *cursor) text(what string) string {
	if c.err != nil {
		return ""
	}
	n := bytes.IndexByte(c.b[c.pos:], 0)
	if n < 0 {
		c.fail("%s is not NUL-terminated", what)
		return ""
	}
	out := string(c.b[c.pos : c.pos+n])
	c.pos += n + 1
	return out
}

// signature reads four bytes, which must equal want.
func (c *cursor) signature(want string) {
	if got := c.take(4); got != nil && string(got) != want {
		c.pos -= 4
		c.fail("signature is %q (want %q)", got, want)
	}
}

// version reads a version number, which must be from lo to hi.
func (c *cursor) version(what string, lo, hi int) int {
	v := c.u8()
	if c.err == nil && (v < lo || v > hi) {
		c.pos--
		want := strconv.Itoa(lo)
		if hi > lo {
			want = fmt.Sprintf("%d to %d", lo, hi)
		}
		c.fail("%s: version is %d (want %s)", what, v, want)
	}
	return v
}

// checksum reads four bytes, which must be the checksum of all bytes before them.
func (c *cursor) checksum(what string) {
	end := c.pos
	stored := c.uint(4)
	if c.err == nil && uint32(stored) != lookup3.Sum(c.b[:end]) {
		c.pos = end
		c.fail("%s: checksum is %08x (computed %08x)", what, stored, lookup3.Sum(c.b[:end]))
	}
}

// sub returns a cursor over the next n bytes.
func (c *cursor) sub(n int) cursor {
	at := c.at + int64(c.pos)
	return cursor{b: c.take(n), at: at, offsets: c.offsets, lengths: c.lengths, err: c.err}
}

// encodedSize returns the number of bytes of a number up to limit.
func encodedSize(limit uint64) int {
	n := 1
	for limit > 255 {
		limit >>= 8
		n++
	}
	return n
}
