package main

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
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
