package access

import (
	"encoding/binary"
	"math/bits"

	"varve/codec/internal/corrupt"
)

// Used says which bytes before a point later bytes refer to. Positions count from the start of the window, which ends
// at the point.
type Used struct {
	words []uint64 // one bit for each byte
	size  int
}

// NewUsed returns a Used of a window of size bytes, a multiple of 64.
func NewUsed(size int) *Used { return &Used{make([]uint64, size/64), size} }

// Reset unmarks all bytes.
func (u *Used) Reset() { clear(u.words) }

// Mark marks n bytes that begin back bytes before the point. Bytes after the point are ignored, and bytes before the
// window.
func (u *Used) Mark(back, n int) {
	to := u.size - back + min(n, back)
	for from := max(u.size-back, 0); from < to; {
		n := min(64-from%64, to-from)
		u.words[from/64] |= (1<<n - 1) << (from % 64)
		from += n
	}
}

// next returns the first position from at on that is marked, or not marked.
func (u *Used) next(at int, isMarked bool) int {
	for at < u.size {
		word := u.words[at/64]
		if !isMarked {
			word = ^word
		}
		if word >>= at % 64; word != 0 {
			return at + bits.TrailingZeros64(word)
		}
		at += 64 - at%64
	}
	return u.size
}

// AppendWindow appends the marked bytes of a window. before has the decoded bytes before the point, or only the last
// ones. The form, with numbers as varints:
//
//	runs │ bytes before each run that are not in it … │ length of each run … │ the bytes of all runs
//
// Equal kinds of numbers are together, so that they can be compressed well. A window of 32 KiB of which 3 bytes at
// position 10 and the last 2 bytes are needed is 02 │ 0a f1ff01 │ 03 02 │ 5 bytes. If no byte is marked, nothing is
// appended.
func (u *Used) AppendWindow(b, before []byte) []byte {
	before = before[max(len(before)-u.size, 0):]
	var runs [][2]int
	start := u.size - len(before) // positions of before begin here
	for at := u.next(start, true); at < u.size; {
		end := u.next(at, false)
		runs = append(runs, [2]int{at, end})
		at = u.next(end, true)
	}
	if len(runs) == 0 {
		return b
	}
	b = binary.AppendUvarint(b, uint64(len(runs)))
	last := 0
	for _, r := range runs {
		b = binary.AppendUvarint(b, uint64(r[0]-last))
		last = r[1]
	}
	for _, r := range runs {
		b = binary.AppendUvarint(b, uint64(r[1]-r[0]))
	}
	for _, r := range runs {
		b = append(b, before[r[0]-start:r[1]-start]...)
	}
	return b
}

// FillWindow sets dst, the whole window, from the form of AppendWindow. Bytes that are not in it become zero.
func FillWindow(dst, window []byte) error {
	clear(dst)
	if len(window) == 0 {
		return nil
	}
	runs, rest, ok := Uvarint(window)
	// Each run has at least a byte, and two lengths.
	if !ok || runs > uint64(len(rest)/3) {
		return corrupt.Errorf("window: %d runs in %d bytes", runs, len(window))
	}
	gaps := rest
	for range runs {
		if _, rest, ok = Uvarint(rest); !ok {
			return corrupt.Errorf("window: it ends within the positions of %d runs", runs)
		}
	}
	body := rest
	for range runs {
		if _, body, ok = Uvarint(body); !ok {
			return corrupt.Errorf("window: it ends within the lengths of %d runs", runs)
		}
	}
	at, size := uint64(0), uint64(len(dst))
	for range runs {
		var gap, n uint64
		gap, gaps, _ = Uvarint(gaps)
		n, rest, _ = Uvarint(rest)
		if gap > size-at || n > size-at-gap || n > uint64(len(body)) {
			return corrupt.Errorf("window: a run of %d bytes at position %d, but the window has %d bytes and %d are stored", n, at+gap, size, len(body))
		}
		at += gap
		copy(dst[at:], body[:n])
		at, body = at+n, body[n:]
	}
	if len(body) > 0 {
		return corrupt.Errorf("window: %d bytes after its last run", len(body))
	}
	return nil
}

// Uvarint reads a varint and returns the bytes after it.
func Uvarint(b []byte) (v uint64, rest []byte, ok bool) {
	v, n := binary.Uvarint(b)
	if n <= 0 {
		return 0, b, false
	}
	return v, b[n:], true
}
