package inflate

import (
	"math/bits"
	"sync"
)

// Sizes of the codes, RFC 1951 section 3.2.7.
const (
	litlenSyms  = 286 // 286 and 287 are in the fixed code but never valid
	distSyms    = 30  // 30 and 31 are in the fixed code but never valid
	precodeSyms = 19
	maxCodeLen  = 15
	endOfBlock  = 256
)

// Sizes of decoding tables. A table is indexed with the next bits of the stream. Codes longer than this
// index continue in a subtable, which is stored after the main table. A complete subtable of b bits has
// at least b+1 symbols, so subtables need at most 16/5 entries per literal/length symbol (b ≤ 4) and
// 64/7 entries per distance symbol (b ≤ 6).
const (
	litlenBits  = 11
	distBits    = 9
	precodeBits = 7
	litlenSize  = 1<<litlenBits + 288*16/5
	distSize    = 1<<distBits + 32*64/7
	precodeSize = 1 << precodeBits
)

// An entry of a table holds the meaning of the bits that index it, how many bits to drop, and how many
// bits index the next table.
//
//	           63‥60 55‥32              31‥24         23‥16         15‥8        7‥0
//	literal    1000  value              -             -             litlenBits  bits of the code
//	length     0000  base value         extra bits    bits of code  distBits    bits of code and extra
//	distance   0000  base value         extra bits    bits of code  litlenBits  bits of code and extra
//	subtable   0110  index of its start -             -             its bits    bits of the main index
//	block end  0101  -                  -             -             -           bits of the code
//	invalid    0100  -                  -             -             -           -
//	precode    0000  symbol             -             -             -           bits of the code
const (
	literal     = 1 << 63
	exceptional = 1 << 62
	subtable    = exceptional | 1<<61
	blockEnd    = exceptional | 1<<60
	invalid     = exceptional
	valueShift  = 32
	extraShift  = 24
	codeShift   = 16
	nextShift   = 8
	oneBit      = 1<<codeShift | 1 // added for every bit of the code
)

// tables are the two decoding tables of a block.
type tables struct {
	litlen [litlenSize]uint64
	dist   [distSize]uint64
}

// The entries of all symbols, without the lengths of their codes.
var (
	litlenSymbols  = makeLitlenSymbols()
	distSymbols    = makeDistSymbols()
	precodeSymbols = makePrecodeSymbols()
)

func makeLitlenSymbols() *[288]uint64 {
	var s [288]uint64
	for i := range endOfBlock {
		s[i] = literal | uint64(i)<<valueShift | litlenBits<<nextShift
	}
	s[endOfBlock] = blockEnd
	base := uint64(3)
	for i := range uint64(28) {
		extra := uint64(0)
		if i >= 8 {
			extra = i/4 - 1
		}
		s[257+i] = makeEntry(base, extra, distBits)
		base += 1 << extra
	}
	s[285] = makeEntry(258, 0, distBits) // the longest match has a symbol of its own
	s[286], s[287] = invalid, invalid
	return &s
}

func makeDistSymbols() *[32]uint64 {
	var s [32]uint64
	base := uint64(1)
	for i := range uint64(distSyms) {
		extra := uint64(0)
		if i >= 4 {
			extra = i/2 - 1
		}
		s[i] = makeEntry(base, extra, litlenBits)
		base += 1 << extra
	}
	s[30], s[31] = invalid, invalid
	return &s
}

// makeEntry returns the entry of a length or distance with extra bits. next is the number of index
// bits of the table that decodes the next symbol.
func makeEntry(base, extra, next uint64) uint64 {
	return base<<valueShift | extra<<extraShift | next<<nextShift | extra
}

func makePrecodeSymbols() *[precodeSyms]uint64 {
	var s [precodeSyms]uint64
	for i := range s {
		s[i] = uint64(i) << valueShift
	}
	return &s
}

var fixed struct {
	once sync.Once // no generic: see COMPUTING in the Makefile
	tables
}

// fixedTables returns the tables of the fixed codes (RFC 1951, section 3.2.6).
func fixedTables() *tables {
	fixed.once.Do(fixed.fill)
	return &fixed.tables
}

// fill makes the tables of the fixed codes.
func (t *tables) fill() {
	var (
		c    code
		lens [288 + 32]uint8
	)
	for i := range lens {
		switch {
		case i < 144, i >= 280 && i < 288:
			lens[i] = 8
		case i < 256:
			lens[i] = 9
		case i < 280:
			lens[i] = 7
		default:
			lens[i] = 5
		}
	}
	c.sort(lens[:288])
	c.fill(t.litlen[:], litlenSymbols[:], litlenBits)
	c.sort(lens[288:])
	c.fill(t.dist[:], distSymbols[:], distBits)
}

