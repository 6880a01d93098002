package icechunk

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"varve/readers"
	"varve/readers/source"
)

// TestContainers checks the names of sources that locations in containers have.
func TestContainers(t *testing.T) {
	c, err := containersOf([]string{"disk=/data/files", "bucket=s3://b/era5/", "web=https://example.org/a%20b"})
	if err != nil {
		t.Fatal(err)
	}
	for location, want := range map[string]string{
		"vcc://disk/2021/a%20b.nc":   filepath.FromSlash("/data/files/2021/a b.nc"),
		"vcc://bucket/2021/a%20b.nc": "s3://b/era5/2021/a b.nc",
		"vcc://web/x%20y.nc":         "https://example.org/a%20b/x%20y.nc",
		"s3://other/a%20b.nc":        "s3://other/a b.nc",
		"file:///data/a%20b.nc":      "file:///data/a%20b.nc",
	} {
		if got, err := c.source(location); err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", location, got, err, want)
		}
	}
	if _, err := c.source("vcc://tape/x.nc"); !errors.Is(err, source.ErrForbidden) || !strings.Contains(err.Error(), "--container tape=PLACE") {
		t.Errorf("unknown container: %v", err)
	}
	for _, location := range []string{"vcc://disk/../secret.nc", "vcc://disk/%2e%2e/secret.nc", "vcc://disk//etc/passwd", "vcc://disk/"} {
		if got, err := c.source(location); !errors.Is(err, readers.ErrCorrupt) {
			t.Errorf("%s: %q, %v", location, got, err)
		}
	}
	for _, texts := range [][]string{{"disk"}, {"=/data"}, {"disk="}, {"a=/x", "a=/y"}} {
		if _, err := containersOf(texts); err == nil {
			t.Errorf("%q is valid", texts)
		}
	}
}
