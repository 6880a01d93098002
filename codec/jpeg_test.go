package codec

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"testing"
)

// jpegSample returns a tile of a TIFF file with shared tables, from the samples of codec/internal/jpeg.
func jpegSample(t *testing.T) (tables, data []byte, shape []int64) {
	t.Helper()
	text, err := os.ReadFile("internal/jpeg/testdata/samples.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		var s struct {
			Name          string
			Rows, Columns int64
			Tables, Data  []byte
		}
		if err := json.Unmarshal(line, &s); err != nil {
			t.Fatal(err)
		}
		if s.Name == "tiff 3 YCBCR True 3, 0" {
			return s.Tables, s.Data, []int64{s.Rows, s.Columns, 3}
		}
	}
	t.Fatal("no sample")
	return nil, nil, nil
}

// TestJPEG decodes a chunk with shared tables, with and without a header that chunks share, and to other colours.
func TestJPEG(t *testing.T) {
	tables, data, shape := jpegSample(t)
	decode := func(config map[string]any, data []byte, shape []int64, size int) (Elems, error) {
		t.Helper()
		text, err := json.Marshal(config)
		if err != nil {
			t.Fatal(err)
		}
		form := Form{Type: Type{Kind: Uint, Size: size}, Shape: shape}
		p, err := New([]Spec{{Name: "imagecodecs_jpeg", Config: text}}, form)
		if err != nil {
			return Elems{}, err
		}
		e := NewElems(form)
		return e, p.Decode(e, data)
	}
	shared := base64.StdEncoding.EncodeToString(tables)
	want, err := decode(map[string]any{"tables": shared, "colorspace_jpeg": "YCbCr", "colorspace_data": "RGB", "level": 75, "fancyupsampling": nil}, data, shape, 1)
	if err != nil {
		t.Fatal(err)
	}
	header := base64.StdEncoding.EncodeToString(data[:30])
	got, err := decode(map[string]any{"tables": shared, "header": header, "colorspace_jpeg": "YCBCR", "colorspace_data": "RGB"}, data[30:len(data)-2], shape, 1)
	if err != nil || !bytes.Equal(got.Fixed, want.Fixed) {
		t.Errorf("with a header: %v, or other elements", err)
	}
	if _, err = decode(map[string]any{"tables": shared, "colorspace_data": "GRAYSCALE"}, data, shape[:2], 1); err != nil {
		t.Errorf("to gray: %v", err)
	}
	for name, config := range map[string]map[string]any{
		"no tables":          {},
		"tables not base 64": {"tables": "?"},
		"tables not JPEG":    {"tables": "AAAA"},
		"RGBA":               {"tables": shared, "colorspace_data": "EXT_RGBA"},
		"no interpolation":   {"tables": shared, "fancyupsampling": false},
		"another field":      {"tables": shared, "quality": 3},
	} {
		if _, err := decode(config, data, shape, 1); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := decode(map[string]any{"tables": shared}, data, shape, 2); !errors.Is(err, ErrCorrupt) {
		t.Errorf("8 bits for uint16: %v", err)
	}
	if _, err := decode(map[string]any{"lossless": true}, data, shape, 1); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("lossless: %v", err)
	}
}
