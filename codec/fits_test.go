package codec

import (
	"errors"
	"strings"
	"testing"
)

// TestFITSConfigurations: what codecs of FITS are told is looked at when they are made.
func TestFITSConfigurations(t *testing.T) {
	bytesOf := []Spec{{Name: "bytes", Config: []byte(`{"endian":"big"}`)}}
	const table = `"rows":4,"row":24,"heap":96,"tile":[1,4],"coder":"GZIP_1","method":"NO_DITHER","data":{"at":0,"wide":false,"size":1},"scale":{"kind":"D","at":8}`
	for _, c := range []struct {
		name, config, says string
		form               Form
	}{
		{"fits.rice", `{"bytes":3,"size":2}`, "RICE_1 of integers of 3 bytes", Form{Type: int16Type, Shape: []int64{4}}},
		{"fits.rice", `{"bytes":2,"size":2,"block":"x"}`, `"x" is not an integer`, Form{Type: int16Type, Shape: []int64{4}}},
		{"fits.plio", `{"size":8}`, "PLIO_1 of images of 8 bytes", Form{Type: int16Type, Shape: []int64{4}}},
		{"fits.hcompress", `{}`, "HCOMPRESS_1 of images of 0 bytes", Form{Type: int16Type, Shape: []int64{4}}},
		{"fits.quantized", `{` + table + `}`, "there is no scale, or no zero", Form{Type: float32Type, Shape: []int64{4, 4}}},
		{"fits.quantized", `{` + table + `,"zero":{"all":"1"},"smooth":1}`, `unknown field "smooth"`, Form{Type: float32Type, Shape: []int64{4, 4}}},
		{"fits.quantized", `{` + table + `,"zero":{"all":"1"}}`, "not float32 or float64", Form{Type: int16Type, Shape: []int64{4, 4}}},
		{"fits.quantized", `{` + table + `,"zero":{"all":"1"}}`, "tiles of shape [1 4] of a chunk of shape [4]", Form{Type: float32Type, Shape: []int64{4}}},
	} {
		specs := []Spec{{Name: c.name, Config: []byte(c.config)}}
		if c.name != "fits.quantized" {
			specs = append(bytesOf, specs...)
		}
		if _, err := New(specs, c.form); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s %s: %v, want %q", c.name, c.config, err, c.says)
		}
	}
}

// TestFITSOnlyDecodes: nothing is written as FITS does.
func TestFITSOnlyDecodes(t *testing.T) {
	for _, name := range []string{"fits.rice", "fits.plio", "fits.hcompress", "fits.quantized"} {
		p, _ := sample(t, name)
		if _, err := p.Encode(nil, NewElems(p.Form())); !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
