package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// indexArchive copies the forecasts of fixtures/gribindex, with their index files, to a folder.
func indexArchive(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	names, err := filepath.Glob("../../fixtures/gribindex/gfs.*")
	if err != nil || len(names) != 6 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, filepath.Join(dir, filepath.Base(name)), b)
	}
	return dir
}

func writeFile(t *testing.T, name string, b []byte) {
	t.Helper()
	if err := os.WriteFile(name, b, 0o666); err != nil {
		t.Fatal(err)
	}
}

// TestGRIBIndexFiles builds an archive with and without its index files, and with a template file, and compares all values.
func TestGRIBIndexFiles(t *testing.T) {
	dir := indexArchive(t)
	var want []string
	for _, flags := range [][]string{
		{"--grib-index", "ignore"}, nil, {"--grib-index", "require"}, {"--grib-index", "require", "--grib-template", filepath.Join(dir, "gfs.20240101.f006.grib2")},
	} {
		out := filepath.Join(t.TempDir(), "out.varve")
		if text, code, err := run(t, append([]string{"build", out, dir, "--quiet"}, flags...)...); code != 0 {
			t.Fatalf("%v: %v\n%s", flags, err, text)
		}
		var got []string
		for _, array := range []string{"t", "tmax", "st", "t2m", "latitude", "time", "step"} {
			text, code, err := run(t, "read", out, array)
			if code != 0 {
				t.Fatalf("%v: %s: %v", flags, array, err)
			}
			got = append(got, text)
		}
		if want == nil {
			want = got
		}
		if !slices.Equal(got, want) {
			t.Errorf("%v: other values than without index files", flags)
		}
		if text, code, err := run(t, "verify", out, "--deep"); code != 0 {
			t.Errorf("%v: verify: %v\n%s", flags, err, text)
		}
	}
}

// TestGRIBIndexOfOtherFile has index files that do not describe the data: found by the build, or when a value is read.
func TestGRIBIndexOfOtherFile(t *testing.T) {
	dir := indexArchive(t)
	name := filepath.Join(dir, "gfs.20240101.f006.grib2")
	other, err := os.ReadFile(filepath.Join(dir, "gfs.20240102.f006.grib2.idx"))
	if err != nil {
		t.Fatal(err)
	}
	right, err := os.ReadFile(name + ".idx")
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, name+".idx", other)
	out := filepath.Join(t.TempDir(), "out.varve")
	text, code, _ := run(t, "check", name, "--json")
	var doc struct {
		Findings []struct {
			Code     string
			Remedies []struct {
				Settings []struct{ Option, Value string }
			}
		}
	}
	if err := json.Unmarshal([]byte(text), &doc); err != nil || code == 0 || len(doc.Findings) != 1 || !bytes.Contains([]byte(text), []byte("grib-index")) {
		t.Errorf("check ends with code %d: %v\n%s", code, err, text)
	}
	if text, code, err := run(t, "check", name, "--grib-index", "ignore", "--quiet"); code != 0 {
		t.Errorf("without the index file: code %d, %v\n%s", code, err, text)
	}

	// A message that the build does not read: its level is another one than the index file says.
	writeFile(t, name+".idx", right)
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	const reference = 578 + 16 + 15 // the day in section 1 of TMP at 500 hPa
	data[reference]++
	writeFile(t, name, data)
	if text, code, err := run(t, "build", out, name, "--quiet"); code != 0 {
		t.Fatalf("%v\n%s", err, text)
	}
	if text, code, err := run(t, "read", out, "t"); code == 0 || err == nil || !bytes.Contains([]byte(errorText(err)), []byte("--grib-index")) {
		t.Errorf("reading the message: code %d, %v\n%s", code, err, text)
	}

	if err := os.Remove(name + ".idx"); err != nil {
		t.Fatal(err)
	}
	if text, code, _ := run(t, "check", name, "--grib-index", "require"); code == 0 {
		t.Errorf("an index file is required and there is none\n%s", text)
	}
	if _, code, _ := run(t, "check", filepath.Join(dir, "gfs.20240102.f006.grib2.idx")); code == 0 {
		t.Error("an index file was accepted as a source")
	}
}
