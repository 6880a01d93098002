package serve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os/exec"
	"strings"
	"testing"

	"varve/fixtures/venv"
	"varve/manifest"
)

// readAll is a script for zarr-python: it opens each view and sums its elements.
const readAll = `
import json, sys, warnings
try:
    import aiohttp, fsspec, xarray, zarr
except ImportError as e:
    print("skip:", e)
    sys.exit()
warnings.simplefilter("ignore")
zarr.config.set({"array.rectilinear_chunks": True})
import numpy as np
answer = {}
for view in "", "/regular", "/v2":
    group = zarr.open_group(sys.argv[1] + view, mode="r", zarr_format=2 if view == "/v2" else 3)
    for path, member in group.members(max_depth=None):
        if isinstance(member, zarr.Array):
            values = member[...]
            answer[view + "/" + path] = [float(np.nansum(values, dtype="f8")), int(np.isnan(values).sum())]
dataset = xarray.open_zarr(sys.argv[1], consolidated=True, drop_variables=["small", "rect"])
answer["xarray"] = [float(dataset.big.sum()), len(dataset.data_vars)]
print(json.dumps(answer))
`

// TestInteropMadeUp checks that zarr-python and xarray read the fake arrays' values in every view.
func TestInteropMadeUp(t *testing.T) {
	python := venv.Python(t, "zarr-python, fsspec and aiohttp")
	d := newFake(t)
	d.arrays = d.arrays[:3] // without the last one, whose name zarr-python does not escape
	// The fake has values in chunks that it reports as missing, which would show after re-chunking.
	d.arrays[2].(*fakeArray).kinds = func(int64) manifest.ChunkKind { return manifest.Reencoded }
	s := start(t, newHandler(t, d))
	var failure bytes.Buffer
	cmd := exec.CommandContext(t.Context(), python, "-c", readAll, s.URL)
	cmd.Stderr = &failure
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, failure.Bytes())
	}
	if text, ok := strings.CutPrefix(string(out), "skip:"); ok {
		t.Skip(text)
	}
	var got map[string][2]float64
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	want := map[string][2]float64{}
	for _, m := range d.arrays {
		a := m.(*fakeArray)
		sums := a.sums()
		want[a.path], want["/regular"+a.path] = sums, sums
		if a.path != "/rect" {
			want["/v2"+a.path] = sums
		}
	}
	want["xarray"] = [2]float64{want["/big"][0], 1}
	for name, w := range want {
		if g, ok := got[name]; !ok || g != w {
			t.Errorf("%s: got %v, want %v", name, g, w)
		}
	}
	if len(got) != len(want) {
		t.Errorf("got %s", fmt.Sprint(got))
	}
}

// sums returns the sum of the elements that are not missing, and the number of missing elements.
func (a *fakeArray) sums() (out [2]float64) {
	coords := make([]int64, a.grid.Rank())
	for n := range a.grid.Chunks() {
		a.grid.Coords(n, coords)
		c, _ := a.grid.Chunk(coords)
		elements, _ := c.Region.Elements()
		if a.kinds(n) == manifest.Missing {
			out[1] += float64(elements)
			continue
		}
		data := a.bytes(c.Origin, c.Shape)
		for i := 0; i < len(data); i += 4 {
			out[0] += float64(math.Float32frombits(uint32(data[i]) | uint32(data[i+1])<<8 | uint32(data[i+2])<<16 | uint32(data[i+3])<<24))
		}
	}
	return out
}
