package zarr

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"varve/fixtures/machine"
	"varve/fixtures/venv"
	"varve/manifest"
	"varve/manifest/conventions"
)

// TestInteropConventions compares the attributes of conventions with the corners and systems that GDAL finds, on grids of many
// projections.
func TestInteropConventions(t *testing.T) {
	dir := t.TempDir()
	venv.Run(t, "rasterio and netCDF4", "testdata/grids.py", "make", dir)
	files, err := filepath.Glob(filepath.Join(dir, "*.nc"))
	if err != nil || len(files) < 10 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		r := newSample(t, file).copy(t, strings.TrimSuffix(file, ".nc")+".zarr", Options{Compressor: "zstd", Conventions: conventions.Names})
		if len(r.Description.Omitted) > 0 {
			t.Errorf("%s: %+v", file, r.Description.Omitted)
		}
	}
	venv.Run(t, "rasterio and netCDF4", "testdata/grids.py", "check", dir)
}

// TestInteropGeoTIFF checks that copies of GeoTIFF files have the values, the system and the transform of the files: of format 3 for
// xarray, of format 2 for GDAL's driver of Zarr, as old as Debian's.
func TestInteropGeoTIFF(t *testing.T) {
	for _, folder := range []string{"../../../fixtures/tiff", "../../../fixtures/tiff/sidecars"} {
		t.Run(filepath.Base(folder), func(t *testing.T) { testGeoTIFF(t, folder) })
	}
}

func testGeoTIFF(t *testing.T, folder string) {
	files, err := filepath.Glob(folder + "/*.tif")
	if err != nil || len(files) < 8 {
		t.Fatal(files, err)
	}
	dir, count := t.TempDir(), 0
	for _, file := range files {
		stem := strings.TrimSuffix(filepath.Base(file), ".tif")
		if slices.Contains([]string{"pages", "imagej", "imagej_hidden", "ome.ome"}, stem) {
			continue // GDAL reads the first page only
		}
		count++
		s := newSample(t, file)
		s.copy(t, filepath.Join(dir, stem+".3.zarr"), Options{Conventions: conventions.Names})
		s.copy(t, filepath.Join(dir, stem+".2.zarr"), Options{Format: 2, Compressor: "gzip", Chunks: []Edges{{Dim: "y", Sizes: []int64{16}}}, Conventions: conventions.Set{conventions.GDAL}})
	}
	want := fmt.Sprintf("%d copies are equal to their files\n", count)
	t.Run("xarray", func(t *testing.T) {
		venv.Run(t, "xarray, imagecodecs and rasterio", "testdata/geotiff.py", "xarray", folder, dir)
	})
	t.Run("GDAL", func(t *testing.T) {
		out, err := machine.Command(t, machine.Find(t, "osgeo"), "testdata/geotiff.py", "gdal", folder, dir).CombinedOutput()
		if err != nil || string(out) != want {
			t.Errorf("%v\n%s", err, out)
		}
	})
}

// TestConventions checks that a copy with conventions is appended to with the same, and that it is complete.
func TestConventions(t *testing.T) {
	s := newSample(t, january)
	dest := filepath.Join(t.TempDir(), "out")
	o := Options{Conventions: conventions.Set{conventions.Spatial}}
	r := s.copy(t, dest, o)
	if len(r.Description.Arrays) == 0 {
		t.Fatalf("%+v", r.Description)
	}
	s.append(t, february)
	var exists *manifest.ExistsError
	if _, err := Write(t.Context(), s.store, dest, &Options{Append: true, Manifest: s.repo}); !errors.As(err, &exists) {
		t.Errorf("appended without conventions: %v", err)
	}
	o.Append, o.Rectilinear = true, true
	s.copy(t, dest, o)
	s.compare(t, dest, 3)
	for _, name := range []string{"zarr.json", "t2m/zarr.json"} {
		data, err := os.ReadFile(filepath.Join(dest, name))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(data), `"spatial:transform"`) {
			t.Errorf("%s has no transform", name)
		}
	}
	if _, err := Write(t.Context(), s.store, dest+"2", &Options{Format: 2, Conventions: o.Conventions}); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("format 2: %v", err)
	}
	if r := s.copy(t, dest+"2", Options{Format: 2, Chunks: []Edges{{Dim: "time", Sizes: []int64{31}}}, Conventions: conventions.Set{conventions.GDAL}}); len(r.Description.Arrays) == 0 {
		t.Errorf("format 2 for GDAL: %+v", r.Description)
	}
	data, err := os.ReadFile(filepath.Join(dest+"2", "t2m", ".zattrs"))
	if err != nil || !strings.Contains(string(data), `"_CRS":{"url":"http://www.opengis.net/def/crs/EPSG/0/4326"}`) {
		t.Errorf("%v, %s", err, data)
	}
}
