package source

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestWindowsPaths(t *testing.T) {
	for name, want := range map[string]string{
		`C:\data\x.nc`:                     `C:\data\x.nc`,
		`C:/data/x.nc`:                     `C:/data/x.nc`,
		`C://data/x.nc`:                    `C://data/x.nc`,
		`\\server\share\x.nc`:              `\\server\share\x.nc`,
		"file:///C:/data/a%20b.nc":         `C:\data\a b.nc`,
		"file://localhost/C:/data/x.nc":    `C:\data\x.nc`,
		"file://C:/data/x.nc":              `C:\data\x.nc`,
		"file:///C:":                       `C:\`,
		"file://server/share/x.nc":         `\\server\share\x.nc`,
		"file:////server/share/x.nc":       `\\server\share\x.nc`,
		"file:///data/x.nc":                `\data\x.nc`,
		"local://C:/data/100%.nc":          `C:\data\100%.nc`,
		"FILE:///c:/%C3%A9.nc":             `c:\é.nc`,
		`file:///C:/data/..%5C..%5Csecret`: `C:\data\..\..\secret`,
	} {
		if got, err := LocalPath(name); err != nil || got != want {
			t.Errorf("%s: got %s, %v, want %s", name, got, err, want)
		}
	}
}

// TestOpenShared checks that an open file can be replaced by others, and that the change is detected.
func TestOpenShared(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, []byte("12345"), 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := OpenShared(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if !hasName(f, nil) {
		t.Error("the name is empty")
	}
	other := name + " now"
	if err := errors.Join(os.Rename(name, other), os.WriteFile(name, []byte("other"), 0o644), os.Remove(other)); err != nil {
		t.Error(err)
	}
	var b [5]byte
	if n, err := f.ReadAt(b[:], 0); n != 5 || err != nil || string(b[:]) != "12345" {
		t.Errorf("read %q, %v", b[:n], err)
	}
}
