package icechunk

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"varve/manifest"
	"varve/manifest/repo"
)

// during calls do while an archive is exported.
func (a *archive) during(dest string, happens func() error) (*Result, error) {
	in := a.input()
	in.source = func(_ context.Context, row int64) (manifest.Source, error) { return a.sources[row], happens() }
	return write(context.Background(), in, dest, (*Options)(nil).defaults(), a)
}

// TestCreateMeanwhile checks that files created at the destination during an export stay, and that the export
// fails.
func TestCreateMeanwhile(t *testing.T) {
	a := newArchive(t)
	a.add(t, "/v", 3, 2, 3)
	dest := filepath.Join(t.TempDir(), "repo")
	theirs := filepath.Join(dest, "theirs")
	_, err := a.during(dest, func() error {
		return errors.Join(os.MkdirAll(dest, 0o755), os.WriteFile(theirs, nil, 0o644))
	})
	if err == nil {
		t.Error("a folder was replaced")
	}
	if got := fileNames(tree(t, filepath.Dir(dest))); !slices.Equal(got, []string{"repo/theirs"}) {
		t.Errorf("there are %q", got)
	}
}

// TestCommitMeanwhile checks that a commit during an append stays, and that the append fails and removes its
// files.
func TestCommitMeanwhile(t *testing.T) {
	a := newArchive(t)
	v := a.add(t, "/v", 3, 2, 3)
	dest := filepath.Join(t.TempDir(), "repo")
	a.export(t, dest, Options{})
	before := tree(t, dest)
	a.id = "second"
	v.grow(t, 3, 2, 3, 4)
	file := filepath.Join(dest, repoKey)
	theirs := append(slices.Clone(before[repoKey]), 0)
	_, err := a.during(dest, func() error { return os.WriteFile(file, theirs, 0o644) })
	if !errors.Is(err, repo.ErrConflict) {
		t.Errorf("got %v", err)
	}
	after := tree(t, dest)
	if !slices.Equal(fileNames(after), fileNames(before)) || !slices.Equal(after[repoKey], theirs) {
		t.Errorf("files before %q, after %q", fileNames(before), fileNames(after))
	}
	if err := os.WriteFile(file, before[repoKey], 0o644); err != nil {
		t.Fatal(err)
	}
	if r := a.export(t, dest, Options{}); !r.Appended {
		t.Errorf("the next one: %+v", r)
	}
}
