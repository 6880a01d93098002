package zarr

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

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
}
