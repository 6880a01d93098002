package scan_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"varve/codec"
	"varve/manifest"
	"varve/manifest/scan"
)

// TestTails checks that bytes after the NUL of a string are not part of it.
func TestTails(t *testing.T) {
	content, err := os.ReadFile(fixtures + "/hdf5/types.h5")
	if err != nil {
		t.Fatal(err)
	}
	const clean, odd = "ab\x00\x00\x00c  \x00\x00", "ab\x00zzc  \x00z"
	if n := bytes.Count(content, []byte(clean)); n != 3 {
		t.Fatalf("the texts occur %d times, want 3: one dataset for each kind of padding", n)
	}
	for stored, want := range map[string]manifest.Layout{clean: manifest.Strided, odd: manifest.Valued} {
		name := filepath.Join(t.TempDir(), "texts.h5")
		if err := os.WriteFile(name, bytes.ReplaceAll(content, []byte(clean), []byte(stored)), 0o644); err != nil {
			t.Fatal(err)
		}
		a, err := scanAll([]string{name}, scan.Options{})
		if err != nil {
			t.Fatal(err)
		}
		f := a.Files[0]
		n := f.Header.Find("/nullterm")
		if got := f.Header.Variable(n).Storage.Layout; got != want {
			t.Errorf("%q: layout %v, want %v", stored, got, want)
		}
		if values := f.Values[n]; want == manifest.Valued && (values == nil || string(values.Data) != clean) {
			t.Errorf("%q: values %+v, want %q", stored, values, clean)
		}
	}
}

// TestInvalidUTF8 checks that strings that are not UTF-8 become bytes, without loss.
func TestInvalidUTF8(t *testing.T) {
	content, err := os.ReadFile(fixtures + "/hdf5/types.h5")
	if err != nil {
		t.Fatal(err)
	}
	for stored, want := range map[string]codec.Kind{"three": codec.String, "thr\xe9\xe8": codec.Bytes} {
		name := filepath.Join(t.TempDir(), "texts.h5")
		if err := os.WriteFile(name, bytes.ReplaceAll(content, []byte("three"), []byte(stored)), 0o644); err != nil {
			t.Fatal(err)
		}
		a, err := scanAll([]string{name}, scan.Options{})
		if err != nil {
			t.Fatal(err)
		}
		f := a.Files[0]
		n := f.Header.Find("/vlen text")
		if got := f.Header.Variable(n).Type.Kind; got != want || string(f.Values[n].Texts[2]) != stored {
			t.Errorf("%q: kind %v, values %q", stored, got, f.Values[n].Texts)
		}
	}
}
