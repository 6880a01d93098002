package kerchunk

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"testing"

	"varve/fixtures/venv"
)

// python compares the elements that common Python readers read.
func python(t *testing.T, args ...string) {
	t.Helper()
	interpreter := venv.Python(t, "xarray, fsspec, kerchunk and VirtualiZarr")
	modules := "xarray, fsspec, kerchunk, fastparquet, pyarrow"
	if args[len(args)-1] == "virtualizarr" {
		modules = "virtualizarr, obstore"
	}
	if out, err := exec.Command(interpreter, "-c", "import "+modules).CombinedOutput(); err != nil {
		t.Skipf("%s lacks one of %s: %s", interpreter, modules, bytes.TrimSpace(out))
	}
	venv.Run(t, modules, append([]string{"testdata/read.py"}, args...)...)
}

func TestInterop(t *testing.T) {
	for name, c := range map[string]struct {
		archive func(testing.TB) *archive
		dest    string
		opts    Options
		format  int
	}{
		"json":                {regularArchive, "ref.json", Options{}, 2},
		"parquet":             {regularArchive, "ref.parquet", Options{}, 2},
		"small records":       {regularArchive, "ref.parquet", Options{RecordSize: 7}, 2},
		"patches apart":       {regularArchive, "ref.parquet", Options{InlineBytes: 1}, 2},
		"patches apart json":  {regularArchive, "ref.json", Options{InlineBytes: 1}, 2},
		"rectilinear json":    {rectilinearArchive, "ref.json", Options{InlineBytes: 1}, 3},
		"rectilinear parquet": {rectilinearArchive, "ref.parquet", Options{RecordSize: 7}, 3},
		"regularized json":    {rectilinearArchive, "ref.json", Options{Regular: true}, 2},
		"regularized parquet": {rectilinearArchive, "ref with space", Options{Regular: true, InlineBytes: 1}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			a := c.archive(t)
			dest := filepath.Join(t.TempDir(), c.dest)
			result, err := write(t.Context(), a.hierarchy, dest, &c.opts)
			if err != nil {
				t.Fatal(err)
			}
			if result.Format != c.format {
				t.Errorf("format %d (%s), not %d", result.Format, result.Because, c.format)
			}
			python(t, dest, a.expectations(), "fsspec")
		})
	}
}

func TestInteropVirtualiZarr(t *testing.T) {
	for _, name := range []string{"ref.json", "ref.parquet"} {
		for _, inline := range []int64{1, 4096} {
			a := plainArchive(t)
			dest := filepath.Join(t.TempDir(), name)
			if _, err := write(t.Context(), a.hierarchy, dest, &Options{InlineBytes: inline}); err != nil {
				t.Fatal(err)
			}
			python(t, dest, a.expectations(), "virtualizarr")
		}
	}
}
