//go:build unix

package home

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestRights: a folder that is published has the rights that the user gives, and one in the folder of
// temporary files is nobody else's.
func TestRights(t *testing.T) {
	old := unix.Umask(0o027)
	defer unix.Umask(old)
	for mode, want := range map[fs.FileMode]fs.FileMode{0o777: 0o750, 0o700: 0o700} {
		d, err := newStage(filepath.Join(t.TempDir(), "dest"), mode)
		if err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(d.Path()); err != nil || info.Mode().Perm() != want {
			t.Errorf("%v, %v, not %v", info.Mode(), err, want)
		}
		if err := d.Discard(nil); err != nil {
			t.Error(err)
		}
	}
}
