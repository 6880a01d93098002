package aec

import (
	"math/bits"

	"varve/codec/internal/corrupt"
)

// restOfSegment, as the number of zero blocks, means all blocks up to the next multiple of
// segment in the scanline, or up to the end of the scanline.
const (
	restOfSegment = 5
	segment       = 64
)

// nextBlock decodes block b of the scanline, and the zero blocks that share its code. It
// returns the number of blocks decoded.
func (d *decoder) nextBlock(b int) (int, error) {
	samples := d.line[b*d.block : (b+1)*d.block]
	option := d.Take(d.id)
	rest := samples
	if b == 0 && d.hasNeighbour {
		rest = samples[1:] // the first sample is the reference
	}
	done := 1
	var err error
	switch last := uint64(1)<<d.id - 1; {
	case option == last:
		d.verbatim(samples)
	case option > 0:
		d.reference(samples, rest)
		d.split(rest, uint(option-1))
	case d.Take(1) == 1:
		d.reference(samples, rest)
		err = d.secondExtension(rest)
	default:
		d.reference(samples, rest)
		done, err = d.zeroBlocks(b, rest)
	}
	if d.Overrun() {
		err = corrupt.Errorf("szip: truncated at byte %d", len(d.Src))
	}
	return done, err
}

// reference reads the reference sample if the block has one: then rest is samples without
// the first.
func (d *decoder) reference(samples, rest []uint32) {
	if len(rest) < len(samples) {
		samples[0] = uint32(d.Take(d.bits))
	}
}

// verbatim reads uncompressed samples.
func (d *decoder) verbatim(samples []uint32) {
	clear(samples)
	d.addLow(samples, d.bits)
}

// split decodes the high bits of all samples, then the k low bits of each.
func (d *decoder) split(samples []uint32, k uint) {
	acc, n := d.Acc, d.N // local copies stay in registers: this loop takes most of the time
	for i := range samples {
		zeros := uint(bits.LeadingZeros64(acc))
		if zeros < n {
			acc = acc << (zeros & 63) << 1
			n -= zeros + 1
		} else {
			d.Acc, d.N = acc, n
			zeros = d.Zeros()
			acc, n = d.Acc, d.N
		}
		samples[i] = uint32(zeros) << (k & 31)
	}
	d.Acc, d.N = acc, n
	if k > 0 {
		d.addLow(samples, k)
	}
}

// addLow reads k bits for each sample and adds them to it, 1 <= k < 32.
func (d *decoder) addLow(samples []uint32, k uint) {
	acc, n := d.Acc, d.N
	for i := range samples {
		if n < k {
			d.Acc, d.N = acc, n
			d.Refill()
			acc, n = d.Acc, d.N
		}
		samples[i] += uint32(acc >> (-k & 63)) // -k is 64-k modulo 64; the mask saves the compiler a check
		acc <<= k & 63
		n -= k
	}
	d.Acc, d.N = acc, n
}

// secondExtension decodes codes for pairs of samples. In a block with a reference, the
// reference takes the place of the first sample of the first pair.
func (d *decoder) secondExtension(samples []uint32) error {
	for i := -(len(samples) & 1); i < len(samples); i += 2 { // an odd number: a block with a reference
		code := d.Zeros()
		if code >= uint(len(pairSums)) {
			return corrupt.Errorf("szip: code %d for a pair of samples before byte %d, must be at most %d",
				code, d.Offset(), len(pairSums)-1)
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

// pairSums maps the code of a pair to the sum of its samples. Pairs are ordered by sum, from
// 0 to 12, then by second sample.
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

// zeroBlocks reads a number of zero blocks and clears them, beginning with block b. It returns
// their number.
func (d *decoder) zeroBlocks(b int, rest []uint32) (int, error) {
	n := d.Zeros()
	left := d.blocks - b
	count := left + 1
	switch {
	case n+1 < restOfSegment:
		count = int(n) + 1
	case n+1 == restOfSegment:
		count = min(left, segment-b%segment)
	case n <= uint(left):
		count = int(n) // code 4 means restOfSegment, so code n > 4 means n blocks, not n+1
	}
	if count > left {
		return 0, corrupt.Errorf("szip: code %d for zero blocks before byte %d, but the scanline has %d blocks left", n, d.Offset(), left)
	}
	clear(rest)
	clear(d.line[(b+1)*d.block : (b+count)*d.block])
	return count, nil
}
