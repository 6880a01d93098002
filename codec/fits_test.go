package codec

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"varve/grid"
)

// TestFITSConfigurations checks that FITS codecs refuse wrong configurations when they are made.
func TestFITSConfigurations(t *testing.T) {
	bytesOf := []Spec{{Name: "bytes", Config: []byte(`{"endian":"big"}`)}}
	const table = `"rows":4,"row":24,"heap":96,"tile":[1,4],"coder":"GZIP_1","method":"NO_DITHER","data":{"at":0,"wide":false,"size":1},"scale":{"kind":"D","at":8}`
	for _, c := range []struct {
		name, config string
		form         Form
	}{
		{"fits.rice", `{"bytes":3,"size":2}`, Form{Type: int16Type, Shape: []int64{4}}},
		{"fits.rice", `{"bytes":2,"size":2,"block":"x"}`, Form{Type: int16Type, Shape: []int64{4}}},
		{"fits.plio", `{"size":8}`, Form{Type: int16Type, Shape: []int64{4}}},
		{"fits.hcompress", `{}`, Form{Type: int16Type, Shape: []int64{4}}},
		{"fits.quantized", `{` + table + `}`, Form{Type: float32Type, Shape: []int64{4, 4}}},
		{"fits.quantized", `{` + table + `,"zero":{"all":"1"},"smooth":1}`, Form{Type: float32Type, Shape: []int64{4, 4}}},
		{"fits.quantized", `{` + table + `,"zero":{"all":"1"}}`, Form{Type: int16Type, Shape: []int64{4, 4}}},
		{"fits.quantized", `{` + table + `,"zero":{"all":"1"}}`, Form{Type: float32Type, Shape: []int64{4}}},
	} {
		specs := []Spec{{Name: c.name, Config: []byte(c.config)}}
		if c.name != "fits.quantized" {
			specs = append(bytesOf, specs...)
		}
		if _, err := New(specs, c.form); err == nil {
			t.Errorf("%s %s: accepted", c.name, c.config)
		} else {
			checkMessage(t, fmt.Sprint(c.name, " ", c.config, " ", c.form.Type, c.form.Shape), err)
		}
	}
}

// TestFITSOnlyDecodes checks that FITS codecs do not encode.
func TestFITSOnlyDecodes(t *testing.T) {
	for _, name := range []string{"fits.rice", "fits.plio", "fits.hcompress", "fits.quantized"} {
		p, _ := sample(t, name)
		if _, err := p.Encode(nil, NewElems(p.Form())); !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// counted is a stored chunk that counts the bytes read from it.
type counted struct {
	Memory
	read int64
}

func (c *counted) ReadRanges(ctx context.Context, ranges []Range, out [][]byte) error {
	for _, r := range ranges {
		c.read += r.Length
	}
	return c.Memory.ReadRanges(ctx, ranges, out)
}

// TestFITSRegions checks that a region of an image of quantized floats equals that part of the
// decoded image, and that only the rows and the intersecting tiles are read.
func TestFITSRegions(t *testing.T) {
	recorded, err := os.ReadFile("internal/fits/testdata/tables.json")
	if err != nil {
		t.Fatal(err)
	}
	var tables []struct {
		Name         string
		Shape        []int64
		Size         int
		Config       json.RawMessage
		Stored, Want []byte
	}
	if err := json.Unmarshal(recorded, &tables); err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for _, c := range tables {
		form := Form{Type: Type{Kind: Float, Size: c.Size}, Shape: c.Shape}
		p, err := New([]Spec{{Name: "fits.quantized", Config: c.Config}}, form)
		if err != nil {
			t.Fatal(err)
		}
		whole := NewElems(form)
		if err := p.Decode(whole, c.Stored); err != nil || !bytes.Equal(whole.Fixed, c.Want) {
			t.Fatalf("%s: %v", c.Name, err)
		}
		for range 50 {
			r := grid.MakeRegion(2)
			for k, n := range c.Shape {
				r.Origin[k] = rng.Int64N(n)
				r.Shape[k] = 1 + rng.Int64N(n-r.Origin[k])
			}
			part := Form{Type: form.Type, Shape: r.Shape}
			got, want := NewElems(part), NewElems(part)
			if err := (window{want, r, c.Size}).copyFrom(windowOf(whole, form), r); err != nil {
				t.Fatal(err)
			}
			if err := p.DecodeRegion(context.Background(), Memory(c.Stored), r, got); err != nil || !bytes.Equal(got.Fixed, want.Fixed) {
				t.Fatalf("%s: %v: %v", c.Name, r, err)
			}
		}
		stored := counted{Memory: c.Stored}
		one := NewElems(Form{Type: form.Type, Shape: []int64{1, 1}})
		if err := p.DecodeRegion(context.Background(), &stored, grid.Region{Origin: []int64{11, 3}, Shape: []int64{1, 1}}, one); err != nil || stored.read >= int64(len(c.Stored))/2 {
			t.Errorf("%s: one element takes %d bytes of %d, %v", c.Name, stored.read, len(c.Stored), err)
		}
		for n := range len(c.Stored) { // cut off anywhere
			r := grid.Region{Origin: []int64{5, 0}, Shape: []int64{7, 20}}
			if err := p.DecodeRegion(context.Background(), Memory(c.Stored[:n]), r, NewElems(Form{Type: form.Type, Shape: r.Shape})); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "fits.quantized") {
				t.Fatalf("%s: %d bytes: %v", c.Name, n, err)
			}
		}
	}
}
