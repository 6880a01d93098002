package scan_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"varve/codec"
	"varve/manifest"
	"varve/manifest/scan"
	"varve/readers/source"
)

func valuesLater(f *manifest.File, variable int, opts *scan.Options) (*manifest.Values, error) {
	l, err := scan.Reopen(context.Background(), f, opts)
	if err != nil {
		return nil, err
	}
	values, err := l.Values(variable)
	return values, errors.Join(err, l.Close())
}

func sumLater(f *manifest.File, variable int, sums *scan.Sums) (*manifest.Values, error) {
	l, err := scan.Reopen(context.Background(), f, nil)
	if err != nil {
		return nil, err
	}
	sum, err := l.Sum(variable, sums)
	return sum, errors.Join(err, l.Close())
}

// blocksLater reads the elements of a variable in blocks, from a copy of a file without known values.
func blocksLater(f *manifest.File, variable int) (all []byte, err error) {
	bare := *f
	bare.Values = make([]*manifest.Values, len(f.Values))
	l, err := scan.Reopen(context.Background(), &bare, nil)
	if err != nil {
		return nil, err
	}
	err = l.Blocks(variable, func(elements []byte) error {
		all = append(all, elements...)
		return nil
	})
	return all, errors.Join(err, l.Close())
}

// TestValuesLater compares values, digests and blocks of a Later with values that are read from the refs.
func TestValuesLater(t *testing.T) {
	sums := scan.NewSums()
	for _, name := range fixtureFiles(t) {
		a, err := scanAll([]string{name}, scan.Options{})
		if err != nil {
			continue
		}
		f := a.Files[0]
		for i, v := range f.Header.Expand().Variables {
			if v.Unreadable != "" {
				if _, err := valuesLater(f, i, nil); !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), v.Path) {
					t.Errorf("%s %s: %v", name, v.Path, err)
				}
				continue
			}
			want, err := a.read(f, i)
			if err != nil {
				t.Errorf("%s %s: %v", name, v.Path, err)
				continue
			}
			sum, err := sumLater(f, i, sums)
			got, err2 := valuesLater(f, i, nil)
			if err = errors.Join(err, err2); err == nil && (sum.ID != got.ID || !sum.Summed || sum.Data != nil || sum.Texts != nil) {
				t.Errorf("%s %s: sum %+v of values %s", name, v.Path, sum, got.ID)
			}
			if blocks, err3 := blocksLater(f, i); err3 != nil || !v.Type.Varies() && !bytes.Equal(blocks, want.Fixed) {
				t.Errorf("%s %s: elements in blocks differ, %v", name, v.Path, err3)
			}
			if err != nil || !bytes.Equal(got.Data, want.Fixed) || !slices.EqualFunc(got.Texts, want.Var, bytes.Equal) {
				t.Errorf("%s %s: values differ, %v", name, v.Path, err)
			}
		}
	}
}

// TestSums checks that equal values have the same digest even if they are stored with other codecs, and that
// different values have different digests.
func TestSums(t *testing.T) {
	dir := t.TempDir()
	var files []*manifest.File
	for _, c := range []struct{ name, compressor, chunk string }{
		{"plain", `null`, "\x01\x02\x03\x04"},
		{"plain again", `null`, "\x01\x02\x03\x04"},
		{"packed", `{"id":"zlib","level":0}`, "\x78\x01\x01\x04\x00\xfb\xff\x01\x02\x03\x04\x00\x18\x00\x0b"},
		{"other", `null`, "\x01\x02\x03\x05"},
	} {
		folder := filepath.Join(dir, c.name+".zarr")
		for name, text := range map[string]string{
			".zgroup":   `{"zarr_format":2}`,
			"v/.zarray": `{"zarr_format":2,"shape":[2],"chunks":[2],"dtype":"<i2","order":"C","compressor":` + c.compressor + `,"fill_value":0,"filters":null}`,
			"v/0":       c.chunk,
		} {
			name = filepath.Join(folder, name)
			if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
		a, err := scanAll([]string{folder}, scan.Options{})
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, a.Files[0])
	}
	sums := scan.NewSums()
	var ids []string
	for _, f := range files {
		sum, err := sumLater(f, f.Header.Find("/v"), sums)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, sum.ID)
	}
	if ids[0] != ids[1] || ids[0] != ids[2] || ids[0] == ids[3] {
		t.Errorf("sums %v", ids)
	}
}

