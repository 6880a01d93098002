package zstd

import (
	"encoding/binary"
	"math/bits"

	"varve/codec/internal/corrupt"
)

// An fseTable is a state machine of section 4.1: a state stands for a symbol, and says how
// many bits lead to the next state.
type fseTable struct {
	log     uint
	entries [1 << maxFSELog]fseEntry
}

const maxFSELog = 9

// An fseEntry is a state, made for the instructions that use it:
//
//	bits 0–7    how many extra bits the symbol's value has
//	bits 8–15   how many bits lead to the next state
//	bits 16–31  the next state, if these are 0
//	bits 32–63  the symbol's value, if the extra bits are 0
//
// In the table of a Huffman code's weights the value is the symbol.
type fseEntry uint64

func (e fseEntry) extra() uint   { return uint(e & 0xff) }
func (e fseEntry) width() uint   { return uint(e >> 8 & 0xff) }
func (e fseEntry) next() uint    { return uint(e >> 16 & 0xffff) }
func (e fseEntry) value() uint32 { return uint32(e >> 32) }

// readCounts reads how probable the symbols are, of which there are at most len(counts), and
// returns how many have a count and how many bytes that took (section 4.1.1).
func readCounts(counts []int16, src []byte, maxLog uint) (log uint, symbols, used int, err error) {
	r := forward{src: src}
	log = uint(r.take(4)) + 5
	if log > maxLog {
		return 0, 0, 0, corrupt.Errorf("FSE table of %d states, at most %d are allowed", 1<<log, 1<<maxLog)
	}
	for left := 1 << log; left > 0; {
		if symbols >= len(counts) {
			return 0, 0, 0, corrupt.Errorf("FSE table with more than %d symbols", len(counts))
		}
		count := r.count(left)
		if left -= max(count, -count); left < 0 || r.pos > 8*len(src) {
			return 0, 0, 0, corrupt.Errorf("FSE table whose counts have no end")
		}
		counts[symbols] = int16(count)
		symbols++
		for again := count == 0; again; {
			zeros := int(r.take(2))
			if symbols+zeros > len(counts) || r.pos > 8*len(src) {
				return 0, 0, 0, corrupt.Errorf("FSE table with more than %d symbols", len(counts))
			}
			clear(counts[symbols : symbols+zeros])
			symbols += zeros
			again = zeros == 3
		}
	}
	return log, symbols, (r.pos + 7) / 8, nil
}

// A forward reads bits from the lowest of the first byte on. Behind the end it reads zeros.
type forward struct {
	src []byte
	pos int // in bits
}

// peek returns the next bits, at most 24.
func (r *forward) peek() (v uint32) {
	at := r.pos / 8
	if at+4 <= len(r.src) {
		v = binary.LittleEndian.Uint32(r.src[at:])
	} else {
		for i := 0; at+i < len(r.src); i++ {
			v |= uint32(r.src[at+i]) << (8 * i)
		}
	}
	return v >> (r.pos % 8)
}

func (r *forward) take(n int) uint32 {
	v := r.peek() & (1<<n - 1)
	r.pos += n
	return v
}

// count reads a number from -1 to left, in as few bits as it may take.
func (r *forward) count(left int) int {
	width := bits.Len(uint(left + 1))
	half, most := 1<<(width-1), left+1
	short := 2*half - 1 - most // so many numbers take one bit less
	v := int(r.peek()) & (2*half - 1)
	if low := v & (half - 1); low < short {
		r.pos += width - 1
		return low - 1
	}
	r.pos += width
	if v >= half {
		v -= short
	}
	return v - 1
}

// build makes the table of symbols with these counts, whose sum is 1<<log. The entry of
// symbols holds their values and extra bits.
func (t *fseTable) build(counts []int16, log uint, symbols []fseEntry) error {
	size := uint(1) << log
	t.log = log
	var next [256]uint16
	var spread [1 << maxFSELog]uint8
	end := size // what is rarer than one state lies behind
	for s, n := range counts {
		next[s] = uint16(max(n, -n))
		if n == -1 {
			end--
			spread[end] = uint8(s)
		}
	}
	at, step := uint(0), size>>1+size>>3+3
	for s, n := range counts {
		for range max(n, 0) {
			spread[at] = uint8(s)
			for at = (at + step) & (size - 1); at >= end; {
				at = (at + step) & (size - 1)
			}
		}
	}
	if at != 0 {
		return corrupt.Errorf("FSE table whose counts do not fill it")
	}
	for i, s := range spread[:size] {
		state := uint(next[s])
		next[s]++
		width := log - uint(bits.Len(state)-1)
		t.entries[i] = symbols[s] | fseEntry(width<<8|(state<<width-size)<<16)
	}
	return nil
}

// single makes the table of one symbol, which takes no bits.
func (t *fseTable) single(symbol fseEntry) {
	t.log = 0
	t.entries[0] = symbol
}

// The kinds of tables that sequences use, in the order of their stream's first states.
const (
	lengths = iota // of literals
	offsets
	matches
	kinds
)

// kind is what section 3.1.1.3.2.1.1 says about one of them.
type kind struct {
	name    string
	maxLog  uint
	symbols []fseEntry
	table   *fseTable // if a block names none
}

var sequenceKinds = [kinds]kind{
	lengths: newKind("literal lengths", 9, 6, lengthSymbols, []int16{
		4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 2, 1, 1, 1, 1, 1, -1, -1, -1, -1}),
	offsets: newKind("offsets", 8, 5, offsetSymbols, []int16{
		1, 1, 1, 1, 1, 1, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1}),
	matches: newKind("match lengths", 9, 6, matchSymbols, []int16{
		1, 4, 3, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
		-1, -1, -1, -1, -1, -1, -1}),
}

func newKind(name string, maxLog, log uint, symbols []fseEntry, counts []int16) kind {
	t := new(fseTable)
	if err := t.build(counts, log, symbols); err != nil {
		panic(err) // these are constants
	}
	return kind{name, maxLog, symbols, t}
}

var (
	lengthSymbols = ranges(0, 16, []uint8{1, 1, 1, 1, 2, 2, 3, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16})
	matchSymbols  = ranges(3, 32, []uint8{1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16})
	offsetSymbols = powers(32)
)

// ranges are symbols for the numbers from first on: the first ones for one each, the others
// for as many as their extra bits can tell apart.
func ranges(first uint32, ones int, extra []uint8) []fseEntry {
	var symbols []fseEntry
	for range ones {
		symbols = append(symbols, fseEntry(first)<<32)
		first++
	}
	for _, n := range extra {
		symbols = append(symbols, fseEntry(first)<<32|fseEntry(n))
		first += 1 << n
	}
	return symbols
}

// powers are n symbols, each for the numbers from a power of two to the next.
func powers(n int) []fseEntry {
	var symbols []fseEntry
	for i := range n {
		symbols = append(symbols, 1<<(32+i)|fseEntry(i))
	}
	return symbols
}
