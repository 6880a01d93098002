package names

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// areOne reports whether two names are one file here.
func areOne(t *testing.T, a, b string) bool {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, a), 0o755); err != nil {
		t.Fatal(err)
	}
	_, err := os.Stat(filepath.Join(dir, b))
	return err == nil
}

func TestCheck(t *testing.T) {
	const composed, decomposed = "\u00e9", "e\u0301"
	sameCase, sameLetter := areOne(t, "t", "T"), areOne(t, composed, decomposed)
	windows := runtime.GOOS == "windows"
	for _, c := range []struct {
		keys    []string
		refused bool
	}{
		{[]string{"zarr.json", "t/zarr.json", "tt/zarr.json"}, false},
		{[]string{"t/zarr.json", "T/zarr.json"}, sameCase},
		{[]string{"zarr.json", "Zarr.JSON/zarr.json"}, sameCase},
		{[]string{"g/t/0", "G/u/0"}, sameCase},
		{[]string{"g/t/0", "h/T/0"}, false},
		{[]string{composed + "/0", decomposed + "/0"}, sameLetter},
		{[]string{"a\u00e9/0", "a\u00e8/0", "a/0"}, false},
		{[]string{"a:b/0"}, windows},
		{[]string{"a*/0"}, windows},
		{[]string{`a\b/0`}, windows},
		{[]string{"nul/0"}, windows},
		{[]string{"g/Con/0"}, windows},
		{[]string{"a./0"}, windows},
		{[]string{"a /0"}, windows},
		{[]string{"console/0", "a b/0", "ä.b/0", "c/0/1"}, false},
	} {
		dir := t.TempDir()
		err := Check(dir, c.keys)
		if c.refused != errors.Is(err, errors.ErrUnsupported) || !c.refused && err != nil {
			t.Errorf("%q: %v", c.keys, err)
		}
		if c.refused && !strings.Contains(err.Error(), strings.TrimSuffix(c.keys[0], "/0")) {
			t.Errorf("%q: %v does not name it", c.keys, err)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("%q: left %v, %v", c.keys, left, err)
		}
	}
}
