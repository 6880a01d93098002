package aec

import "varve/codec/internal/corrupt"

// The bits of Samples.Flags, as in libaec and GRIB. Bits 2 and 4, the layout of decoded samples in
// memory, are up to the caller.
const (
	FlagSigned     = 1  // samples are in two's complement
	FlagPreprocess = 8  // the preprocessor is on
	FlagRestricted = 16 // samples of up to 4 bits have shorter options
	FlagPadded     = 32 // an interval ends at a byte boundary
)

// maxInterval is the standard's maximum number of blocks from one reference to the next.
const maxInterval = 4096

// Samples are the parameters of a stream without szip's additions: samples of 32 bits are not split
// into bytes, and intervals are not padded to whole blocks.
type Samples struct {
	Flags    int
	Bits     int // bits per sample, 1 to 32
	Block    int // samples per block
	Interval int // blocks from one reference to the next
}

// Check returns an error if a parameter is out of range.
func (s Samples) Check() error {
	switch {
	case s.Bits < 1 || s.Bits > 32:
		return corrupt.Errorf("aec: %d bits per sample, must be 1 to 32", s.Bits)
	case s.Block < 2 || s.Block > maxBlock || s.Block%2 != 0:
		return corrupt.Errorf("aec: %d samples per block, must be even and 2 to %d", s.Block, maxBlock)
	case s.Interval < 1 || s.Interval > maxInterval:
		return corrupt.Errorf("aec: %d blocks per interval, must be 1 to %d", s.Interval, maxInterval)
	case s.Flags&FlagRestricted != 0 && s.Bits > 4 && s.Bits <= 8:
		return corrupt.Errorf("aec: restricted options with %d bits per sample, must be at most 4", s.Bits)
	}
	return nil
}

// DecodeSamples decodes n samples and passes them to put, one interval at a time. Signed samples are
// extended to 32 bits. The slice that put gets is valid until put returns.
func DecodeSamples(src []byte, n int, s Samples, put func([]uint32)) error {
	if err := s.Check(); err != nil {
		return err
	}
	d := decoders.Get().(*decoder)
	defer decoders.Put(d)
	defer d.release()
	options := uint32(0)
	if s.Flags&FlagPreprocess != 0 {
		options = OptionNeighbour
	}
	d.start(src, Params{options, s.Block, s.Bits, s.Block * s.Interval}, uint(s.Bits))
	if s.Flags&FlagRestricted != 0 && s.Bits <= 4 {
		d.id = uint(s.Bits+1) / 2
	}
	d.isSigned = s.Flags&FlagSigned != 0
	for n > 0 {
		line, err := d.scanline(min(n, s.Block*s.Interval))
		if err != nil {
			return err
		}
		put(line)
		n -= len(line)
		if s.Flags&FlagPadded != 0 {
			d.Align()
		}
	}
	return nil
}

// restoreSigned is restore for samples of the given number of bits in two's complement.
func restoreSigned(line []uint32, bits uint) {
	sign := uint32(1) << (bits - 1)
	top := sign - 1
	last := line[0]&(sign|top) ^ sign - sign
	line[0] = last
	for i, folded := range line[1:] {
		half := folded>>1 + folded&1
		switch negative := int32(last) < 0; {
		case negative && half <= top+last+1, !negative && half <= top-last:
			last += folded>>1 ^ -(folded & 1)
		case negative:
			last = folded - top - 1
		default:
			last = top - folded
		}
		line[i+1] = last
	}
}
