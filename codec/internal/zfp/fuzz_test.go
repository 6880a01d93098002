package zfp

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"varve/codec/internal/corrupt"
	"varve/codec/internal/vectors"
)

func words(b []byte) []uint32 {
	values := make([]uint32, len(b)/4)
	for i := range values {
		values[i] = binary.LittleEndian.Uint32(b[4*i:])
	}
	return values
}

func FuzzDecode(f *testing.F) {
	for _, v := range vectors.Parse[vector](f, recorded) {
		var b []byte
		for _, x := range v.Values {
			b = binary.LittleEndian.AppendUint32(b, x)
		}
		f.Add(b, v.Stored)
	}
	f.Fuzz(func(t *testing.T, values, src []byte) {
		const room, guard = 4096, 0xa5
		buf := bytes.Repeat([]byte{guard}, room+16)
		n, err := (&vector{Values: words(values)}).tryDecode(buf[:room], src)
		if err != nil && !errors.Is(err, corrupt.Err) && !errors.Is(err, errors.ErrUnsupported) {
			t.Fatalf("%v is neither corrupt nor unsupported", err)
		}
		if n > room || !bytes.Equal(buf[room:], bytes.Repeat([]byte{guard}, 16)) {
			t.Fatalf("%d bytes, past the end", n)
		}
		if err != nil && n != 0 {
			t.Fatalf("%d bytes with %v", n, err)
		}
	})
}

// FuzzBlock compares the decoder with the bit-by-bit decoder for any bits.
func FuzzBlock(f *testing.F) {
	for _, v := range vectors.Parse[vector](f, recorded) {
		if a, err := Parse(v.Values); err == nil {
			l := a.limits
			f.Add(v.Stored, uint8(a.dims), uint8(a.kind), uint16(l.minBits), uint16(l.maxBits), uint8(l.maxPrec), int16(l.minExp))
		}
	}
	f.Fuzz(func(t *testing.T, src []byte, dims, k uint8, minBits, maxBits uint16, maxPrec uint8, minExp int16) {
		checkBlock(t, src, &Array{
			dims: int(dims%4) + 1,
			kind: kind(k % 4),
			limits: limits{
				minBits: uint32(min(minBits, maxBits)), maxBits: uint32(maxBits),
				maxPrec: int(maxPrec%maxPlanes) + 1, minExp: int(minExp),
			},
		})
	})
}
