package hdf4

import (
	"encoding/binary"
	"fmt"

	"varve/codec/internal/bitstream"
	"varve/codec/internal/corrupt"
)

// Nbit holds the parameters of HDF4's n-bit compression.
type Nbit struct {
	Size       int  // bytes per number
	First      int  // the highest stored bit of a number, counted from the lowest bit, 0
	Bits       int  // number of stored bits
	ExtendSign bool // bits above First become copies of it
	FillOnes   bool // other bits that are not stored become ones, not zeros
}

// Check returns an error unless the parameters are valid.
func (p Nbit) Check() error {
	switch p.Size {
	case 1, 2, 4, 8:
	default:
		return fmt.Errorf("numbers of %d bytes, must be 1, 2, 4 or 8", p.Size)
	}
	if p.First < 0 || p.First >= 8*p.Size || p.Bits < 1 || p.Bits > min(p.First+1, 32) {
		return fmt.Errorf("%d bits from bit %d down, must be 1 to 32 bits of a number of %d bytes", p.Bits, p.First, p.Size)
	}
	return nil
}

// Decode decodes src to the beginning of dst and returns the decoded length, which is a multiple of
// Size. Bytes of src after the last number are ignored.
func (p Nbit) Decode(dst, src []byte) (int, error) {
	low := p.First - p.Bits + 1
	field := (uint64(1)<<p.Bits - 1) << low
	above := ^uint64(0) << p.First << 1
	fill := uint64(0)
	if p.FillOnes {
		fill = ^field
	}
	n := len(dst) / p.Size
	if have := 8 * len(src) / p.Bits; have < n {
		return 0, corrupt.Errorf("hdf4.nbit: %d bytes hold %d numbers of %d bits, %d are expected", len(src), have, p.Bits, n)
	}
	at := 0 // in bits
	for i := range n {
		v := fill | bitstream.Field(src, at, uint(p.Bits))<<low
		at += p.Bits
		if p.ExtendSign { // overrides FillOnes above the stored bits
			v &^= above
			if v>>p.First&1 != 0 {
				v |= above
			}
		}
		put(dst[i*p.Size:], v, p.Size)
	}
	return n * p.Size, nil
}

// put writes the low size bytes of v, big-endian.
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
