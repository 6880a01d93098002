package zarr

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestFullTemporaryDisk copies with temporary blocks on a file system that is too small for them. The next attempt, with another
// place, completes the copy.
func TestFullTemporaryDisk(t *testing.T) {
	small := t.TempDir()
	if err := syscall.Mount("tmpfs", small, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("no file system can be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(small, 0); err != nil {
			t.Error(err)
		}
	})
	s, o := newMaps(t)
	o.Temporary = small
	dest := filepath.Join(t.TempDir(), "copy")
	if _, err := Write(t.Context(), s.store, dest, &o); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("got %v", err)
	}
	o.Temporary = t.TempDir()
	s.copy(t, dest, o)
	s.compare(t, dest, 3)
	for _, dir := range []string{small, o.Temporary} {
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("%v remain in %s: %v", left, dir, err)
		}
	}
}
