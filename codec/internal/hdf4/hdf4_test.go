package hdf4

import (
	"errors"
	"testing"

	"varve/codec/internal/corrupt"
)

func TestRLE(t *testing.T) {
	for name, c := range map[string]struct {
		src  string
		size int
		want string // "" for an error
	}{
		"a run and bytes":              {"\x82a\x02xyz", 8, "aaaaaxyz"},
		"more than is wanted":          {"\xffa", 3, "aaa"},
		"bytes more than are wanted":   {"\x05abcdef", 4, "abcd"},
		"what an earlier writer wrote": {"\x80aold", 3, "aaa"},
		"a run without its byte":       {"\x80", 3, ""},
		"missing bytes":                {"\x05abc", 6, ""},
	} {
		dst := make([]byte, c.size)
		n, err := DecodeRLE(dst, []byte(c.src))
		if c.want == "" {
			if !errors.Is(err, corrupt.Err) {
				t.Errorf("%s: %d, %v", name, n, err)
			}
		} else if err != nil || string(dst[:n]) != c.want {
			t.Errorf("%s: %q, %v", name, dst[:n], err)
		}
	}
}

func TestNbit(t *testing.T) {
	src := []byte{0xab, 0xcd, 0x12, 0x30}
	for _, c := range []struct {
		Nbit
		want string
	}{
		{Nbit{Size: 2, First: 11, Bits: 12}, "\x0a\xbc\x0d\x12"},
		{Nbit{Size: 2, First: 11, Bits: 12, ExtendSign: true}, "\xfa\xbc\xfd\x12"},
		{Nbit{Size: 2, First: 11, Bits: 12, FillOnes: true}, "\xfa\xbc\xfd\x12"},
		{Nbit{Size: 1, First: 5, Bits: 4}, "\x28\x2c\x30\x34\x04\x08\x0c\x00"},
		{Nbit{Size: 1, First: 5, Bits: 4, FillOnes: true}, "\xeb\xef\xf3\xf7\xc7\xcb\xcf\xc3"},
		{Nbit{Size: 1, First: 5, Bits: 4, FillOnes: true, ExtendSign: true}, "\xeb\xef\xf3\xf7\x07\x0b\x0f\x03"},
	} {
		dst := make([]byte, len(c.want))
		if n, err := c.Decode(dst, src); err != nil || string(dst[:n]) != c.want {
			t.Errorf("%+v: %x, %v, want %x", c.Nbit, dst[:n], err, c.want)
		}
	}
	if _, err := (Nbit{Size: 2, First: 11, Bits: 12}).Decode(make([]byte, 6), src); !errors.Is(err, corrupt.Err) {
		t.Errorf("missing numbers: %v", err)
	}
	for _, p := range []Nbit{{Size: 3, First: 1, Bits: 1}, {Size: 2, First: 16, Bits: 1}, {Size: 2, First: 3, Bits: 5}, {Size: 8, First: 40, Bits: 33}, {Size: 1, First: 1}} {
		if p.Check() == nil {
			t.Errorf("%+v is accepted", p)
		}
	}
}

func TestSkippingHuffman(t *testing.T) {
	dst := make([]byte, 2)
	// In the initial tree, the leaf of a byte is nine steps from the root: one to the right, then the bits of the
	// byte.
	if n, err := (SkippingHuffman{Size: 2}).Decode(dst, []byte{0xb0, 0xd8, 0x80}); err != nil || string(dst[:n]) != "ab" {
		t.Errorf("%q, %v", dst, err)
	}
	if _, err := (SkippingHuffman{Size: 1}).Decode(make([]byte, 9), []byte{0, 0, 0}); !errors.Is(err, corrupt.Err) {
		t.Errorf("an invalid code of zeros: %v", err)
	}
}
