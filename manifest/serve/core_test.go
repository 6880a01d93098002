package serve_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"os/exec"
	"slices"
	"testing"

	"varve/codec"
	"varve/fixtures/venv"
	"varve/grid"
	"varve/zarrjson"
)

// bodyOf returns the body of an answer, or nil if there is no such key.
func bodyOf(t *testing.T, address string) []byte {
	t.Helper()
	answer, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	switch answer.StatusCode {
	case http.StatusNotFound:
		return nil
	case http.StatusOK:
		return body
	}
	t.Fatalf("%s: %s: %s", address, answer.Status, body)
	return nil
}

// TestCore checks that all arrays of the core view have regular grids, core codecs and core types, and that its chunks
// have the values of the files. The text array of the files is in the other views only.
func TestCore(t *testing.T) {
	address, dir := serveFiles(t, months(t)...)
	var root struct {
		Consolidated struct {
			Metadata map[string]json.RawMessage `json:"metadata"`
		} `json:"consolidated_metadata"`
	}
	if err := json.Unmarshal(bodyOf(t, address+"/core/zarr.json"), &root); err != nil {
		t.Fatal(err)
	}
	if len(root.Consolidated.Metadata) != 4 {
		t.Errorf("%d arrays", len(root.Consolidated.Metadata))
	}
	for path, document := range root.Consolidated.Metadata {
		a, err := zarrjson.ParseArray(document)
		if err != nil {
			t.Fatal(err)
		}
		if found := codec.Extensions(a.Codecs); a.ChunkGrid.Name != zarrjson.Regular || len(found) > 0 || !a.DataType.Type().IsCore() {
			t.Errorf("/%s: grid %s, extensions %v, type %s", path, a.ChunkGrid.Name, found, a.DataType.Name())
		}
		if path != "t2m" {
			continue
		}
		got := coreValues(t, address+"/core/t2m", a)
		if want := values(t, dir, grid.Region{}); !slices.Equal(got, want) {
			t.Error("/t2m has other values")
		}
	}
}

// coreValues reads an array of float32 chunk by chunk.
func coreValues(t *testing.T, address string, a *zarrjson.Array) []float64 {
	t.Helper()
	g, err := a.Grid()
	if err != nil {
		t.Fatal(err)
	}
	shape := g.Shape()
	out := make([]float64, shape[0]*shape[1]*shape[2])
	chunks, err := g.WalkChunks(grid.Whole(g.Counts()))
	if err != nil {
		t.Fatal(err)
	}
	for chunks.Next() {
		form := a.Form(chunks.Codec)
		p, err := codec.New(a.Codecs, form)
		if err != nil {
			t.Fatal(err)
		}
		elems := codec.NewElems(form)
		if stored := bodyOf(t, fmt.Sprintf("%s/c/%d/%d/%d", address, chunks.Coords[0], chunks.Coords[1], chunks.Coords[2])); stored == nil {
			elems.SetFill(form)
		} else if err := p.Decode(elems, stored); err != nil {
			t.Fatal(err)
		}
		for i := range chunks.Region.Shape[0] {
			for j := range chunks.Region.Shape[1] {
				for k := range chunks.Region.Shape[2] {
					from := (i*chunks.Codec[1]+j)*chunks.Codec[2] + k
					at := ((chunks.Region.Origin[0]+i)*shape[1]+chunks.Region.Origin[1]+j)*shape[2] + chunks.Region.Origin[2] + k
					out[at] = float64(math.Float32frombits(binary.LittleEndian.Uint32(elems.Fixed[4*from:])))
				}
			}
		}
	}
	return out
}

// TestInteropCore checks that TensorStore and GDAL, which have no codecs of numcodecs, read the values of the core view
// that zarr-python reads from the other view.
func TestInteropCore(t *testing.T) {
	python := venv.Python(t, "TensorStore and GDAL")
	address, _ := serveFiles(t, months(t)...)
	var failure bytes.Buffer
	cmd := exec.CommandContext(t.Context(), python, "testdata/core.py", address)
	cmd.Stderr = &failure
	out, err := cmd.Output()
	if err != nil || string(out) != "/lat /lon /t2m /time\n" {
		t.Fatalf("%s, %v\n%s", out, err, failure.Bytes())
	}
}
