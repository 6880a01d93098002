package lerc

import (
	"math/bits"

	"varve/codec/internal/bitstream"
	"varve/codec/internal/corrupt"
)

// mask has a bit for each pixel, from the most significant bit of a byte down: 1 for a valid pixel. Nil stands for a
// mask of ones.
type mask []byte

// run returns the first run of valid pixels from pixel k on that starts before end, and its length up to end, or 0.
func (m mask) run(k, end int) (start, n int) {
	if m == nil {
		return k, end - k
	}
	for k < end {
		zeros := bits.LeadingZeros64(bitstream.At(m, k))
		k += min(zeros, bitstream.WindowBits)
		if zeros < bitstream.WindowBits {
			break
		}
	}
	start = min(k, end)
	for k < end {
		ones := bits.LeadingZeros64(^bitstream.At(m, k))
		k += min(ones, bitstream.WindowBits)
		if ones < bitstream.WindowBits {
			break
		}
	}
	return start, min(k, end) - start
}

// has reports whether pixel k is valid.
func (m mask) has(k int) bool { return m == nil || m[k>>3]>>(7-k&7)&1 != 0 }

// count returns the number of valid pixels among n <= 64 from pixel k on.
func (m mask) count(k, n int) int {
	if m == nil {
		return n
	}
	return bits.OnesCount64(bitstream.Field(m, k, uint(n)))
}

// readMask reads the mask of a blob. A blob without one has the mask of the band before.
func (d *decoder) readMask() error {
	pixels := d.rows * d.columns
	at := d.at
	size := d.integer()
	stored := reader{src: d.bytes(size), at: 0}
	if d.err != nil {
		return d.err
	}
	if d.valid == pixels || d.valid == 0 {
		if size != 0 {
			return corrupt.Errorf("offset %d: a mask of %d bytes, but %d of %d pixels are valid", at, size, d.valid, pixels)
		}
		d.mask = nil
		if d.valid == 0 {
			d.mask = make(mask, (pixels+7)/8)
		}
		return nil
	}
	if size > 0 {
		bytes := make(mask, (pixels+7)/8)
		if err := expand(bytes, &stored); err != nil {
			return corrupt.Errorf("offset %d: mask: %w", at+4, err)
		}
		d.mask = bytes
	}
	found := 0
	for k := 0; k < pixels; k += 64 {
		found += d.mask.count(k, min(64, pixels-k))
	}
	if found != d.valid {
		return corrupt.Errorf("offset %d: the mask has %d valid pixels, the header %d", at, found, d.valid)
	}
	return nil
}

// expand decodes runs: a count (2 bytes) before as many bytes, or a negative count before one byte that is repeated.
// The count −32768 is the end.
func expand(dst []byte, r *reader) error {
	for filled := 0; ; {
		at := r.at
		b := r.bytes(2)
		if b == nil {
			return r.err
		}
		n := int(int16(uint16(b[0]) | uint16(b[1])<<8))
		switch {
		case n == -1<<15 && filled == len(dst):
			return nil
		case n == -1<<15 || n == 0 || max(n, -n) > len(dst)-filled:
			return corrupt.Errorf("offset %d of it: a run of %d after %d of %d bytes", at, n, filled, len(dst))
		case n > 0:
			filled += copy(dst[filled:], r.bytes(n))
		default:
			value := r.octet()
			for i := range dst[filled : filled-n] {
				dst[filled+i] = value
			}
			filled -= n
		}
		if r.err != nil {
			return r.err
		}
	}
}
