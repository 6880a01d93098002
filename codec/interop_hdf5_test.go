package codec_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"varve/codec"
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

// spec returns the codec that undoes a filter, configured by the client values as
// docs/codecs.md says.
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

// TestInteropFilters decodes chunks that libhdf5 wrote through every filter that varve
// knows, by h5py with hdf5plugin, for types and shapes of all kinds.
func TestInteropFilters(t *testing.T) {
	folder := t.TempDir()
	out, err := exec.Command(interopPython(t), "testdata/hdf5_chunks.py", folder).CombinedOutput()
	if err != nil {
		t.Fatalf("hdf5_chunks.py: %v\n%s", err, out)
	}
	file, err := os.Open(filepath.Join(folder, "chunks.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	seen, masked := map[int]int{}, 0
	for lines.Scan() {
		var c storedChunk
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
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
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	for _, id := range []int{1, 2, 3, 4, 6, 307, 32000, 32001, 32004, 32008, 32015, 32026} {
		if seen[id] == 0 {
			t.Errorf("no chunk has filter %d", id)
		}
	}
	if masked == 0 {
		t.Error("no chunk has a filter mask")
	}
	t.Logf("chunks by filter: %v; %d with a filter mask", seen, masked)
}

// check decodes the chunk as raw elements of its size: the byte order stays as stored.
func (c *storedChunk) check() error {
	specs := []codec.Spec{{Name: "bytes"}}
	for _, f := range c.Filters {
		spec, err := f.spec()
		if err != nil {
			return err
		}
		specs = append(specs, spec)
	}
	p, err := codec.New(specs, codec.Form{Type: codec.Type{Kind: codec.Raw, Size: c.Size}, Shape: c.Shape})
	if err != nil {
		return err
	}
	got := codec.NewElems(p.Form())
	if err := p.Skip(c.Mask).Decode(got, c.Stored); err != nil {
		return err
	}
	if !bytes.Equal(got.Fixed, c.Elements) {
		return fmt.Errorf("elements differ")
	}
	return nil
}
