package zstd

import (
	"encoding/binary"
	"math/bits"

	"varve/codec/internal/corrupt"
)

// An fseTable is a finite state machine (RFC 8878, section 4.1). A state means a symbol, and determines the number of
// bits that lead to the next state.
type fseTable struct {
	log     uint
	entries [1 << maxFSELog]fseEntry
}

const maxFSELog = 9

// An fseEntry is a state. Its layout suits the instructions that use it:
//
//	bits 0–7    number of extra bits of the symbol's value
//	bits 8–15   number of bits that lead to the next state
//	bits 16–31  the next state, to which these bits are added
//	bits 32–63  the symbol's value, to which the extra bits are added
//
// In the table of a Huffman code's weights, the value is the symbol itself.
type fseEntry uint64

func (e fseEntry) extra() uint   { return uint(e & 0xff) }
func (e fseEntry) width() uint   { return uint(e >> 8 & 0xff) }
func (e fseEntry) next() uint    { return uint(e >> 16 & 0xffff) }
func (e fseEntry) value() uint32 { return uint32(e >> 32) }

// readCounts reads the normalized counts of at most len(counts) symbols (RFC 8878, section 4.1.1). It returns the
// logarithm of the table's size, the number of symbols and the number of bytes read.
func readCounts(counts []int16, src []byte, maxLog uint) (log uint, symbols, used int, err error) {
	r := forward{src: src}
	log = uint(r.take(4)) + 5
	if log > maxLog {
		return 0, 0, 0, corrupt.Errorf("FSE table with %d states, at most %d are allowed", 1<<log, 1<<maxLog)
	}
	for left := 1 << log; left > 0; {
		if symbols >= len(counts) {
			return 0, 0, 0, corrupt.Errorf("FSE table with more than %d symbols", len(counts))
		}
		count := r.count(left)
		if left -= max(count, -count); left < 0 || r.pos > 8*len(src) {
			return 0, 0, 0, corrupt.Errorf("truncated in the counts of an FSE table")
		}
		counts[symbols] = int16(count)
		symbols++
		for again := count == 0; again; { // after a count of 0, a number of further zeros follows
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

// A forward reads bits, the lowest bit of each byte first. Past the end it returns zeros.
type forward struct {
	src []byte
	pos int // index of the next bit
}

// peek returns at least the next 24 bits.
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

// take returns the next n bits, n <= 24.
func (r *forward) take(n int) uint32 {
	v := r.peek() & (1<<n - 1)
	r.pos += n
	return v
}

// count reads a number from -1 to left, whose code has one bit less for small numbers.
func (r *forward) count(left int) int {
	width := bits.Len(uint(left + 1))
	half, most := 1<<(width-1), left+1
	short := 2*half - 1 - most // number of numbers whose code has one bit less
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

// build builds the table from the symbols' counts, whose sum must be 1<<log. symbols holds, for each symbol, an entry
// with its value and extra bits.
func (t *fseTable) build(counts []int16, log uint, symbols []fseEntry) error {
	size := uint(1) << log
	t.log = log
	var next [256]uint16
	var spread [1 << maxFSELog]uint8
	end := size // states from here on belong to symbols with count -1, which are rarer than one state
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
		return corrupt.Errorf("the counts of an FSE table do not fill its %d states", size)
	}
	for i, s := range spread[:size] {
		state := uint(next[s])
		next[s]++
		width := log - uint(bits.Len(state)-1)
		t.entries[i] = symbols[s] | fseEntry(width<<8|(state<<width-size)<<16)
	}
	return nil
}

// single builds the table of one symbol, whose code has no bits.
func (t *fseTable) single(symbol fseEntry) {
	t.log = 0
	t.entries[0] = symbol
}

// The kinds of tables that sequences use, in the order of the first states in the stream.
const (
	lengths = iota // lengths of literals
	offsets
	matches
	kinds
)

// kind holds the definitions of RFC 8878, section 3.1.1.3.2.1.1, for a kind of tables.
type kind struct {
	name    string
	maxLog  uint
	symbols []fseEntry
	table   *fseTable // the predefined table
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

// newKind returns the kind whose predefined table has the given counts.
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

// ranges returns symbols for the numbers from first on. The first `ones` symbols mean one number each; the others mean
// 2^n numbers, for n extra bits.
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

// powers returns n symbols. Symbol i means the numbers from 2^i to 2^(i+1)-1.
func powers(n int) []fseEntry {
	var symbols []fseEntry
	for i := range n {
		symbols = append(symbols, 1<<(32+i)|fseEntry(i))
	}
	return symbols
}
