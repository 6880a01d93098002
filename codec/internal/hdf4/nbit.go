package hdf4

import (
	"encoding/binary"
	"fmt"

	"varve/codec/internal/corrupt"
)

// Nbit says which bits of numbers are stored, and what the others are.
type Nbit struct {
	Size, First, Bits    int // bytes of a number, its highest bit that is stored, and how many are
	ExtendSign, FillOnes bool
}

// Check returns an error unless there are such numbers.
func (p Nbit) Check() error {
	switch p.Size {
	case 1, 2, 4, 8:
	default:
		return fmt.Errorf("numbers of %d bytes", p.Size)
	}
	if p.First < 0 || p.First >= 8*p.Size || p.Bits < 1 || p.Bits > min(p.First+1, 32) {
		return fmt.Errorf("%d bits from bit %d downwards of numbers of %d bytes", p.Bits, p.First, p.Size)
	}
	return nil
}

// Decode decodes src to the beginning of dst and returns how many bytes it decodes to. It never
// writes beyond dst; what stands in src once that is full does not count.
func (p Nbit) Decode(dst, src []byte) (int, error) {
	low := p.First - p.Bits + 1
	field := (uint64(1)<<p.Bits - 1) << low
	above := ^uint64(0) << p.First << 1
	around := uint64(0)
	if p.FillOnes {
		around = ^field
	}
	n := len(dst) / p.Size
	if have := 8 * len(src) / p.Bits; have < n {
		return 0, corrupt.Errorf("hdf4.nbit: %d numbers of %d bits in %d bytes, %d are due", have, p.Bits, len(src), n)
	}
	at := 0 // in bits
	for i := range n {
		v := around | bitsAt(src, at, p.Bits)<<low
		at += p.Bits
		if p.ExtendSign {
			v &^= above
			if v>>p.First&1 != 0 {
				v |= above
			}
		}
		put(dst[i*p.Size:], v, p.Size)
	}
	return n * p.Size, nil
}

// bitsAt returns up to 32 bits from bit at on, the highest first.
func bitsAt(b []byte, at, count int) uint64 {
	var buf [8]byte
	copy(buf[:], b[at/8:])
	return binary.BigEndian.Uint64(buf[:]) << (at % 8) >> (64 - count)
}

func put(dst []byte, v uint64, size int) {
	switch size {
	case 1:
		dst[0] = byte(v)
	case 2:
		binary.BigEndian.PutUint16(dst, uint16(v))
	case 4:
		binary.BigEndian.PutUint32(dst, uint32(v))
	case 8:
		binary.BigEndian.PutUint64(dst, v)
	}
}