// TestValuesOfLongChunk reads a coordinate whose chunk is much longer than the array, as in files that are
// made to grow.
func TestValuesOfLongChunk(t *testing.T) {
	const length = 1 << 19
	p, err := codec.New([]codec.Spec{{Name: "bytes", Config: []byte(`{"endian":"little"}`)}, {Name: "zstd"}},
		codec.Form{Type: codec.Type{Kind: codec.Float, Size: 8}, Shape: []int64{length}})
	if err != nil {
		t.Fatal(err)
	}
	elems := codec.NewElems(p.Form())
	copy(elems.Fixed, binary.LittleEndian.AppendUint64(nil, math.Float64bits(7)))
	chunk, err := p.Encode(nil, elems)
	if err != nil {
		t.Fatal(err)
	}
	a, err := scanAll([]string{inOneChunk(t, length, chunk)}, scan.Options{ValueBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	f := a.Files[0]
	values := f.Values[f.Header.Find("/x")]
	if values == nil || !bytes.Equal(values.Data, elems.Fixed[:16]) {
		t.Errorf("a chunk of %d bytes, compressed to %d: values %+v", 8*length, len(chunk), values)
	}
}

// TestValuesOfSpareChunk checks that a chunk is not decoded if its shape is huge and mostly outside the array.
func TestValuesOfSpareChunk(t *testing.T) {
	a, err := scanAll([]string{inOneChunk(t, 1<<24, []byte("never looked at"))}, scan.Options{})
	if err != nil {
		t.Fatal(err)
	}
	f := a.Files[0]
	if values := f.Values[f.Header.Find("/x")]; values != nil {
		t.Fatalf("values %+v", values)
	}
	later, err := scan.Reopen(t.Context(), f, &scan.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer later.Close()
	if _, err := later.Values(f.Header.Find("/x")); !errors.Is(err, errors.ErrUnsupported) {
		t.Error(err)
	}
}

// inOneChunk creates a Zarr folder with a coordinate of two numbers in a longer chunk.
func inOneChunk(t *testing.T, length int, chunk []byte) string {
	folder := filepath.Join(t.TempDir(), "a.zarr")
	for name, text := range map[string]string{
		".zgroup":   `{"zarr_format":2}`,
		"x/.zarray": fmt.Sprintf(`{"zarr_format":2,"shape":[2],"chunks":[%d],"dtype":"<f8","order":"C","compressor":{"id":"zstd","level":0},"fill_value":0,"filters":null}`, length),
		"x/.zattrs": `{"_ARRAY_DIMENSIONS":["x"]}`,
		"x/0":       string(chunk),
	} {
		name = filepath.Join(folder, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// TestValuesChanged checks that reading values of a file that has changed since the scan is an ErrChanged.
func TestValuesChanged(t *testing.T) {
	name := copyTo(t, t.TempDir(), demo()[0])
	a, err := scanAll([]string{name}, scan.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(name, time.Time{}, time.Now().Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	if _, err := valuesLater(a.Files[0], a.Files[0].Header.Find("/t2m"), nil); !errors.Is(err, source.ErrChanged) {
		t.Errorf("got %v", err)
	}
	if _, err := sumLater(a.Files[0], a.Files[0].Header.Find("/t2m"), scan.NewSums()); !errors.Is(err, source.ErrChanged) {
		t.Errorf("a sum: %v", err)
	}
}

// TestValuesLimit checks that values larger than ValueBytes are not read.
func TestValuesLimit(t *testing.T) {
	a, err := scanAll([]string{fixtures + "/hdf5/netcdf4.nc"}, scan.Options{ValueBytes: 16})
	if err != nil {
		t.Fatal(err)
	}
	f := a.Files[0]
	if v := f.Header.Variable(f.Header.Find("/deep/er/name")); !strings.Contains(v.Unreadable, "value-bytes") {
		t.Errorf("strings: %q", v.Unreadable)
	}
	n := f.Header.Find("/v")
	if _, err := valuesLater(f, n, &scan.Options{ValueBytes: 16}); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("large values: %v", err)
	}
}

// TestCoordinatesShorterThanTheirDimensions checks that coordinates that are stored by value have a value for
// each position of an unlimited dimension, even if the file has fewer values.
func TestCoordinatesShorterThanTheirDimensions(t *testing.T) {
	name := "../../fixtures/hdf5/netcdf4_coordinates.nc"
	a, err := scanAll([]string{name}, scan.Options{})
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string][]string{"/station": {"north", "south", "unnamed"}, "/none": {"", "", ""}}
	for i, v := range a.Files[0].Header.Expand().Variables {
		values := a.Files[0].Values[i]
		if want, ok := texts[v.Path]; ok {
			if got := string(bytes.Join(values.Texts, []byte(","))); got != strings.Join(want, ",") || v.Shape[0] != 3 {
				t.Errorf("%s: %v of shape %v, not %q", v.Path, got, v.Shape, want)
			}
		}
		if v.Path == "/pair" && (len(values.Data) != 3*v.Type.Size || v.Shape[0] != 3 || !bytes.Equal(values.Data[v.Type.Size:], make([]byte, 2*v.Type.Size))) {
			t.Errorf("%s: %x of shape %v", v.Path, values.Data, v.Shape)
		}
	}
}
