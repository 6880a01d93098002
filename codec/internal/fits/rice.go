package fits

import (
	"fmt"

	"varve/codec/internal/corrupt"
)

// Rice says how integers were compressed by RICE_1: each is the difference to the one before,
// in blocks that share a number of low bits.
//
//	first(8·Bytes) │ split │ number … Block times │ split │ …
//
//	split 0        all numbers of the block are the last one
//	split largest  numbers are stored as they are, in 8·Bytes bits
//	else           so many zeros as the high bits say, a one, and split-1 low bits
type Rice struct {
	Bytes int // of an integer as it was compressed: BYTEPIX
	Block int // BLOCKSIZE
	Size  int // of an integer of the image
}

// Check returns an error unless there are such integers.
func (p Rice) Check() error {
	if !isSize(p.Bytes) || !isSize(p.Size) {
		return fmt.Errorf("RICE_1 of integers of %d bytes in images of %d, not 1, 2 or 4", p.Bytes, p.Size)
	}
	if p.Block < 1 {
		return fmt.Errorf("RICE_1 in blocks of %d", p.Block)
	}
	return nil
}

func isSize(n int) bool { return n == 1 || n == 2 || n == 4 }

// layout is how wide splits are, and the largest.
func (p Rice) layout() (width, largest int) {
	switch p.Bytes {
	case 1:
		return 3, 7
	case 2:
		return 4, 15
	}
	return 5, 26
}

// Decode decodes src to dst, which has room for exactly the integers of the tile, and returns how
// many bytes it decodes to.
func (p Rice) Decode(dst, src []byte) (int, error) {
	out := words{dst: dst, size: p.Size}
	n := out.count()
	if n == 0 {
		return 0, nil
	}
	in := bitReader{src: src}
	last := uint32(in.take(8 * p.Bytes))
	for i := 0; i < n; {
		end := min(n, i+p.Block)
		next, err := p.block(&in, &out, i, end, last)
		if err != nil {
			return 0, err
		}
		if in.missing {
			return 0, corrupt.Errorf("fits.rice: %d bytes end before number %d of %d", len(src), end, n)
		}
		i, last = end, next
	}
	return n * p.Size, nil
}

// block decodes the numbers from i to end, and returns the last.
func (p Rice) block(in *bitReader, out *words, i, end int, last uint32) (uint32, error) {
	width, largest := p.layout()
	split := int(in.take(width))
	if split > largest {
		return 0, corrupt.Errorf("fits.rice: %d low bits before number %d, more than %d", split-1, i, largest-1)
	}
	for ; i < end && !in.missing; i++ {
		var folded uint32
		switch split {
		case 0:
		case largest:
			folded = uint32(in.take(8 * p.Bytes))
		default:
			high := in.zeros()
			folded = uint32(high)<<(split-1) | uint32(in.take(split-1))
		}
		last += folded>>1 ^ -(folded & 1) // 0, -1, 1, -2, …
		if err := out.put(i, p.value(last)); err != nil {
			return 0, err
		}
	}
	return last, nil
}

// value is a number of which only the low bytes count.
func (p Rice) value(v uint32) int64 {
	switch p.Bytes {
	case 1:
		return int64(uint8(v))
	case 2:
		return int64(int16(v))
	}
	return int64(int32(v))
}
