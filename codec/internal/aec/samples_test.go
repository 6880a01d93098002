package aec

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"varve/codec/internal/corrupt"
	"varve/fixtures/soak"
)

// bitWriter writes bits, most significant first.
type bitWriter struct {
	out  []byte
	free int
}

func (w *bitWriter) put(v uint32, n int) {
	for n--; n >= 0; n-- {
		if w.free == 0 {
			w.out, w.free = append(w.out, 0), 8
		}
		w.free--
		w.out[len(w.out)-1] |= byte(v>>n&1) << w.free
	}
}

// encodeSamples encodes every block with the option without compression, whose number has all bits set. If the
// preprocessor is on, it is applied first.
func encodeSamples(samples []uint32, s Samples, id int) []byte {
	var w bitWriter
	mask := uint32(1)<<s.Bits - 1
	for interval := range slices.Chunk(samples, s.Block*s.Interval) {
		coded := slices.Clone(interval)
		if s.Flags&FlagPreprocess != 0 {
			for i := 1; i < len(coded); i++ {
				coded[i] = fold(interval[i-1], interval[i], s)
			}
		}
		for block := range slices.Chunk(coded, s.Block) {
			w.put(1<<id-1, id)
			for _, v := range block {
				w.put(v&mask, s.Bits)
			}
			w.put(0, s.Bits*(s.Block-len(block)))
		}
		if s.Flags&FlagPadded != 0 {
			w.free = 0
		}
	}
	return w.out
}

// fold is the preprocessor: it maps small positive and negative differences to small numbers (4.3 of the
// standard).
func fold(last, v uint32, s Samples) uint32 {
	low, high := int64(0), int64(1)<<s.Bits-1
	a, b := int64(last), int64(v)
	if s.Flags&FlagSigned != 0 {
		low, high = -int64(1)<<(s.Bits-1), int64(1)<<(s.Bits-1)-1
		a, b = int64(int32(last)), int64(int32(v))
	}
	distance, theta := b-a, min(a-low, high-a)
	switch {
	case 0 <= distance && distance <= theta:
		return uint32(2 * distance)
	case -theta <= distance && distance < 0:
		return uint32(-2*distance - 1)
	default:
		return uint32(theta + max(distance, -distance))
	}
}

func TestDecodeSamples(t *testing.T) {
	seed := soak.Seed(t)
	rng := rand.New(rand.NewPCG(seed, 5))
	for bits := 1; bits <= 32; bits++ {
		for _, flags := range []int{0, FlagPreprocess, FlagPreprocess | FlagSigned, FlagPadded, FlagPreprocess | FlagRestricted | FlagPadded} {
			s := Samples{Flags: flags, Bits: bits, Block: 8, Interval: 1 + rng.IntN(5)}
			id := 3
			switch {
			case bits > 16:
				id = 5
			case bits > 8:
				id = 4
			case flags&FlagRestricted != 0 && bits > 4:
				continue
			case flags&FlagRestricted != 0:
				id = (bits + 1) / 2
			}
			samples := make([]uint32, 1+rng.IntN(200))
			for i := range samples {
				samples[i] = uint32(rng.Uint64() & (1<<bits - 1))
				if flags&FlagSigned != 0 {
					samples[i] = uint32(int32(samples[i]<<(32-bits)) >> (32 - bits))
				}
			}
			var got []uint32
			err := DecodeSamples(encodeSamples(samples, s, id), len(samples), s, func(line []uint32) { got = append(got, line...) })
			if err != nil || !slices.Equal(got, samples) {
				t.Fatalf("seed %d, %+v: %v\ngot  %x\nwant %x", seed, s, err, got, samples)
			}
		}
	}
}

func TestDecodeSamplesRefuses(t *testing.T) {
	for _, s := range []Samples{
		{Bits: 0, Block: 8, Interval: 1},
		{Bits: 33, Block: 8, Interval: 1},
		{Bits: 8, Block: 0, Interval: 1},
		{Bits: 8, Block: 7, Interval: 1},
		{Bits: 8, Block: 66, Interval: 1},
		{Bits: 8, Block: 8, Interval: 0},
		{Bits: 8, Block: 8, Interval: maxInterval + 1},
		{Bits: 8, Block: 8, Interval: 1, Flags: FlagRestricted},
		{Bits: 8, Block: 8, Interval: 1}, // truncated
	} {
		if err := DecodeSamples([]byte{0xff, 1}, 8, s, func([]uint32) {}); !errors.Is(err, corrupt.Err) {
			t.Errorf("%+v: %v, want corrupt", s, err)
		}
	}
}

func FuzzDecodeSamples(f *testing.F) {
	f.Add([]byte{0xe1, 2, 3, 4, 5, 6, 7, 8, 9}, uint8(8), uint8(8), uint16(2), uint8(8))
	f.Add([]byte{0x21, 0xff, 0xff, 0xff, 5, 6, 7, 8, 9}, uint8(32), uint8(32), uint16(128), uint8(FlagPreprocess|FlagSigned|FlagPadded))
	f.Add([]byte{0, 0xff, 0xff}, uint8(4), uint8(16), uint16(9), uint8(FlagRestricted))
	f.Fuzz(func(t *testing.T, src []byte, bits, block uint8, interval uint16, flags uint8) {
		const room = 1 << 12
		n := 0
		err := DecodeSamples(src, room, Samples{int(flags), int(bits), int(block), int(interval)}, func(line []uint32) { n += len(line) })
		if err != nil && !errors.Is(err, corrupt.Err) {
			t.Fatalf("%v is not corrupt", err)
		}
		if n > room || err == nil && n < room {
			t.Fatalf("%d samples of %d, %v", n, room, err)
		}
	})
}
