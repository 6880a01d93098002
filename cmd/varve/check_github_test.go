package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCheckGitHub checks the annotations of files that cannot be combined, and that the text of a finding cannot end one.
func TestCheckGitHub(t *testing.T) {
	dir := t.TempDir()
	copyMonth(t, dir, "2021-01.nc")
	copyMonth(t, dir, "2021-03.nc")
	t.Chdir(dir)
	if err := os.WriteFile(filepath.Join(dir, "a,b%.nc"), []byte("no netCDF file"), 0o666); err != nil {
		t.Fatal(err)
	}
	out, err := runCommand(t, t.Context(), "check", "2021-01.nc", "a,b%.nc", "--format", "github")
	if err == nil {
		t.Error("the check succeeded")
	}
	const begin = "::error file=a%2Cb%25.nc,title=varve unreadable-file::"
	if line, _, _ := strings.Cut(out, "\n"); !strings.HasPrefix(line, begin) || !strings.Contains(line, "a,b%25.nc") {
		t.Errorf("got %q, want it to begin with %q", out, begin)
	}
	for line := range strings.Lines(out) {
		if !strings.HasPrefix(line, "::") {
			t.Errorf("a line is no annotation: %q", line)
		}
	}
	// March has other codecs.
	const codecs = "::warning file=2021-03.nc,title=varve codecs-differ::"
	if out := mustRun(t, "check", "2021-01.nc", "2021-03.nc", "--format", "github"); !strings.Contains(out, codecs) {
		t.Errorf("got %q, want %q", out, codecs)
	}
	if _, err := runCommand(t, t.Context(), "check", "2021-01.nc", "--format", "yaml"); err == nil || err.Error() != "--format yaml: want github or text" {
		t.Errorf("yaml: %v", err)
	}
}
