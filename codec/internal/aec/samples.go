package aec

import "varve/codec/internal/corrupt"

// The bits of Samples.Flags, which are libaec's and GRIB's. The layout of decoded samples in memory
// (bits 2 and 4) is the caller's.
const (
	FlagSigned     = 1  // samples are of two's complement
	FlagPreprocess = 8  // the preprocessor is on
	FlagRestricted = 16 // samples of up to 4 bits have shorter options
	FlagPadded     = 32 // an interval ends at a whole byte
)

// maxInterval is the most blocks between references that the standard allows.
const maxInterval = 4096

// Samples are the parameters of a stream without szip's additions: samples of any width are
// coded as they are, and there is nothing between the intervals.
type Samples struct {
	Flags    int
	Bits     int // of a sample, 1 to 32
	Block    int // samples in a block
	Interval int // blocks from one reference to the next
}

// Check reports what is wrong with the parameters.
func (s Samples) Check() error {
	switch {
	case s.Bits < 1 || s.Bits > 32:
		return corrupt.Errorf("aec: %d bits per sample, which should be 1 to 32", s.Bits)
	case s.Block < 2 || s.Block > maxBlock || s.Block%2 != 0:
		return corrupt.Errorf("aec: %d samples per block, which should be even and 2 to %d", s.Block, maxBlock)
	case s.Interval < 1 || s.Interval > maxInterval:
		return corrupt.Errorf("aec: %d blocks per interval, which should be 1 to %d", s.Interval, maxInterval)
	case s.Flags&FlagRestricted != 0 && s.Bits > 4 && s.Bits <= 8:
		return corrupt.Errorf("aec: restricted options of %d bits per sample, which should be at most 4", s.Bits)
	}
	return nil
}

// DecodeSamples decodes n samples and hands them to put, an interval at a time. Signed ones have
// their sign in all 32 bits. What put gets is its own until it returns.
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
			d.align()
		}
	}
	return nil
}

// restoreSigned undoes the preprocessor for samples of two's complement.
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

// align skips to the next whole byte.
func (r *bitReader) align() {
	skip := r.n & 7
	r.acc <<= skip
	r.n -= skip
}
