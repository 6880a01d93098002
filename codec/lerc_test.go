package codec

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"testing"

	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

// TestLERC decodes chunks of GDAL and imagecodecs as they are and with a compression around them.
func TestLERC(t *testing.T) {
	f, err := os.Open("internal/lerc/testdata/samples.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	types := []Type{{Kind: Int, Size: 1}, {Kind: Uint, Size: 1}, {Kind: Int, Size: 2}, {Kind: Uint, Size: 2}, {Kind: Int, Size: 4}, {Kind: Uint, Size: 4}, {Kind: Float, Size: 4}, {Kind: Float, Size: 8}}
	zstdWriter, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var s struct {
			Name         string
			Type         int
			Shape        []int64
			TIFF, Big    bool
			Data, Pixels []byte
		}
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			t.Fatal(err)
		}
		r, err := zlib.NewReader(bytes.NewReader(s.Pixels))
		if err != nil {
			t.Fatal(err)
		}
		want, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		spec := Spec{Name: "imagecodecs_lerc", Config: []byte(`{"level":0.5,"version":4,"planar":true,"compression":"zstd"}`)}
		if s.TIFF {
			spec = Spec{Name: "tiff.lerc"}
		}
		if s.Big {
			spec.Config = []byte(`{"endian":"big"}`)
		}
		p, err := New([]Spec{spec}, Form{Type: types[s.Type], Shape: s.Shape})
		if err != nil {
			t.Fatal(err)
		}
		var zlibbed bytes.Buffer
		w := zlib.NewWriter(&zlibbed)
		w.Write(s.Data)
		w.Close()
		for i, src := range [][]byte{s.Data, zlibbed.Bytes(), zstdWriter.EncodeAll(s.Data, nil)} {
			got := NewElems(p.Form())
			if err := p.Decode(got, src); err != nil || !bytes.Equal(got.Fixed, want) {
				t.Errorf("%s: compression %d: %v", s.Name, i, err)
			}
		}
	}
	if _, err := New([]Spec{{Name: "imagecodecs_lerc"}}, Form{Type: Type{Kind: Int, Size: 8}, Shape: []int64{4}}); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("elements of 64 bits: %v", err)
	}
}
