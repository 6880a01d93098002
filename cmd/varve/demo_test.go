package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"varve/fixtures"
)

func TestDemo(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a demo")
	out, code, err := run(t, "demo", dir)
	if err != nil || code != exitDone {
		t.Fatalf("exit code %d: %v\n%s", code, err, out)
	}
	for _, line := range []string{
		"t2m   [90 6 8] float32, chunks along time: 31 28 31",
		"2021-03.nc is encoded in another way; its chunks are rebuilt",
		"8 chunks as they are stored, 9 rebuilt",
		"verify  4424 elements, each as in its file",
	} {
		if !strings.Contains(out, line) {
			t.Errorf("the demo does not print %q:\n%s", line, out)
		}
	}
	if strings.Contains(out, "2021-02.nc is encoded") {
		t.Error("another compression level counts as another encoding")
	}
	if _, code, err := run(t, "demo", dir); code != exitUsage {
		t.Errorf("a second run in the same folder: exit code %d (%v), want %d", code, err, exitUsage)
	}
}

// TestDemoVerifies damages one chunk of the Zarr, whose elements then differ.
func TestDemoVerifies(t *testing.T) {
	dir := t.TempDir()
	files, err := writeDemoFiles(filepath.Join(dir, "files"))
	if err != nil {
		t.Fatal(err)
	}
	m, err := openMosaic(t.Context(), files)
	if err != nil {
		t.Fatal(err)
	}
	defer m.close()
	store := filepath.Join(dir, "archive.zarr")
	if _, err := m.build(t.Context(), store); err != nil {
		t.Fatal(err)
	}
	if _, err := m.verify(t.Context(), store); err != nil {
		t.Fatal(err)
	}
	chunk := filepath.Join(store, "lat", "c", "0")
	raw, err := os.ReadFile(chunk)
	if err != nil {
		t.Fatal(err)
	}
	raw[3] ^= 1
	if err := os.WriteFile(chunk, raw, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := m.verify(t.Context(), store); err == nil || !strings.Contains(err.Error(), "lat differs from") {
		t.Errorf("a damaged chunk: error is %v", err)
	}
}

// TestInteropDemo has xarray compare the Zarr with the files it is made of.
func TestInteropDemo(t *testing.T) {
	python := os.Getenv("VARVE_PYTHON")
	if python == "" {
		t.Skip("VARVE_PYTHON names no Python with xarray; make interop sets one up")
	}
	dir := filepath.Join(t.TempDir(), "demo")
	if out, _, err := run(t, "demo", dir); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	const compare = `
import glob, sys, xarray
zarr = xarray.open_zarr(sys.argv[1] + "/archive.zarr", chunks=None).load()
files = xarray.concat([xarray.open_dataset(f).load() for f in sorted(glob.glob(sys.argv[1] + "/files/*.nc"))], "time", data_vars="minimal")
xarray.testing.assert_identical(zarr, files)
print(zarr.sizes)`
	cmd := exec.Command(python, "-c", compare, dir)
	cmd.Env = append(os.Environ(), "ZARR_ARRAY__RECTILINEAR_CHUNKS=True")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("xarray: %v\n%s", err, out)
	}
}

func TestDemoFilesAreEmbedded(t *testing.T) {
	entries, err := fixtures.Demo.ReadDir("demo")
	if err != nil || len(entries) != 3 {
		t.Errorf("the demo has %d files (%v), want 3", len(entries), err)
	}
}
