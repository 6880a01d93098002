package codec_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"varve/codec"
	"varve/fixtures/soak"
	"varve/fixtures/venv"
)

// storedChunk is a chunk that libhdf5 wrote, and its elements without filters.
type storedChunk struct {
	Name     string  `json:"name"`
	Size     int     `json:"size"` // of an element
	Shape    []int64 `json:"shape"`
	Filters  []filter
	Mask     uint32 `json:"mask"`
	Stored   []byte `json:"stored"`
	Elements []byte `json:"elements"`
}

// filter is one filter with its client values.
type filter struct {
	ID     int      `json:"id"`
	Values []uint32 `json:"values"`
}

// spec returns the codec of a filter, configured by the client values as in
// docs/reference/codecs.md.
func (f filter) spec() (codec.Spec, error) {
	info, ok := codec.LookupFilter(f.ID)
	if !ok {
		return codec.Spec{}, fmt.Errorf("no codec for filter %d", f.ID)
	}
	config := map[string]any{}
	switch info.Name {
	case "numcodecs.shuffle":
		config["elementsize"] = f.Values[0]
	case "imagecodecs_szip":
		config["options_mask"], config["pixels_per_block"] = f.Values[0], f.Values[1]
		config["bits_per_pixel"], config["pixels_per_scanline"] = f.Values[2], f.Values[3]
	case "hdf5.nbit", "hdf5.scaleoffset", "hdf5.bitshuffle", "hdf5.lzf", "hdf5.blosc2":
		config["cd_values"] = f.Values
	}
	raw, err := json.Marshal(config)
	return codec.Spec{Name: info.Name, Config: raw}, err
}

// TestInteropFilters decodes chunks that libhdf5 wrote through every supported filter, by
// h5py with hdf5plugin, for types and shapes of all kinds.
func TestInteropFilters(t *testing.T) {
	folder := t.TempDir()
	every := 5 // of the 6 chunks of each filter and type
	if soak.Duration(t, 0) > 0 {
		every = 1
	}
	venv.Run(t, "h5py and hdf5plugin", "testdata/hdf5_chunks.py", folder, fmt.Sprint(every))
	if masked := checkChunks(t, filepath.Join(folder, "chunks.jsonl")); masked == 0 {
		t.Error("no chunk has a filter mask")
	}
}

// TestFilters decodes a few small chunks from testdata, so that it needs no Python.
func TestFilters(t *testing.T) {
	checkChunks(t, "testdata/chunks.jsonl")
}

// checkChunks decodes every chunk of a file and returns how many have a filter mask.
func checkChunks(t *testing.T, name string) (masked int) {
	t.Helper()
	seen := map[int]int{}
	for _, c := range readChunks(t, name) {
		if err := c.check(); err != nil {
			t.Errorf("%s: %v", c.Name, err)
		}
		for _, f := range c.Filters {
			seen[f.ID]++
		}
		if c.Mask != 0 {
			masked++
		}
	}
	for _, id := range []int{1, 2, 3, 4, 6, 307, 32000, 32001, 32004, 32008, 32015, 32026} {
		if seen[id] == 0 {
			t.Errorf("no chunk has filter %d", id)
		}
	}
	t.Logf("chunks by filter: %v; %d with a filter mask", seen, masked)
	return masked
}

func readChunks(t testing.TB, name string) (all []storedChunk) {
	t.Helper()
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var c storedChunk
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// check decodes the chunk as raw elements of its size: the byte order stays as stored.
func (c *storedChunk) check() error {
	p, err := c.pipeline()
	if err != nil {
		return err
	}
	got := codec.NewElems(p.Form())
	if err := p.Decode(got, c.Stored); err != nil {
		return err
	}
	if !bytes.Equal(got.Fixed, c.Elements) {
		return fmt.Errorf("elements differ")
	}
	return nil
}

func (c *storedChunk) pipeline() (*codec.Pipeline, error) {
	specs := []codec.Spec{{Name: "bytes"}}
	for _, f := range c.Filters {
		spec, err := f.spec()
		if err != nil {
			return nil, err
		}
		specs = append(specs, spec)
	}
	p, err := codec.New(specs, codec.Form{Type: codec.Type{Kind: codec.Raw, Size: c.Size}, Shape: c.Shape})
	if err != nil {
		return nil, err
	}
	return p.Skip(c.Mask), nil
}

// FuzzFilters decodes damaged chunks with the filters of the chunks in testdata.
func FuzzFilters(f *testing.F) {
	kept := readChunks(f, "testdata/chunks.jsonl")
	for i, c := range kept {
		f.Add(uint16(i), c.Stored)
	}
	f.Fuzz(func(t *testing.T, i uint16, stored []byte) {
		c := kept[int(i)%len(kept)]
		p, err := c.pipeline()
		if err != nil {
			t.Fatal(err)
		}
		room := make([]byte, len(c.Elements)+64)
		for k := range room {
			room[k] = 0xa5
		}
		err = p.Decode(codec.Elems{Fixed: room[:len(c.Elements):len(c.Elements)]}, stored)
		if err != nil && !errors.Is(err, codec.ErrCorrupt) && !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s: error %v wraps neither ErrCorrupt nor ErrUnsupported", c.Name, err)
		}
		if !bytes.Equal(room[len(c.Elements):], bytes.Repeat([]byte{0xa5}, 64)) {
			t.Errorf("%s: bytes after the chunk were written", c.Name)
		}
	})
}
