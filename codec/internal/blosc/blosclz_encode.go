package blosc

import (
	"math/bits"
	"sync"
)

const (
	lzHashBits = 14
	lzMinNear  = 5  // a shorter match saves too little to be worth decoding
	lzMinFar   = 8  // the far form takes two bytes more
	lzTail     = 12 // no match begins in the last bytes, and the last two are literals
	lzMinInput = 16
	lzMinRoom  = 66 // c-blosc's own limit
)

// An lzTable holds where a hash of four bytes was last seen.
type lzTable [1 << lzHashBits]int32

var lzTables = sync.Pool{New: func() any { return new(lzTable) }}

// compressBlosclz writes src to dst as a blosclz stream and returns its length, or 0 when it
// does not fit. Higher levels look at more positions when nothing was found for a while.
func compressBlosclz(dst, src []byte, level int) (int, error) {
	if len(src) < lzMinInput || len(dst) < lzMinRoom {
		return 0, nil
	}
	t := lzTables.Get().(*lzTable)
	defer lzTables.Put(t)
	clear(t[:])
	w := lzWriter{dst: dst, src: src}
	w.run(t, 3+uint(level))
	if w.full {
		return 0, nil
	}
	dst[0] |= 1 << 5 // how c-blosc marks its streams
	return w.n, nil
}

// An lzWriter encodes src[anchor:] after what dst[:n] already holds.
type lzWriter struct {
	dst, src []byte
	n        int
	anchor   int // first literal not yet written
	full     bool
}

func (w *lzWriter) run(t *lzTable, patience uint) {
	limit := len(w.src) - lzTail
	for at := 4; at < limit && !w.full; { // a stream begins with literals
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
		if at < limit {
			t[le.Uint32(w.src[at-2:])*2654435761>>(32-lzHashBits)] = int32(at - 2)
		}
	}
	w.literals(len(w.src))
}

// matchLength is how many bytes from at and from on are equal; at least four are.
func (w *lzWriter) matchLength(at, from int) int {
	end := len(w.src) - 2
	n := 4
	for at+n+8 <= end {
		x := le.Uint64(w.src[at+n:]) ^ le.Uint64(w.src[from+n:])
		if x != 0 {
			return n + bits.TrailingZeros64(x)/8
		}
		n += 8
	}
	for at+n < end && w.src[at+n] == w.src[from+n] {
		n++
	}
	return n
}

// literals writes the literals up to byte to.
func (w *lzWriter) literals(to int) {
	for w.anchor < to {
		n := min(lzMaxRun, to-w.anchor)
		if w.n+1+n > len(w.dst) {
			w.full = true
			return
		}
		w.dst[w.n] = byte(n - 1)
		copy(w.dst[w.n+1:], w.src[w.anchor:w.anchor+n])
		w.n, w.anchor = w.n+1+n, w.anchor+n
	}
}

func (w *lzWriter) match(length, back int) {
	d, far := back-1, 0
	if d >= lzFar {
		d, far = lzFar, d-lzFar
	}
	long := max(length-2-lzLongLen, 0)
	if w.n+5+long/255 > len(w.dst) {
		w.full = true
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
