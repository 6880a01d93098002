package main

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"varve/fixtures/classic"
)

// seaArchive builds a manifest of one file: sst(time, lat) of shorts.
func seaArchive(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	file := classic.File{
		Dims: []classic.Dim{{Name: "time", Length: 3}, {Name: "lat", Length: 2}},
		Vars: []classic.Var{
			{Name: "time", Dims: []string{"time"}, Data: []float64{0, 1, 2}, Attributes: []classic.Attribute{{Name: "units", Value: "days since 2010-01-01"}}},
			{Name: "lat", Dims: []string{"lat"}, Data: []float32{10, -10}},
			{Name: "sst", Dims: []string{"time", "lat"}, Data: []int16{1, 2, 3, 4, 5, -1}, Attributes: []classic.Attribute{
				{Name: "scale_factor", Value: []float64{0.5}}, {Name: "_FillValue", Value: []int16{-1}}, {Name: "units", Value: "K"}}},
		},
	}
	name, out := filepath.Join(dir, "sea.nc"), filepath.Join(dir, "sea.varve")
	if err := file.Write(name); err != nil {
		t.Fatal(err)
	}
	if _, code, err := run(t, "build", out, name); code != exitDone {
		t.Fatal(err)
	}
	return out
}

func TestRead(t *testing.T) {
	out := seaArchive(t)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--stat"}, `{"count":6,"valid":5,"min":1,"max":5,"mean":3,"sum":15}` + "\n"},
		{[]string{"--stat", "--decode", "--sel", "lat=-10"}, `{"count":3,"valid":2,"min":1,"max":2,"mean":1.5,"sum":3}` + "\n"},
		{[]string{"--isel", "time=-1"}, "time,lat,sst\n2010-01-03,10,5\n2010-01-03,-10,\n"},
		{[]string{"--isel", "time=[2,0],lat=::-1"}, "time,lat,sst\n2010-01-03,-10,\n2010-01-03,10,5\n2010-01-01,-10,2\n2010-01-01,10,1\n"},
		{[]string{"--isel", "time=::-2", "--isel", `"lat=[1,1]"`}, "time,lat,sst\n2010-01-03,-10,\n2010-01-03,-10,\n2010-01-01,-10,2\n2010-01-01,-10,2\n"},
		{[]string{"--isel", "time=[]"}, "time,lat,sst\n"},
		{[]string{"--isel", "time=::-1", "--sel", "lat=10", "--stat"}, `{"count":3,"valid":3,"min":1,"max":5,"mean":3,"sum":9}` + "\n"},
		{[]string{"--sel", "time=2010-01-02,lat=-20:0", "--decode"}, "time,lat,sst\n2010-01-02,-10,2\n"},
	} {
		got, code, err := run(t, append([]string{"read", out, "sst"}, c.args...)...)
		if code != exitDone || got != c.want {
			t.Errorf("%v: %q (%v), not %q", c.args, got, err, c.want)
		}
	}
}

// TestReadCalibrated: an add_offset of HDF4 is not computed by as if it were CF's.
func TestReadCalibrated(t *testing.T) {
	dir := t.TempDir()
	out, picture := filepath.Join(dir, "out"), filepath.Join(dir, "scaled.png")
	if _, code, err := run(t, "build", out, "../../fixtures/hdf4/datasets.hdf"); code != exitDone {
		t.Fatal(err)
	}
	if got, code, err := run(t, "read", out, "scaled", "--stat"); code != exitDone || !strings.HasPrefix(got, `{"count":24,`) {
		t.Errorf("%s, exit code %d, %v", got, code, err)
	}
	for _, args := range [][]string{{"--stat", "--decode"}, {"-o", picture, "--isel", "band=0"}} {
		_, code, err := run(t, append([]string{"read", out, "scaled"}, args...)...)
		if code != exitFailed || err == nil || !strings.Contains(err.Error(), "/scaled: add_offset follows HDF4's") {
			t.Errorf("%v: exit code %d, %v", args, code, err)
		}
	}
	if _, err := os.Stat(picture); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a picture: %v", err)
	}
	if _, code, err := run(t, "read", out, "of i2", "--stat", "--decode"); code != exitDone {
		t.Errorf("without an offset: %v", err)
	}
}

