package zstd

import (
	"encoding/binary"
	"math/bits"

	"varve/codec/internal/corrupt"
)

// streams decodes the four streams of a literals section. Each stream holds a quarter of the literals. Decoding them
// together hides the latency of table lookups. Assembly accesses the fields.
type streams struct {
	table *huffTable
	out   []byte // all literals, and literalRoom more bytes
	src   []byte // all streams
	each  int    // literals per stream, except the last
	done  int    // decoded literals of each stream

	ip   [4]int    // per stream: index in src of the current 8 bytes
	bits [4]uint64 // their bits that are not yet read, the next one highest; the lowest set bit is an end mark
}

const (
	perRound   = 5 // literals per round: 5 codes of 11 bits fit in 64 bits, with up to 7 bits already read
	roundBytes = 7 // maximum number of bytes by which a stream moves in a round
)

// four decodes literals from four streams (RFC 8878, section 4.2.2).
func (d *decoder) four(src []byte) error {
	var readers [4]backward
	if len(src) < 6 || len(d.literals) < 6 {
		return corrupt.Errorf("%d literals in four streams of %d bytes, both must be at least 6", len(d.literals), len(src))
	}
	at := 6
	for i := range readers {
		end := len(src)
		if i < 3 {
			end = at + int(binary.LittleEndian.Uint16(src[2*i:]))
		}
		if end > len(src) {
			return corrupt.Errorf("stream %d of the literals ends at offset %d, but they have %d bytes", i, end, len(src))
		}
		if err := readers[i].begin(src[at:end]); err != nil {
			return err
		}
		at = end
	}
	each := (len(d.literals) + 3) / 4
	done := d.inRounds(&readers, src, each)
	for i := range readers {
		from, to := i*each+done, min((i+1)*each, len(d.literals))
		if err := d.huff.finish(d.literals[from:to], &readers[i]); err != nil {
			return err
		}
	}
	return nil
}

// inRounds decodes from all streams as long as each has enough bytes and literals left. It returns the number of
// decoded literals of each stream.
func (d *decoder) inRounds(readers *[4]backward, src []byte, each int) int {
	s := &d.streams
	*s = streams{table: &d.huff, out: d.scratch[:len(d.literals)+literalRoom], src: src, each: each}
	start := [4]int{}
	at := 6
	for i := range readers {
		r := &readers[i]
		start[i] = at
		at += len(r.src)
		if len(r.src) < 8 {
			return 0
		}
		s.ip[i] = at - 8
		s.bits[i] = (binary.LittleEndian.Uint64(src[at-8:]) | 1) << (8*len(r.src) - r.left)
	}
	last := len(d.literals) - 3*each
	for {
		rounds := (last - s.done) / perRound
		for i := range s.ip {
			rounds = min(rounds, (s.ip[i]-start[i])/roundBytes)
		}
		if rounds <= 0 {
			break
		}
		s.decode(rounds)
	}
	for i := range readers {
		readers[i].left = 8*(s.ip[i]-start[i]+8) - bits.TrailingZeros64(s.bits[i])
	}
	return s.done
}

// portableDecode decodes the given number of rounds.
func (s *streams) portableDecode(rounds int) {
	t := s.table
	for range rounds {
		for i := range s.ip {
			// Unrolled, so that the compiler needs one bounds check for all five literals.
			b := s.bits[i]
			out := s.out[i*s.each+s.done:]
			out = out[:perRound:perRound]
			e := t[b>>(64-maxHuffLog)]
			b <<= e & 63
			out[0] = byte(e >> 8)
			e = t[b>>(64-maxHuffLog)]
			b <<= e & 63
			out[1] = byte(e >> 8)
			e = t[b>>(64-maxHuffLog)]
			b <<= e & 63
			out[2] = byte(e >> 8)
			e = t[b>>(64-maxHuffLog)]
			b <<= e & 63
			out[3] = byte(e >> 8)
			e = t[b>>(64-maxHuffLog)]
			b <<= e & 63
			out[4] = byte(e >> 8)
			used := bits.TrailingZeros64(b)
			s.ip[i] -= used >> 3
			ip := s.ip[i]
			s.bits[i] = (binary.LittleEndian.Uint64(s.src[ip:ip+8:ip+8]) | 1) << (used & 7)
		}
		s.done += perRound
	}
}

// one decodes literals from one stream.
func (t *huffTable) one(out, src []byte) error {
	var r backward
	if err := r.begin(src); err != nil {
		return err
	}
	return t.finish(out, &r)
}

// finish decodes the rest of a stream, which must fill out exactly.
func (t *huffTable) finish(out []byte, r *backward) error {
	for len(out) >= perRound && r.left >= 64 {
		b, o := r.window(), out[:perRound:perRound]
		used := 0
		for i := range o {
			e := t[b>>(64-maxHuffLog)]
			b <<= e & 63
			used += int(e & 63)
			o[i] = byte(e >> 8)
		}
		r.left -= used
		out = out[perRound:]
	}
	for i := range out {
		if r.left <= 0 {
			return corrupt.Errorf("truncated in a stream of literals, %d are missing", len(out)-i)
		}
		e := t[r.window()>>(64-maxHuffLog)]
		r.left -= int(e & 63)
		out[i] = byte(e >> 8)
	}
	if r.left != 0 {
		return corrupt.Errorf("%d bits follow the last literal of a stream, must be 0", r.left)
	}
	return nil
}
