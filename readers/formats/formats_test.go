package formats_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"varve/readers/formats"
	"varve/readers/source"
)

// TestUnknown: what is no source says what it is and what to do, as far as it can be told.
func TestUnknown(t *testing.T) {
	tar := string(make([]byte, 257)) + "ustar\x0000" + string(make([]byte, 248))
	for content, want := range map[string]string{
		`{"zarr_format":3}`:              "name the folder that it is in",
		"":                               "the file is empty",
		"\n<html><body>":                 "the file is a page of HTML or XML",
		"<!DOCTYPE html><html>":          "the file is a page of HTML or XML",
		"<?xml version=\"1.0\"?><Error>": "the file is a page of HTML or XML",
		`<Dataset xmlns="http://xml.opendap.org/ns/DAP/4.0#">`:                                               "metadata of an OPeNDAP server (DMR, DDX), which do not say where the values are: name the file itself, or its .dmrpp",
		"<?xml version=\"1.0\"?>\n<netcdf xmlns=\"http://www.unidata.ucar.edu/namespaces/netcdf/ncml-2.2\">": "NcML, which describes other files: name these",
		"<?xml version=\"1.0\"?>\n<Xdmf Version=\"3.0\">":                                                    "XDMF, which describes other files: name these",
		"<?xml version=\"1.0\"?><VTKFile type=\"ImageData\">":                                                "it is a VTK file: convert it",
		"\xcd\xf3\x00\x01\x00\x00\xff\xff":                                                                   "it is a CDF file of NASA's, which is not netCDF: convert it",
		"MATLAB 5.0 MAT-file, Platform: X":                                                                   "save it with -v7.3",
		"\x1f\x8b\x08\x00":                                                                                   "it is a file compressed by gzip: decompress it",
		"PK\x03\x04 and no Zarr":                                                                             "it is a zip file that holds no Zarr, or not at its root: unpack it",
		"SIMPLE  =                    F / ":                                                                  "it is a FITS file that says of itself that it does not keep to the standard (SIMPLE = F): convert it",
		"SIMPLE  = T\nBITPIX  = -32\nNAXIS":                                                                  "it was saved as text: find the file as it was",
		tar:                                                                                                  "it is a tar file: unpack it",
		"version https://git-lfs.github.co":                                                                  "git lfs pull",
		"II":                                                                                                 `it begins with "II"`,
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
		_, err = formats.Open(t.Context(), src)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), name) {
			t.Errorf("%q: got %v, want %q and the name", content[:min(len(content), 40)], err, want)
		}
		if err := src.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestN5: a store of N5 and an array in one say what they are.
func TestN5(t *testing.T) {
	for content, want := range map[string]string{
		`{"n5": "2.0.0"}`: "it is an N5 store: convert it to netCDF or Zarr",
		`{"dimensions":[5],"blockSize":[2],"dataType":"int16","compression":{"type":"raw"}}`: "it is an N5 store",
		`{"title": "of something else"}`: "the folder is not in itself a source",
	} {
		folder := t.TempDir()
		if err := os.WriteFile(filepath.Join(folder, "attributes.json"), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		src, err := source.OpenFolder(t.Context(), folder)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := formats.Open(t.Context(), src); err == nil || !strings.Contains(err.Error(), want) {
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