func TestReadFiles(t *testing.T) {
	out := seaArchive(t)
	for suffix, magic := range map[string]string{".npy": "\x93NUMPY", ".csv": "time,lat,sst\n", ".png": "\x89PNG", ".nc": "CDF\x02"} {
		name := filepath.Join(t.TempDir(), "a"+suffix)
		if _, _, err := run(t, "read", out, "sst", "-o", name); err != nil {
			t.Errorf("%s: %v", suffix, err)
			continue
		}
		if b, err := os.ReadFile(name); err != nil || !strings.HasPrefix(string(b), magic) {
			t.Errorf("%s begins with %.8q (%v)", suffix, b, err)
		}
	}
	// A file with the selected order is read like the archive.
	name, again := filepath.Join(t.TempDir(), "some.nc"), filepath.Join(t.TempDir(), "some.varve")
	if _, _, err := run(t, "read", out, "sst", "--isel", "time=[0,2],lat=::-1", "-o", name); err != nil {
		t.Fatal(err)
	}
	if _, _, err := run(t, "build", again, name); err != nil {
		t.Fatal(err)
	}
	got, _, err := run(t, "read", again, "sst")
	if want := "time,lat,sst\n2010-01-01,-10,2\n2010-01-01,10,1\n2010-01-03,-10,\n2010-01-03,10,5\n"; got != want {
		t.Errorf("the netCDF file has %q (%v)", got, err)
	}
	for _, isel := range []string{"time=::-1", "time=[2,1,0]", "lat=[1,0],time=[0,2]"} {
		name := filepath.Join(t.TempDir(), "a.png")
		if _, _, err := run(t, "read", out, "sst", "--isel", isel, "-o", name); err != nil {
			t.Errorf("%s: %v", isel, err)
		}
	}
}

func TestReadUsage(t *testing.T) {
	out := seaArchive(t)
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"--isel", "depth=3"}, "its dimensions are time, lat"},
		{[]string{"--isel", "time=[0,3]"}, "-3 to 2"},
		{[]string{"--isel", "time=[0,1"}, "bracket"},
		{[]string{"--isel", "time=::0"}, "other than 0"},
		{[]string{"--sel", "lat=3"}, "the nearest are -10 and 10"},
		{[]string{"-o", "x.tiff"}, "want .csv, .json, .nc, .npy or .png"},
		{[]string{"-o", "x.nc", "--decode"}, "remove --decode"},
		{[]string{"-o", "x.npy", "--stat"}, "remove -o"},
	} {
		_, code, err := run(t, append([]string{"read", out, "sst"}, c.args...)...)
		if code != exitUsage || err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v: exit code %d (%v), not %q", c.args, code, err, c.says)
		}
	}
	name := filepath.Join(t.TempDir(), "x.png")
	if _, _, err := run(t, "read", out, "sst", "--isel", "time=0:0", "-o", name); err == nil {
		t.Error("a picture of nothing")
	}
	if files, err := os.ReadDir(filepath.Dir(name)); err != nil || len(files) > 0 {
		t.Errorf("what failed left %v (%v)", files, err)
	}
}

// TestFillValues reads an array of floats with fill values and -0: info shows fill values as numbers, and a file of NumPy has the
// sign of -0.
func TestFillValues(t *testing.T) {
	dir := t.TempDir()
	zero := math.Copysign(0, -1)
	file := classic.File{
		Dims: []classic.Dim{{Name: "x", Length: 3}},
		Vars: []classic.Var{
			{Name: "wide", Dims: []string{"x"}, Data: []float64{zero, 1, 2}, Attributes: []classic.Attribute{{Name: "_FillValue", Value: []float64{math.NaN()}}}},
			{Name: "narrow", Dims: []string{"x"}, Data: []float32{float32(zero), 1, 2}, Attributes: []classic.Attribute{{Name: "_FillValue", Value: []float32{-9.5}}}},
			{Name: "whole", Dims: []string{"x"}, Data: []int16{1, 2, 3}, Attributes: []classic.Attribute{{Name: "_FillValue", Value: []int16{-999}}}},
			{Name: "packed", Dims: []string{"x"}, Data: []float32{float32(zero), 1, 2}, Attributes: []classic.Attribute{{Name: "scale_factor", Value: []float64{0.5}}}},
		},
	}
	name, out := filepath.Join(dir, "a.nc"), filepath.Join(dir, "a.varve")
	if err := file.Write(name); err != nil {
		t.Fatal(err)
	}
	mustRun(t, "build", out, name)
	for array, want := range map[string]string{"wide": "NaN", "narrow": "-9.5", "whole": "-999"} {
		var got []string
		for line := range strings.Lines(mustRun(t, "info", out)) {
			if value, ok := strings.CutPrefix(strings.TrimSpace(line), "_FillValue: "); ok {
				got = append(got, value)
			}
		}
		if !slices.Contains(got, want) || len(got) != 3 {
			t.Errorf("%s: got %q, want %s", array, got, want)
		}
	}
	for _, c := range []struct {
		size int
		args []string
	}{{8, []string{"wide"}}, {8, []string{"wide", "--decode"}}, {4, []string{"narrow", "--decode"}}, {4, []string{"packed"}}, {8, []string{"packed", "--decode"}}} {
		npy := filepath.Join(dir, "a.npy")
		mustRun(t, append([]string{"read", out, "-o", npy}, c.args...)...)
		content, err := os.ReadFile(npy)
		if err != nil {
			t.Fatal(err)
		}
		if elements := content[len(content)-3*c.size:]; elements[c.size-1] != 0x80 {
			t.Errorf("%q: the first element is % x, want -0", c.args, elements[:c.size])
		}
	}
}
