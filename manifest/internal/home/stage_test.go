package home

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// namesIn lists a folder.
func namesIn(t *testing.T, dir string) (list []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if filepath.Ext(e.Name()) != ".lock" { // of Windows, as long as a draft is written
			list = append(list, e.Name())
		}
	}
	return list
}

func begun(t *testing.T, dest string) *Stage {
	t.Helper()
	d, err := NewStage(dest)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(d.Path("content"), []byte(filepath.Base(d.dir)), 0o644); err != nil {
		t.Fatal(err)
	}
	return d
}

// abandon leaves a draft as a process does that is killed.
func abandon(t *testing.T, d *Stage) {
	t.Helper()
	if err := unlock(d.lock); err != nil {
		t.Fatal(err)
	}
}

func TestPublish(t *testing.T) {
	for name, publish := range map[string]func(*Stage) error{
		"at once":  func(d *Stage) error { return d.Publish(t.Context(), "content", true) },
		"in steps": (*Stage).replace,
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			dest := filepath.Join(dir, "dest")
			first := begun(t, dest)
			if err := errors.Join(first.Publish(t.Context(), "content", false), first.Discard(nil)); err != nil {
				t.Fatal(err)
			}
			second := begun(t, dest)
			if err := second.Publish(t.Context(), "content", false); err == nil {
				t.Error("what stood there was replaced")
			}
			if err := errors.Join(publish(second), second.Discard(nil)); err != nil {
				t.Fatal(err)
			}
			if got, err := os.ReadFile(filepath.Join(dest, "content")); err != nil || string(got) != filepath.Base(second.dir) {
				t.Errorf("there is %q, %v", got, err)
			}
			if got := namesIn(t, dir); !slices.Equal(got, []string{"dest"}) {
				t.Errorf("left %q", got)
			}
		})
	}
	for name, publish := range map[string]func(*Stage) error{
		"at once":  func(d *Stage) error { return d.Publish(t.Context(), "content", true) },
		"in steps": (*Stage).replace,
	} {
		d := begun(t, filepath.Join(t.TempDir(), "new"))
		if err := errors.Join(publish(d), d.Discard(nil)); err != nil {
			t.Errorf("where nothing stood, %s: %v", name, err)
		}
	}
}

func TestPublishFile(t *testing.T) {
	dest := filepath.Join(t.TempDir(), "file")
	for _, replace := range []bool{false, true} {
		d := begun(t, dest)
		if err := errors.Join(d.PublishFile(t.Context(), "content", dest, replace), d.Discard(nil)); err != nil {
			t.Fatal(err)
		}
	}
	d := begun(t, dest)
	if err := d.PublishFile(t.Context(), "content", dest, false); !errors.Is(err, fs.ErrExist) {
		t.Errorf("over a file: got %v", err)
	}
	if err := d.Discard(nil); err != nil {
		t.Fatal(err)
	}
	if got := namesIn(t, filepath.Dir(dest)); len(got) != 1 {
		t.Errorf("left %q", got)
	}
}

// TestSweep checks that only abandoned drafts are removed.
func TestSweep(t *testing.T) {
	dir := t.TempDir()
	dest := filepath.Join(dir, "dest")
	living, left := begun(t, dest), begun(t, dest)
	abandon(t, left)
	for _, name := range []string{".dest.draft-keep", ".dest.draft-1.old", ".dest.draft-", ".other.draft-1"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	next := begun(t, dest)
	got := namesIn(t, dir)
	want := []string{".dest.draft-", ".dest.draft-1.old", ".dest.draft-keep", ".other.draft-1", filepath.Base(living.dir), filepath.Base(next.dir)}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("there are %q, not %q", got, want)
	}
	if err := errors.Join(living.Publish(t.Context(), "content", false), living.Discard(nil), next.Discard(nil)); err != nil {
		t.Error(err)
	}
}

func TestLongName(t *testing.T) {
	d := begun(t, filepath.Join(t.TempDir(), strings.Repeat("n", 250)))
	if err := errors.Join(d.Publish(t.Context(), "content", false), d.Discard(nil)); err != nil {
		t.Error(err)
	}
}