// A code is a set of code lengths sorted for building a table.
type code struct {
	counts [maxCodeLen + 1]uint16 // symbols of each length
	syms   [320]uint16            // the symbols that have a code, by length, then by value
	used   int                    // number of symbols that have a code
	left   int                    // unused codes of maxCodeLen bits: 0 if complete, < 0 if oversubscribed
}

// sort sets c from the length of each symbol's code. Length 0 means that the symbol has no code.
func (c *code) sort(lens []uint8) {
	c.counts = [maxCodeLen + 1]uint16{}
	for _, l := range lens {
		c.counts[l&15]++
	}
	c.used = len(lens) - int(c.counts[0])
	c.counts[0] = 0
	var next [maxCodeLen + 1]uint16
	c.left = 1 << maxCodeLen
	for l := 1; l <= maxCodeLen; l++ {
		next[l] = next[l-1] + c.counts[l-1]
		c.left -= int(c.counts[l]) << (maxCodeLen - l)
	}
	for sym, l := range lens {
		if l != 0 {
			c.syms[next[l&15]] = uint16(sym)
			next[l&15]++
		}
	}
}

// isComplete reports whether every sequence of bits is a code.
func (c *code) isComplete() bool { return c.left == 0 }

// isSingle reports whether there is one code, of one bit. It is incomplete, but zlib accepts it.
func (c *code) isSingle() bool { return c.used == 1 && c.counts[1] == 1 }

// fill builds the table of a complete code, of a single code, or of no code. While it places codes of
// l bits the table has 2^l entries, so each code takes one entry. Then the table doubles.
func (c *code) fill(table, symbols []uint64, tableBits int) {
	if !c.isComplete() {
		c.fillIncomplete(table[:1<<tableBits], symbols)
		return
	}
	next, word := 0, uint32(0)
	for l := 1; l <= tableBits; l++ {
		copy(table[1<<(l-1):1<<l], table[:1<<(l-1)])
		for range c.counts[l] {
			table[word] = symbols[c.syms[next]] + uint64(l)*oneBit
			word = nextWord(word, l)
			next++
		}
	}
	if next < c.used {
		c.fillSubtables(table, symbols, tableBits, next, word)
	}
}

// fillIncomplete gives the single code, if there is one, the bit 0. The bit 1 becomes invalid.
func (c *code) fillIncomplete(table, symbols []uint64) {
	for i := range table {
		table[i] = invalid
	}
	if c.used == 0 {
		return
	}
	entry := symbols[c.syms[0]] + oneBit
	for i := 0; i < len(table); i += 2 {
		table[i] = entry
	}
}

// fillSubtables places the symbols from c.syms[next] on, whose codes are longer than tableBits. word is
// the code of the first of them, its first bit lowest.
func (c *code) fillSubtables(table, symbols []uint64, tableBits, next int, word uint32) {
	end, start := 1<<tableBits, 0
	prefix := uint32(1) << tableBits // equal to no prefix, so that the first code starts a subtable
	for l := tableBits + 1; l <= maxCodeLen; l++ {
		for i := range int(c.counts[l]) {
			if p := word & (1<<tableBits - 1); p != prefix {
				width := c.subtableBits(l, int(c.counts[l])-i, tableBits)
				prefix, start = p, end
				end += 1 << width
				table[prefix] = uint64(start)<<valueShift | subtable | uint64(width)<<nextShift | uint64(tableBits)
			}
			rest := l - tableBits
			entry := symbols[c.syms[next]] + uint64(rest)*oneBit
			for at := start + int(word>>tableBits); at < end; at += 1 << rest {
				table[at] = entry
			}
			word = nextWord(word, l)
			next++
		}
	}
}

// subtableBits returns the number of index bits of a subtable whose first code has l bits, if count
// codes of that length remain. The subtable is wide enough for the codes that fill it.
func (c *code) subtableBits(l, count, tableBits int) int {
	width := l - tableBits
	for room := 1 << width; count < room; room <<= 1 {
		width++
		count = count<<1 + int(c.counts[tableBits+width])
		if tableBits+width == maxCodeLen {
			break
		}
	}
	return width
}

// nextWord returns the code of l bits after word. The first bit of a code is the lowest, so the carry
// runs downwards: the highest 0 becomes 1, and all bits above it 0. The last code is returned
// unchanged.
func nextWord(word uint32, l int) uint32 {
	top := uint32(1) << bits.Len32(word^(1<<l-1)) >> 1
	return word&(top-1)&(1<<l-1) | top
}
