// Package packed keeps long lists of integers in little memory.
package packed

import (
	"math"
	"math/bits"
	"slices"
)

// Ints is a list of integers that grows at its end. Integers that rise or fall evenly, or differ little, need a few bits
// each: the files of an archive in the order of time are numbered 0, 1, 2 …, and start every 24 hours. The zero value is an
// empty list. Any number of goroutines may read it while none appends.
type Ints struct {
	blocks []block
	rest   []int64 // the last integers, which do not fill a block yet
}

// block holds blockLength integers. Integer i is base + i·step + rest(i), and rest(i) has width bits.
type block struct {
	base, step int64
	width      uint
	bits       []uint64 // the rests one after another, from the lowest bit of each word
}

const blockLength = 256

// Of returns a list of some integers.
func Of(values []int64) *Ints {
	p := &Ints{}
	for _, v := range values {
		p.Append(v)
	}
	return p
}

// Len returns the number of integers.
func (p *Ints) Len() int { return len(p.blocks)*blockLength + len(p.rest) }

// Append adds an integer.
func (p *Ints) Append(v int64) {
	if p.rest = append(p.rest, v); len(p.rest) == blockLength {
		p.blocks = append(p.blocks, pack(p.rest))
		p.rest = p.rest[:0]
	}
}

// At returns integer i.
func (p *Ints) At(i int) int64 {
	n, at := uint(i)/blockLength, uint(i)%blockLength
	if n >= uint(len(p.blocks)) {
		return p.rest[at]
	}
	b := &p.blocks[n]
	v := b.base + int64(at)*b.step
	if b.width == 0 {
		return v
	}
	return v + int64(b.restAt(at))
}

func (b *block) restAt(i uint) uint64 {
	bit := i * b.width
	word, shift := bit/64, bit%64
	rest := b.bits[word] >> shift
	if shift+b.width > 64 {
		rest |= b.bits[word+1] << (64 - shift)
	}
	return rest & (math.MaxUint64 >> (64 - b.width))
}

// pack returns the block of blockLength integers.
func pack(values []int64) block {
	b := block{step: stepOf(values)}
	least, most := int64(math.MaxInt64), int64(math.MinInt64)
	for i, v := range values {
		rest := v - int64(i)*b.step
		least, most = min(least, rest), max(most, rest)
	}
	b.base, b.width = least, uint(bits.Len64(uint64(most)-uint64(least)))
	if b.width == 0 {
		return b
	}
	b.bits = make([]uint64, (blockLength*b.width+63)/64)
	for i, v := range values {
		rest := uint64(v-int64(i)*b.step) - uint64(least)
		bit := uint(i) * b.width
		word, shift := bit/64, bit%64
		b.bits[word] |= rest << shift
		if shift+b.width > 64 {
			b.bits[word+1] |= rest >> (64 - shift)
		}
	}
	return b
}

// stepOf returns the step with which the integers rise on average. It is 0 for integers so large that a step could
// overflow.
func stepOf(values []int64) int64 {
	const most = math.MaxInt64 / 4
	if slices.Min(values) < -most || slices.Max(values) > most {
		return 0
	}
	return (values[len(values)-1] - values[0]) / int64(len(values)-1)
}

// Search returns the index of the first integer of a sorted list that is greater than v.
func (p *Ints) Search(v int64) int {
	lo, hi := 0, p.Len()
	for lo < hi {
		if mid := int(uint(lo+hi) >> 1); p.At(mid) <= v {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}
