package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Of many files that are removed some are named.
func TestGCNamesFew(t *testing.T) {
	out := seaArchive(t)
	const many = 3 * shownRemoved
	for i := range many {
		if err := os.WriteFile(filepath.Join(out, "tables", fmt.Sprintf("refs-%064x.parquet", i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	said, _, err := run(t, "gc", out)
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("… and %d more\n%d files removed, 0 B freed\n", many-shownRemoved, many)
	if strings.Count(said, "\n") != shownRemoved+2 || !strings.HasSuffix(said, want) {
		t.Errorf("gc says\n%s", said)
	}
}
