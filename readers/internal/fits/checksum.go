package fits

import (
	"context"
	"encoding/binary"
	"math/bits"
	"strconv"

	"varve/readers"
)

// sums are the checksums of an HDU (section 4.4.2.7 and appendix J).
//
//	├ header: n × 2880 ┼ data: n × 2880 ┤
//	                   └─── DATASUM ────┘   the sum in decimal, as a string
//	└──────────── CHECKSUM ─────────────┘   16 characters that make the sum of the HDU −0
//
// A sum is the ones' complement sum of big-endian words of 32 bits, the padding included.
type sums struct {
	number           int
	start, data, end int64
	dataSum          uint32
	hasData, hasAll  bool // DATASUM and CHECKSUM are there
}

// minusZero is the sum of an HDU with the right CHECKSUM.
const minusZero = 1<<32 - 1

// addSums keeps the checksums of an HDU, if it has any. A value that is empty, or a CHECKSUM of zeros, means that there is none.
func (b *builder) addSums(u *hdu) {
	s := sums{number: u.number, start: u.start, data: u.end, end: u.end + int64(u.paddedSize)}
	if n, err := strconv.ParseUint(u.string("DATASUM"), 10, 32); err == nil {
		s.dataSum, s.hasData = uint32(n), true
	}
	all := u.string("CHECKSUM")
	s.hasAll = all != "" && all != "0000000000000000"
	if s.hasData || s.hasAll {
		b.sums = append(b.sums, s)
	}
}

// verify compares the checksums of all HDUs.
func (b *builder) verify(ctx context.Context) error {
	for _, s := range b.sums {
		if err := b.verifyUnit(ctx, &s); err != nil {
			return err
		}
	}
	return nil
}

func (b *builder) verifyUnit(ctx context.Context, s *sums) error {
	wrong := func(at int64, err error) error { return &readers.Error{Source: b.src.Name(), Offset: at, Err: err} }
	if s.end > b.src.Size() {
		return wrong(s.data, readers.Corruptf("file is truncated: the data of HDU %d end at offset %d, but the file at %d; fetch it again", s.number, s.end, b.src.Size()))
	}
	data, err := b.sum(ctx, s.data, s.end)
	if err != nil {
		return err
	}
	if s.hasData && !equalSums(data, s.dataSum) {
		return wrong(s.data, readers.Corruptf("the data of HDU %d have the sum %d, but DATASUM is %d; fetch the file again", s.number, data, s.dataSum))
	}
	if !s.hasAll {
		return nil
	}
	head, err := b.sum(ctx, s.start, s.data)
	if err != nil {
		return err
	}
	if all := addSum(head, data); !equalSums(all, minusZero) {
		return wrong(s.start, readers.Corruptf("HDU %d has the sum %#08x instead of %#08x, so its CHECKSUM is wrong; fetch the file again", s.number, all, uint32(minusZero)))
	}
	return nil
}

// sum returns the sum of the words from one offset to another. They are whole blocks.
func (b *builder) sum(ctx context.Context, from, to int64) (sum uint32, err error) {
	room := make([]byte, min(to-from, sumBlock))
	for at := from; at < to; at += int64(len(room)) {
		part := room[:min(int64(len(room)), to-at)]
		if _, err := b.src.ReadAt(ctx, part, at); err != nil {
			return 0, err
		}
		total := uint64(0)
		for ; len(part) >= 4; part = part[4:] {
			total += uint64(binary.BigEndian.Uint32(part))
		}
		sum = addSum(sum, addSum(uint32(total), uint32(total>>32)))
	}
	return sum, nil
}

// sumBlock is the number of bytes that are summed at once: whole blocks, so few that the words do not overflow 64 bits.
const sumBlock = 364 * blockSize

// addSum adds in ones' complement.
func addSum(a, b uint32) uint32 {
	sum, carry := bits.Add32(a, b, 0)
	return sum + carry
}

// equalSums reports whether sums are equal. In ones' complement, all bits set is −0.
func equalSums(a, b uint32) bool { return a%minusZero == b%minusZero }
