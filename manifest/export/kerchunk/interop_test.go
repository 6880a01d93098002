package kerchunk

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"testing"

	"varve/fixtures/soak"
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
	for _, c := range soak.Some(t, []struct {
		name    string
		archive func(testing.TB) *archive
		dest    string
		opts    Options
		format  int
	}{
		{"patches apart json", regularArchive, "ref.json", Options{InlineBytes: 1}, 2},
		{"json", regularArchive, "ref.json", Options{}, 2},
		{"small records", regularArchive, "ref.parquet", Options{RecordSize: 7}, 2},
		{"parquet", regularArchive, "ref.parquet", Options{}, 2},
		{"rectilinear json", rectilinearArchive, "ref.json", Options{InlineBytes: 1}, 3},
		{"patches apart", regularArchive, "ref.parquet", Options{InlineBytes: 1}, 2},
		{"rectilinear parquet", rectilinearArchive, "ref.parquet", Options{RecordSize: 7}, 3},
		{"regularized json", rectilinearArchive, "ref.json", Options{Regular: true}, 2},
		{"regularized parquet", rectilinearArchive, "ref with space", Options{Regular: true, InlineBytes: 1}, 2},
	}, 2) {
		t.Run(c.name, func(t *testing.T) {
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
	for _, c := range soak.Some(t, []struct {
		name   string
		inline int64
	}{{"ref.json", 1}, {"ref.json", 4096}, {"ref.parquet", 1}, {"ref.parquet", 4096}}, 3) {
		a := plainArchive(t)
		dest := filepath.Join(t.TempDir(), c.name)
		if _, err := write(t.Context(), a.hierarchy, dest, &Options{InlineBytes: c.inline}); err != nil {
			t.Fatal(err)
		}
		python(t, dest, a.expectations(), "virtualizarr")
	}
}
