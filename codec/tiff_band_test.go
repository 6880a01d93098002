package codec

import (
	"encoding/json"
	"errors"
	"testing"
)

// TestTIFFBand decodes each sample of pixels, and refuses configurations and encoding.
func TestTIFFBand(t *testing.T) {
	form := Form{Type: Type{Kind: Uint, Size: 2}, Shape: []int64{2, 2}}
	specs := func(config string) []Spec {
		return []Spec{{Name: "tiff.band", Config: json.RawMessage(config)}, {Name: "bytes", Config: json.RawMessage(`{"endian":"little"}`)}}
	}
	stored := []byte{0, 10, 1, 11, 2, 12, 3, 13, 4, 14, 5, 15, 6, 16, 7, 17, 8, 18, 9, 19, 10, 20, 11, 21}
	for config, want := range map[string]string{
		`{"band":0,"samples":3}`: "\x00\x0a\x03\x0d\x06\x10\x09\x13",
		`{"band":2,"samples":3}`: "\x02\x0c\x05\x0f\x08\x12\x0b\x15",
	} {
		p, err := New(specs(config), form)
		if err != nil {
			t.Fatal(err)
		}
		out := NewElems(form)
		if err := p.Decode(out, stored); err != nil || string(out.Fixed) != want {
			t.Errorf("%s: %x, %v", config, out.Fixed, err)
		}
		if err := p.Decode(out, stored[:23]); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: truncated: %v", config, err)
		}
		if _, err := p.Encode(nil, out); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s: encoded: %v", config, err)
		}
	}
	for _, config := range []string{`{"band":3,"samples":3}`, `{"band":-1,"samples":3}`, `{"band":0,"samples":0}`} {
		if _, err := New(specs(config), form); err == nil {
			t.Errorf("%s is accepted", config)
		}
	}
}
