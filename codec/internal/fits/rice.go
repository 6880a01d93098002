package fits

import (
	"fmt"

	"varve/codec/internal/bitstream"
	"varve/codec/internal/corrupt"
)

// Rice decodes tiles compressed with RICE_1 (FITS Standard 4.0, section 10.4.1). Each integer is coded
// as its difference from the previous one. Blocks of integers share the number of low bits.
//
//	first(8·Bytes) │ split │ code … Block times │ split │ …
//
//	split 0        all differences of the block are 0, and there are no codes
//	split largest  codes are the differences, uncompressed, in 8·Bytes bits
//	other splits   codes are the high bits of the difference, as that many zeros and a one, then
//	               split-1 low bits
//
// Differences are mapped to non-negative numbers: 0, -1, 1, -2, … to 0, 1, 2, 3, …. A split has 3, 4
// or 5 bits, see layout.
type Rice struct {
	Bytes int // bytes per integer when it was compressed: BYTEPIX
	Block int // BLOCKSIZE
	Size  int // bytes per integer of the image
}

// Check returns an error unless the fields are valid.
func (p Rice) Check() error {
	if !isSize(p.Bytes) || !isSize(p.Size) {
		return fmt.Errorf("RICE_1: integers of %d bytes (BYTEPIX) in an image of %d, both must be 1, 2 or 4", p.Bytes, p.Size)
	}
	if p.Block < 1 {
		return fmt.Errorf("RICE_1: blocks of %d integers (BLOCKSIZE), must be positive", p.Block)
	}
	return nil
}

// isSize reports whether an integer of n bytes is valid.
func isSize(n int) bool { return n == 1 || n == 2 || n == 4 }

// layout returns the number of bits of a split, and the largest split.
func (p Rice) layout() (width, largest uint) {
	switch p.Bytes {
	case 1:
		return 3, 7
	case 2:
		return 4, 15
	}
	return 5, 26
}

// Decode decodes src to dst, whose length must be the size of the tile, and returns that size.
func (p Rice) Decode(dst, src []byte) (int, error) {
	out := words{dst: dst, size: p.Size}
	n := out.count()
	if n == 0 {
		return 0, nil
	}
	in := bitstream.Reader{Src: src}
	last := uint32(in.Take(uint(8 * p.Bytes)))
	for i := 0; i < n; {
		end := min(n, i+p.Block)
		next, err := p.block(&in, &out, i, end, last)
		if in.Overrun() {
			return 0, corrupt.Errorf("fits.rice: truncated at byte %d, before pixel %d of %d", len(src), end, n)
		}
		if err != nil {
			return 0, err
		}
		i, last = end, next
	}
	return n * p.Size, nil
}

// block decodes the pixels from i to end and returns the last one. last is the pixel before i.
func (p Rice) block(in *bitstream.Reader, out *words, i, end int, last uint32) (uint32, error) {
	width, largest := p.layout()
	split := uint(in.Take(width))
	if split > largest {
		return 0, corrupt.Errorf("fits.rice: split %d before pixel %d, must be 0 to %d", split, i, largest)
	}
	for ; i < end; i++ {
		var mapped uint32
		switch split {
		case 0:
		case largest:
			mapped = uint32(in.Take(uint(8 * p.Bytes)))
		default:
			high := in.Zeros()
			mapped = uint32(high)<<(split-1) | uint32(in.Take(split-1))
		}
		last += mapped>>1 ^ -(mapped & 1) // 0, -1, 1, -2, …; may wrap around, as in the encoder
		if err := out.put(i, p.value(last)); err != nil {
			return 0, err
		}
	}
	return last, nil
}

// value returns the integer in the low p.Bytes bytes of v.
func (p Rice) value(v uint32) int64 {
	switch p.Bytes {
	case 1:
		return int64(uint8(v))
	case 2:
		return int64(int16(v))
	}
	return int64(int32(v))
}
