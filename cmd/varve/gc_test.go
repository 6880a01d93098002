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

// TestGCPolicy sets a policy, which the next append obeys, and ends it.
func TestGCPolicy(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	folder, out := t.TempDir(), filepath.Join(t.TempDir(), "m.varve")
	copyMonth(t, folder, "2021-01.nc")
	mustRun(t, "build", out, folder)
	copyMonth(t, folder, "2021-02.nc")
	mustRun(t, "append", out, filepath.Join(folder, "2021-02.nc"))
	if text := mustRun(t, "gc", out, "--policy", "keep=1"); !strings.Contains(text, "policy: keep=1\n") || !strings.Contains(text, "files removed") {
		t.Errorf("gc prints %q", text)
	}
	copyMonth(t, folder, "2021-03.nc")
	mustRun(t, "append", out, filepath.Join(folder, "2021-03.nc"))
	if got := inJSON[[]struct{ Snapshot string }](t, "history", out); len(got) != 1 {
		t.Errorf("the history is %v", got)
	}
	for _, wrong := range []string{"keep=0", "keep", "daily=x", "weekly=3", "keep=1,"} {
		if _, err := runCommand(t, t.Context(), "gc", out, "--policy", wrong); err == nil || !strings.Contains(err.Error(), "--policy "+wrong+": want") {
			t.Errorf("%s: %v", wrong, err)
		}
	}
	if text := mustRun(t, "gc", out, "--policy", "none"); strings.Contains(text, "policy") {
		t.Errorf("gc prints %q", text)
	}
}
