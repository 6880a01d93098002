package codec

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

func TestVLenVectors(t *testing.T) {
	var vectors []struct {
		Codec    string
		Elements []hexBytes
		Stored   hexBytes
	}
	readVectors(t, "vlen.json", &vectors)
	kinds := map[string]Kind{"vlen-utf8": String, "vlen-bytes": Bytes}
	for _, v := range vectors {
		p := mustNew(t, `["`+v.Codec+`"]`, Form{Type: Type{Kind: kinds[v.Codec]}, Shape: []int64{int64(len(v.Elements))}})
		dst := NewElems(p.Form())
		if err := p.Decode(dst, v.Stored); err != nil {
			t.Errorf("%s: %v", v.Codec, err)
			continue
		}
		for i, want := range v.Elements {
			if !bytes.Equal(dst.Var[i], want) {
				t.Errorf("%s: element %d is %q, want %q", v.Codec, i, dst.Var[i], want)
			}
		}
		if stored, err := p.Encode(nil, dst); err != nil || !bytes.Equal(stored, v.Stored) {
			t.Errorf("%s: encoded as %x (%v), want %x", v.Codec, stored, err, v.Stored)
		}
	}
}

func TestVLenRefuses(t *testing.T) {
	text := mustNew(t, `["vlen-utf8"]`, Form{Type: Type{Kind: String}, Shape: []int64{2}})
	for _, tt := range []struct{ name, stored string }{
		{"nothing", ""},
		{"fewer elements", "\x01\x00\x00\x00\x00\x00\x00\x00"},
		{"a huge count", "\xff\xff\xff\xff"},
		{"no length", "\x02\x00\x00\x00\x01\x00\x00\x00a\x00"},
		{"a long element", "\x02\x00\x00\x00\x00\x00\x00\x00\xff\xff\xff\xffab"},
		{"Latin-1", "\x02\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\xe4"},
		{"a surrogate", "\x02\x00\x00\x00\x03\x00\x00\x00\xed\xa0\x80\x00\x00\x00\x00"},
		{"more bytes", "\x02\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00x"},
	} {
		err := text.Decode(NewElems(text.Form()), []byte(tt.stored))
		if !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: error is %v, want ErrCorrupt", tt.name, err)
		}
		checkMessage(t, tt.name, err)
	}
	if _, err := text.Encode(nil, Elems{Var: [][]byte{nil, {0xff}}}); err == nil || !strings.Contains(err.Error(), "element 1") {
		t.Errorf("encoding text that is not UTF-8: %v", err)
	}
	for _, form := range []Form{{Type: Type{Kind: Bytes}, Shape: []int64{1}}, {Type: int16Type, Shape: []int64{1}}} {
		if _, err := New(specs(t, `["vlen-utf8"]`), form); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("vlen-utf8 of %v: %v", form.Type, err)
		}
	}
}

func FuzzVLenDecode(f *testing.F) {
	f.Add([]byte("\x02\x00\x00\x00\x01\x00\x00\x00a\x02\x00\x00\x00\xc3\xa4"), uint16(2), true)
	f.Add([]byte("\x02\x00\x00\x00\x00\x00\x00\x00\xff\xff\xff\xff"), uint16(2), false)
	f.Add([]byte{}, uint16(0), true)
	f.Fuzz(func(t *testing.T, stored []byte, n uint16, isText bool) {
		v := vlen{Bytes}
		if isText {
			v = vlen{String}
		}
		form := Form{Type: Type{Kind: v.kind}, Shape: []int64{int64(n)}}
		dst := NewElems(form)
		if err := v.Decode(dst, stored, form); err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Fatalf("%v: not marked as corrupt", err)
			}
			return
		}
		again, err := v.Encode(nil, dst, form)
		if err != nil || !bytes.Equal(again, stored) {
			t.Fatalf("encoded again: %x (%v), want %x", again, err, stored)
		}
	})
}
