package store

import (
	"errors"
	"testing"

	"varve/readers/source"
)

// TestWindowsAccess checks that access ignores case, and that a network share is accessed only if it is
// allowed.
func TestWindowsAccess(t *testing.T) {
	x, err := newAccess([]string{`c:\Data\in`, "file:///D:/", `\\server\share\in`})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{
		`C:\data\IN\x.nc`:         true,
		`C:\data\inner\x.nc`:      false,
		`C:\data\x.nc`:            false,
		`d:\a\x.nc`:               true,
		`\\SERVER\share\in\x.nc`:  true,
		`\\server\share\x.nc`:     false,
		`\\server2\share\in\x.nc`: false,
	} {
		if got := x.within(name); got != want {
			t.Errorf("%s: allowed %v", name, got)
		}
		if _, err := x.find(name, name); !want && !errors.Is(err, source.ErrForbidden) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestWindowsPrefixes checks the depth of Windows paths.
func TestWindowsPrefixes(t *testing.T) {
	for folder, want := range map[string]int{`C:\`: 0, `C:\a`: 1, `C:\a\b`: 2, `\\server\share\`: 0, `\\server\share\a`: 1} {
		if got := depthOf(folder); got != want {
			t.Errorf("%s: depth %d, want %d", folder, got, want)
		}
	}
}
