package aec

import (
	"math/bits"

	"varve/codec/internal/corrupt"
)

// restOfSegment, in place of a number of zero blocks, means all up to the next multiple
// of segment blocks in the scanline, or its end.
const (
	restOfSegment = 5
	segment       = 64
)

// nextBlock decodes block b of the scanline, and the zero blocks that may come with it.
// It returns how many that were.
func (d *decoder) nextBlock(b int) (int, error) {
	samples := d.line[b*d.block : (b+1)*d.block]
	option := d.take(d.id)
	rest := samples
	if b == 0 && d.neighbour {
		rest = samples[1:]
	}
	done := 1
	var err error
	switch last := uint64(1)<<d.id - 1; {
	case option == last:
		d.verbatim(samples)
	case option > 0:
		d.reference(samples, rest)
		err = d.split(rest, uint(option-1))
	case d.take(1) == 1:
		d.reference(samples, rest)
		err = d.secondExtension(rest)
	default:
		d.reference(samples, rest)
		done, err = d.zeroBlocks(b, rest)
	}
	if err == nil && d.overrun() {
		err = d.truncated()
	}
	return done, err
}

// reference takes the sample that a scanline starts with, if rest leaves one out.
func (d *decoder) reference(samples, rest []uint32) {
	if len(rest) < len(samples) {
		samples[0] = uint32(d.take(d.bits))
	}
}

func (d *decoder) verbatim(samples []uint32) {
	clear(samples)
	d.addLow(samples, d.bits)
}

// split decodes a fundamental sequence of each sample, then k bits of each.
func (d *decoder) split(samples []uint32, k uint) error {
	acc, n := d.acc, d.n
	for i := range samples {
		zeros := uint(bits.LeadingZeros64(acc))
		if zeros < n {
			acc = acc << (zeros & 63) << 1
			n -= zeros + 1
		} else {
			var ok bool
			d.acc, d.n = acc, n
			if zeros, ok = d.longSequence(); !ok {
				return d.truncated()
			}
			acc, n = d.acc, d.n
		}
		samples[i] = uint32(zeros) << (k & 31)
	}
	d.acc, d.n = acc, n
	if k > 0 {
		d.addLow(samples, k)
	}
	return nil
}

// addLow adds the k low bits of each sample, 1 <= k < 32.
func (d *decoder) addLow(samples []uint32, k uint) {
	acc, n := d.acc, d.n
	for i := range samples {
		if n < k {
			d.acc, d.n = acc, n
			d.refill()
			acc, n = d.acc, d.n
		}
		samples[i] += uint32(acc >> (-k & 63))
		acc <<= k & 63
		n -= k
	}
	d.acc, d.n = acc, n
}

// secondExtension decodes codes that stand for two samples each. At a reference the
// first one of the pair is not there.
func (d *decoder) secondExtension(samples []uint32) error {
	for i := -(len(samples) & 1); i < len(samples); i += 2 {
		code, ok := d.sequence()
		if !ok {
			return d.truncated()
		}
		if code >= uint(len(pairSums)) {
			return corrupt.Errorf("szip: pair of samples %d before byte %d, which should be at most %d",
				code, d.offset(), len(pairSums)-1)
		}
		sum := pairSums[code]
		second := uint32(code) - sum*(sum+1)/2
		if i >= 0 {
			samples[i] = sum - second
		}
		samples[i+1] = second
	}
	return nil
}

// pairSums are the sums of the samples in each pair. Pairs are numbered by their sum,
// which is 12 at most, and then by their second sample.
var pairSums = func() (sums [91]uint32) {
	n := 0
	for sum := range uint32(13) {
		for range sum + 1 {
			sums[n] = sum
			n++
		}
	}
	return sums
}()

// zeroBlocks clears this block and those that are zero with it. It returns how many.
func (d *decoder) zeroBlocks(b int, rest []uint32) (int, error) {
	n, ok := d.sequence()
	if !ok {
		return 0, d.truncated()
	}
	left := d.blocks - b
	count := left + 1
	switch {
	case n+1 < restOfSegment:
		count = int(n) + 1
	case n+1 == restOfSegment:
		count = min(left, segment-b%segment)
	case n <= uint(left):
		count = int(n) // the number of restOfSegment is taken
	}
	if count > left {
		return 0, corrupt.Errorf("szip: zero blocks by number %d before byte %d, with %d left in the scanline", n+1, d.offset(), left)
	}
	clear(rest)
	clear(d.line[(b+1)*d.block : (b+count)*d.block])
	return count, nil
}

func (d *decoder) truncated() error {
	return corrupt.Errorf("szip: truncated at byte %d", len(d.src))
}
