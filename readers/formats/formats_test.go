package formats_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"varve/readers/formats"
	"varve/readers/source"
)

// TestUnknown: the error of an unknown source names the format and a remedy, if they can be
// recognized.
func TestUnknown(t *testing.T) {
	tar := string(make([]byte, 257)) + "ustar\x0000" + string(make([]byte, 248))
	for content, want := range map[string]string{
		`{"zarr_format":3}`:              "Zarr store",
		"":                               "empty",
		"\n<html><body>":                 "HTML",
		"<!DOCTYPE html><html>":          "HTML",
		"<?xml version=\"1.0\"?><Error>": "HTML",
		`<Dataset xmlns="http://xml.opendap.org/ns/DAP/4.0#">`:                                               ".dmrpp",
		"<?xml version=\"1.0\"?>\n<netcdf xmlns=\"http://www.unidata.ucar.edu/namespaces/netcdf/ncml-2.2\">": "NcML",
		"<?xml version=\"1.0\"?>\n<Xdmf Version=\"3.0\">":                                                    "XDMF",
		"<?xml version=\"1.0\"?><VTKFile type=\"ImageData\">":                                                "VTK",
		"\xcd\xf3\x00\x01\x00\x00\xff\xff":                                                                   "NASA",
		"MATLAB 5.0 MAT-file, Platform: X":                                                                   "-v7.3",
		"\x1f\x8b\x08\x00":                                                                                   "gzip",
		"PK\x03\x04 and no Zarr":                                                                             "zip file",
		"SIMPLE  =                    F / ":                                                                  "SIMPLE = F",
		"SIMPLE  = T\nBITPIX  = -32\nNAXIS":                                                                  "FITS header",
		tar:                                                                                                  "tar file",
		"version https://git-lfs.github.co":                                                                  "git lfs pull",
		"II":                                                                                                 `"II"`,
	} {
		name := filepath.Join(t.TempDir(), "a.nc")
		if strings.Contains(content, "zarr_format") {
			name = filepath.Join(t.TempDir(), "zarr.json")
		}
		if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		src, err := source.Open(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		_, err = formats.Open(t.Context(), src, nil)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), name) {
			t.Errorf("%q: got %v, want %q and the name", content[:min(len(content), 40)], err, want)
		}
		if err := src.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestN5: a store of N5 and an array in one are recognized.
func TestN5(t *testing.T) {
	for content, want := range map[string]string{
		`{"n5": "2.0.0"}`: "N5",
		`{"dimensions":[5],"blockSize":[2],"dataType":"int16","compression":{"type":"raw"}}`: "N5",
		`{"title": "of something else"}`: "HDF5, netCDF-3",
	} {
		folder := t.TempDir()
		if err := os.WriteFile(filepath.Join(folder, "attributes.json"), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		src, err := source.OpenFolder(t.Context(), folder)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := formats.Open(t.Context(), src, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", content, err, want)
		}
		if is := formats.IsStore(t.Context(), src); is != strings.Contains(want, "N5") {
			t.Errorf("%s: a store: %v", content, is)
		}
		if err := src.Close(); err != nil {
			t.Error(err)
		}
	}
}
