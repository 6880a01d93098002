package codec

import (
	"bytes"
	"errors"
	"testing"
)

const packBitsChain = `[{"name":"numcodecs.packbits","configuration":{}},"bytes"]`

func boolForm(n int) Form {
	return Form{Type: Type{Kind: Bool, Size: 1}, Shape: []int64{int64(n)}}
}

func TestPack8(t *testing.T) {
	for b := range 256 {
		var bools [8]byte
		for i := range bools {
			bools[i] = byte(b) << i & 0x80 // any byte but 0 is true
		}
		if got := pack8(bools[:]); got != byte(b) {
			t.Errorf("%v packed is %08b, want %08b", bools, got, b)
		}
		v := unpack8(byte(b))
		for i := range bools {
			if got, want := byte(v>>(8*i)), bools[i]>>7; got != want {
				t.Errorf("bit %d of %08b unpacked is %d, want %d", i, b, got, want)
			}
		}
	}
}

func TestPackBitsRefuses(t *testing.T) {
	p := mustNew(t, packBitsChain, boolForm(11))
	for _, tt := range []struct {
		name   string
		stored []byte
	}{
		{"other padding", []byte{4, 0, 0}},
		{"too short", []byte{5, 0}},
		{"too long", []byte{5, 0, 0, 0}},
	} {
		err := p.Decode(NewElems(p.Form()), tt.stored)
		if !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: error is %v, want ErrCorrupt", tt.name, err)
		}
		checkMessage(t, tt.name, err)
	}
	if err := p.Decode(NewElems(p.Form()), []byte{5, 0xff, 0xff}); err != nil {
		t.Errorf("padding that is not 0: %v", err)
	}
	if _, err := New(specs(t, packBitsChain), Form{Type: int16Type, Shape: []int64{1}}); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("packed int16: %v", err)
	}
}

func FuzzPackBits(f *testing.F) {
	f.Add([]byte{5, 0xff, 0xe0}, uint16(11))
	f.Add([]byte{0}, uint16(0))
	f.Add([]byte{9, 1}, uint16(8))
	f.Fuzz(func(t *testing.T, stored []byte, n uint16) {
		p := mustNew(t, packBitsChain, boolForm(int(n)))
		dst := NewElems(p.Form())
		if err := p.Decode(dst, stored); err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Fatalf("%v: not marked as corrupt", err)
			}
			return
		}
		again, err := p.Encode(nil, dst)
		if err != nil {
			t.Fatal(err)
		}
		if padding := stored[0]; padding > 0 {
			stored = bytes.Clone(stored)
			stored[len(stored)-1] &= 0xff << padding
		}
		if !bytes.Equal(again, stored) {
			t.Fatalf("encoded again: %x, want %x", again, stored)
		}
	})
}
