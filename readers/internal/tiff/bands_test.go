package tiff

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"varve/readers"
)

// describeVariables returns the variables of a dataset with their dimensions, chunks and codecs of elements.
func describeVariables(data *readers.Dataset) (list []string) {
	for _, v := range data.Root.Variables {
		text := v.Name
		for k, d := range v.Dims {
			text += fmt.Sprint(" ", d.Name)
			if v.Storage.ChunkShape != nil {
				text += fmt.Sprint("/", v.Storage.ChunkShape[k])
			}
		}
		for _, c := range v.Storage.Pipeline.Arrays {
			text += fmt.Sprint(" ", c.Name, string(c.Config))
		}
		list = append(list, text)
	}
	return list
}

// TestBands checks where the axis of bands is, and that the values are the same at each place.
func TestBands(t *testing.T) {
	for _, name := range []string{"tiles_zstd_bands.tif", "planes_packbits.tif", "webp.tif"} {
		values := map[string][]byte{}
		for _, where := range []string{bandsStored, bandsFirst, bandsLast} {
			data, err := openBeside(t, filepath.Join(fixtures, name), bandsOption, where)
			if err != nil {
				t.Fatal(err)
			}
			v := data.Root.Variables[0]
			axis := slices.IndexFunc(v.Dims, func(d *readers.Dimension) bool { return d.Name == "band" })
			if want, ok := map[string]int{bandsFirst: 0, bandsLast: 2}[where]; ok && axis != want {
				t.Errorf("%s, %s: %v", name, where, describeVariables(data))
			}
			value, err := v.ReadAll(t.Context(), 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			if values[where] = value.Data; axis == 2 {
				values[where] = bandByBand(value.Data, v.Type.Size, int(v.Shape[2]))
			}
		}
		if !bytes.Equal(values[bandsFirst], values[bandsLast]) || !bytes.Equal(values[bandsStored], values[bandsLast]) {
			t.Errorf("%s: the values depend on the place of the axis", name)
		}
	}
	data, err := openBeside(t, filepath.Join(fixtures, "tiles_zstd_bands.tif"), bandsOption, bandsFirst)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := describeVariables(data)[0], `band_data band/3 y/32 x/16 transpose{"order":[1,2,0]} imagecodecs_delta{"axis":-2,"dist":1}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestScaledBands checks that bands with different scales are variables, each with its own.
func TestScaledBands(t *testing.T) {
	for name, codecs := range map[string][2]string{
		"scaled_bands.tif":  {` tiff.band{"band":0,"samples":2} imagecodecs_delta{"axis":-2,"dist":1}`, ` tiff.band{"band":1,"samples":2} imagecodecs_delta{"axis":-2,"dist":1}`},
		"scaled_planes.tif": {"", ""},
	} {
		data, err := openBeside(t, filepath.Join(fixtures, name), bandsOption, bandsLast)
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"band_1 y/32 x/16" + codecs[0], "x x", "y y", "spatial_ref", "band_2 y/32 x/16" + codecs[1]}
		if got := describeVariables(data); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
		whole, err := reader{}.Open(t.Context(), open(t, "tiles_zstd_bands.tif"))
		if err != nil || whole.Variable("/band_1") != nil {
			t.Error(whole, err)
		}
		for k, want := range []string{"[0.5] [1] K 7 spatial_ref", "[2] [-3] m 7 spatial_ref"} {
			path := fmt.Sprint("/band_", k+1)
			a := attributesOf(t, data, path)
			if got := strings.Join([]string{a["scale_factor"], a["add_offset"], a["units"], a["_FillValue"], a["grid_mapping"]}, " "); got != want {
				t.Errorf("%s %s: %s, want %s", name, path, got, want)
			}
		}
		one, err := data.Variable("/band_2").ReadAll(t.Context(), 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		other := "scaled_planes.tif"
		doc := map[string]any{}
		if err := Describe(t.Context(), open(t, other), &readers.DescribeOptions{Values: true}, doc); err != nil {
			t.Fatal(err)
		}
		both, err := data.Variable("/band_1").ReadAll(t.Context(), 1<<20)
		if got := hashOf(slices.Concat(both.Data, one.Data)); err != nil || got != doc["tiff"].(facts)["ifds"].([]facts)[0]["values"].(facts)["sha256"] {
			t.Errorf("%s: other values, %v", name, err)
		}
	}
}

// TestHiddenPlanes checks planes of ImageJ without directories, and files that cannot have them.
func TestHiddenPlanes(t *testing.T) {
	data, err := reader{}.Open(t.Context(), open(t, "imagej_hidden.tif"))
	if err != nil {
		t.Fatal(err)
	}
	if got := describeVariables(data); !slices.Equal(got, []string{"band_data time/1 channel/1 y/8 x/9"}) || len(data.Problems) > 0 {
		t.Errorf("%q, %v", got, data.Problems)
	}
	value, err := data.Root.Variables[0].ReadAll(t.Context(), 1<<20)
	for i := range len(value.Data) / 2 {
		if binary.LittleEndian.Uint16(value.Data[2*i:]) != uint16(i) {
			t.Fatalf("element %d is %x", i, value.Data[2*i:2*i+2])
		}
	}
	if err != nil || len(value.Data) != 2*2*3*8*9 {
		t.Error(len(value.Data), err)
	}
	whole, err := os.ReadFile(filepath.Join(fixtures, "imagej_hidden.tif"))
	if err != nil {
		t.Fatal(err)
	}
	compressed := bytes.Clone(whole)
	tag := []byte{1, 3, 0, 3, 0, 0, 0, 1, 0, 1} // Compression 1, big-endian
	at := bytes.Index(compressed, tag)
	compressed[at+9] = 8
	for _, c := range []struct {
		data []byte
		why  string
	}{
		{whole[:len(whole)-1], "6 planes of 144 bytes, which the file"},
		{compressed, "is compressed or in several strips"},
		{bytes.Replace(whole, []byte("images=6"), []byte("images=9"), 1), "9 planes of 144 bytes, which the file"},
	} {
		name := filepath.Join(t.TempDir(), "a.tif")
		if err := os.WriteFile(name, c.data, 0o600); err != nil {
			t.Fatal(err)
		}
		data, err := openBeside(t, name)
		if err != nil || len(data.Problems) != 1 || !strings.Contains(data.Problems[0].Err.Error(), c.why) || !isDamage(data.Problems[0].Err) {
			t.Errorf("%v, %v, want %q", data, errors.Join(err), c.why)
		}
	}
}
