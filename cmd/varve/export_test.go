package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"varve/fixtures/classic"
)

// TestExportReplaces checks that exports to a local file replace it only with --force.
func TestExportReplaces(t *testing.T) {
	t.Chdir(t.TempDir())
	folder{t, "."}.months("data", 1)
	if _, _, err := run(t, "build", "a.varve", "data"); err != nil {
		t.Fatal(err)
	}
	for line, dest := range map[string]string{
		"export gdal-vrt a.varve a.vrt":                                      "a.vrt",
		"export stac a.varve a.json --collection --href https://example.org": "a.json",
	} {
		if err := os.WriteFile(dest, []byte("other"), 0o600); err != nil {
			t.Fatal(err)
		}
		args := strings.Fields(line)
		_, code, err := run(t, args...)
		if left, _ := os.ReadFile(dest); code != 2 || !errors.Is(err, fs.ErrExist) || string(left) != "other" {
			t.Errorf("%s: exit code %d, %v: %q", line, code, err, left)
		}
		_, _, err = run(t, append(args, "--force")...)
		if left, _ := os.ReadFile(dest); err != nil || string(left) == "other" {
			t.Errorf("%s --force: %v: %q", line, err, left)
		}
	}
}

// TestVRTNamesFlipped: export gdal-vrt names arrays that it leaves out because a file is read backwards, as text and as JSON.
func TestVRTNamesFlipped(t *testing.T) {
	dir := t.TempDir()
	const n = 300 // more elements than a VRT has values of
	for i, name := range []string{"a.nc", "b.nc"} {
		lats := make([]float32, n)
		for k := range lats {
			lats[k] = float32(k) / 4
		}
		if i == 1 {
			slices.Reverse(lats)
		}
		f := &classic.File{Dims: []classic.Dim{{Name: "time", Length: 1}, {Name: "lat", Length: n}, {Name: "lon", Length: n}}, Vars: []classic.Var{
			{Name: "time", Dims: []string{"time"}, Data: []int32{int32(i)}, Attributes: []classic.Attribute{{Name: "units", Value: "days since 2000-01-01"}}},
			{Name: "lat", Dims: []string{"lat"}, Data: lats, Attributes: []classic.Attribute{{Name: "units", Value: "degrees_north"}}},
			{Name: "v", Dims: []string{"time", "lat", "lon"}, Data: make([]float32, n*n)}}}
		if err := f.Write(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	out := filepath.Join(dir, "o.varve")
	mustRun(t, "build", out, filepath.Join(dir, "a.nc"), filepath.Join(dir, "b.nc"), "--flip", "lat")
	if text := mustRun(t, "export", "gdal-vrt", out, filepath.Join(dir, "o.vrt")); !strings.Contains(text, "left out: /v") || !strings.Contains(text, "backwards") {
		t.Errorf("got %s", text)
	}
	var doc struct {
		Omitted []struct{ Path, Why string }
	}
	if err := json.Unmarshal([]byte(mustRun(t, "export", "gdal-vrt", out, filepath.Join(dir, "o.vrt"), "--force", "--json")), &doc); err != nil || len(doc.Omitted) != 1 || doc.Omitted[0].Path != "/v" {
		t.Errorf("%v: %+v", err, doc)
	}
}

// TestExportPart exports a part of an archive to each format that varve reads again, and compares the values with a selection.
func TestExportPart(t *testing.T) {
	t.Chdir(t.TempDir())
	mustRun(t, "demo", "demo")
	const out = "all.varve"
	mustRun(t, "build", out, "demo/files", "--quiet")
	for i, isel := range []string{"lat=[4,0,1],lon=2:7", "lat=0:4,lon=:"} { // the second leaves chunks whose end is beyond the part
		terms := []string{"--sel", "time=2021-01-20:2021-03-03", "--isel", isel}
		for _, c := range []struct{ format, dest string }{{"zarr", "a.zarr"}, {"kerchunk", "a.json"}, {"kerchunk", "a.parquet"}, {"icechunk", "a.icechunk"}} {
			t.Run(fmt.Sprint(c.dest, i), func(t *testing.T) {
				mustRun(t, append([]string{"export", c.format, out, c.dest, "--force", "--vars", "t2*"}, terms...)...)
				mustRun(t, "build", c.dest+".varve", c.dest, "--quiet", "--force", "--allow", "demo/files")
				for array, of := range map[string][]string{"t2m": terms, "time": terms[:2], "lat": {"--isel", isel[:strings.LastIndex(isel, ",")]}} {
					want := mustRun(t, append([]string{"read", out, array}, of...)...)
					if got := mustRun(t, "read", c.dest+".varve", array); got != want || strings.Count(got, "\n") < 3 {
						t.Errorf("%s: got %d bytes\n%.300s\nwant %d bytes\n%.300s", array, len(got), got, len(want), want)
					}
				}
			})
		}
	}
	for _, line := range []string{
		"export zarr all.varve b.zarr --vars nothing", "export kerchunk all.varve b.json --sel depth=3",
		"export icechunk all.varve a.icechunk --vars t2m", "export table all.varve b.parquet --sel lat=1000",
	} {
		if _, code, err := run(t, strings.Fields(line)...); code != exitUsage {
			t.Errorf("%s: exit code %d (%v)", line, code, err)
		}
	}
}
