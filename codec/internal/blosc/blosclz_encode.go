package blosc

import (
	"math/bits"
	"sync"
)

const (
	lzHashBits = 14
	lzMinNear  = 5  // a shorter match saves too little to justify the time to decode it
	lzMinFar   = 8  // the far form takes two bytes more
	lzTail     = 12 // no match begins in the last 12 bytes, and the last two bytes are literals
	lzMinInput = 16
	lzMinRoom  = 66 // c-blosc's own limit
)

// An lzTable maps the hash of four bytes to the position where they last occurred, or 0.
type lzTable [1 << lzHashBits]int32

var lzTables = sync.Pool{New: func() any { return new(lzTable) }}

// compressBlosclz writes src to dst as a blosclz stream and returns its length, or 0 if it
// does not fit. Lower levels skip more positions while they find no matches.
func compressBlosclz(dst, src []byte, level int) (int, error) {
	if len(src) < lzMinInput || len(dst) < lzMinRoom {
		return 0, nil
	}
	t := lzTables.Get().(*lzTable)
	defer lzTables.Put(t)
	clear(t[:])
	w := lzWriter{dst: dst, src: src}
	w.run(t, 3+uint(level))
	if w.isFull {
		return 0, nil
	}
	dst[0] |= 1 << 5 // how c-blosc marks its streams
	return w.n, nil
}

// An lzWriter encodes src to dst. dst[:n] is written and holds src[:anchor].
type lzWriter struct {
	dst, src []byte
	n        int
	anchor   int  // position of the first literal that is not yet written
	isFull   bool // dst is too small
}

// run encodes src. It skips one more position per 2^patience bytes without a match.
func (w *lzWriter) run(t *lzTable, patience uint) {
	limit := len(w.src) - lzTail
	for at := 4; at < limit && !w.isFull; { // a stream must begin with literals
		seq := le.Uint32(w.src[at:])
		slot := &t[seq*2654435761>>(32-lzHashBits)]
		from := int(*slot)
		*slot = int32(at)
		back := at - from
		if back >= lzMaxFar || from == 0 || le.Uint32(w.src[from:]) != seq {
			at += 1 + (at-w.anchor)>>patience
			continue
		}
		length := w.matchLength(at, from)
		if length < lzMinNear || back > lzFar && length < lzMinFar {
			at += 1 + (at-w.anchor)>>patience
			continue
		}
		w.literals(at)
		w.match(length, back)
		at += length
		w.anchor = at
		// Only one position within the match enters the table: indexing all costs more time than
		// the found matches save.
		if at < limit {
			t[le.Uint32(w.src[at-2:])*2654435761>>(32-lzHashBits)] = int32(at - 2)
		}
	}
	w.literals(len(w.src))
}

// matchLength returns the number of equal bytes at positions at and from. The caller has
// checked the first four.
func (w *lzWriter) matchLength(at, from int) int {
	end := len(w.src) - 2
	n := 4
	for at+n+8 <= end {
		x := le.Uint64(w.src[at+n:]) ^ le.Uint64(w.src[from+n:])
		if x != 0 { // little-endian: the lowest bits are the first bytes
			return n + bits.TrailingZeros64(x)/8
		}
		n += 8
	}
	for at+n < end && w.src[at+n] == w.src[from+n] {
		n++
	}
	return n
}

// literals writes src[anchor:to] as literal runs.
func (w *lzWriter) literals(to int) {
	for w.anchor < to {
		n := min(lzMaxRun, to-w.anchor)
		if w.n+1+n > len(w.dst) {
			w.isFull = true
			return
		}
		w.dst[w.n] = byte(n - 1)
		copy(w.dst[w.n+1:], w.src[w.anchor:w.anchor+n])
		w.n, w.anchor = w.n+1+n, w.anchor+n
	}
}

// match writes a match of length bytes, back bytes before the current position.
func (w *lzWriter) match(length, back int) {
	d, far := back-1, 0
	if d >= lzFar {
		d, far = lzFar, d-lzFar
	}
	long := max(length-2-lzLongLen, 0)
	if w.n+5+long/255 > len(w.dst) {
		w.isFull = true
		return
	}
	w.put(byte(min(length-2, lzLongLen)<<5 | d>>8))
	if length-2 >= lzLongLen {
		for ; long >= 255; long -= 255 {
			w.put(255)
		}
		w.put(byte(long))
	}
	w.put(byte(d))
	if d == lzFar {
		w.put(byte(far >> 8))
		w.put(byte(far))
	}
}

func (w *lzWriter) put(b byte) {
	w.dst[w.n] = b
	w.n++
}
