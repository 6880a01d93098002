package codec

import (
	"bytes"
	"errors"
	"testing"
)

// FuzzDecode decodes arbitrary bytes with each codec of the table. There must be no panic
// and no write past the elements, every error must have a kind, and decoded elements that
// can be encoded must decode to the same again.
func FuzzDecode(f *testing.F) {
	infos := Table()
	for i, info := range infos {
		p, _ := sample(f, info.Name)
		f.Add(uint8(i), []byte{})
		e := NewElems(p.Form())
		for k := range e.Fixed {
			e.Fixed[k] = byte(k / 7 % 2)
		}
		if p.CanEncode() != nil {
			continue // FuzzFilters has what others encoded
		}
		stored, err := p.Encode(nil, e)
		if err != nil {
			f.Fatalf("%s: %v", info.Name, err)
		}
		f.Add(uint8(i), stored)
	}
	f.Fuzz(func(t *testing.T, i uint8, stored []byte) {
		name := infos[int(i)%len(infos)].Name
		p, _ := sample(t, name)
		e := NewElems(p.Form())
		room := bytes.Repeat([]byte{0xa5}, len(e.Fixed)+32)
		e.Fixed = room[:len(e.Fixed):len(e.Fixed)]
		err := p.Decode(e, stored)
		if err != nil && !errors.Is(err, ErrCorrupt) && !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s: error %v wraps neither ErrCorrupt nor ErrUnsupported", name, err)
		}
		if !bytes.Equal(room[len(e.Fixed):], bytes.Repeat([]byte{0xa5}, 32)) {
			t.Errorf("%s: bytes after the elements were written", name)
		}
		if err == nil && p.CanEncode() == nil {
			decodesAgain(t, name, p, e)
		}
	})
}

// decodesAgain encodes decoded elements. A codec must refuse elements that it cannot
// encode instead of changing them.
func decodesAgain(t *testing.T, name string, p *Pipeline, e Elems) {
	stored, err := p.Encode(nil, e)
	if err != nil {
		return
	}
	again := NewElems(p.Form())
	if err := p.Decode(again, stored); err != nil {
		t.Errorf("%s: what it encoded does not decode: %v", name, err)
	}
	if len(p.arrayCodecs) == 0 && !bytes.Equal(again.Fixed, e.Fixed) {
		t.Errorf("%s: elements changed on the way", name)
	}
}

// FuzzSpecs makes pipelines of arbitrary documents.
func FuzzSpecs(f *testing.F) {
	for name, s := range samples {
		f.Add(name, s.config)
	}
	f.Fuzz(func(t *testing.T, name, config string) {
		chain := []Spec{{Name: name, Config: []byte(config)}, {Name: "bytes", Config: []byte(`{"endian":"little"}`)}}
		for _, specs := range [][]Spec{chain, chain[:1], {chain[1], chain[0]}} {
			p, err := New(specs, Form{Type: float32Type, Shape: []int64{4, 4}})
			if (err == nil) != (p != nil) {
				t.Errorf("%s %s: pipeline %v with error %v", name, config, p, err)
			}
		}
	})
}
