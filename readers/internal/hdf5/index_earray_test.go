package hdf5

import (
	"context"
	"os/exec"
	"path/filepath"
	"testing"

	"varve/fixtures/venv"
	"varve/readers/source"
)

// pagedArray is a program that writes 200,000 chunks of one byte, so that data blocks have 2 pages
// and their bitmaps share bytes.
const pagedArray = `
import h5py, numpy, sys
with h5py.File(sys.argv[1], "w", libver="latest") as f:
    v = f.create_dataset("v", (200000,), "i1", chunks=(1,), maxshape=(None,))
    v[:] = numpy.ones(200000, "i1")
`

func TestInteropPagedExtensibleArray(t *testing.T) {
	python := venv.Python(t, "h5py")
	name := filepath.Join(t.TempDir(), "paged.h5")
	if out, err := exec.Command(python, "-c", pagedArray, name).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	ctx := context.Background()
	src, err := source.Open(ctx, name)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	f, err := OpenFile(ctx, src)
	if err != nil {
		t.Fatal(err)
	}
	tree, err := f.Tree(ctx)
	if err != nil {
		t.Fatal(err)
	}
	v, err := tree.Lookup("/v")
	if err != nil {
		t.Fatal(err)
	}
	n := uint64(0)
	for r, err := range v.Dataset.Refs(ctx, nil) {
		if err != nil {
			t.Fatal(err)
		}
		if r.Index[0] != n {
			t.Fatalf("after %d refs: the chunk at %d", n, r.Index[0])
		}
		n++
	}
	if n != 200000 {
		t.Errorf("%d refs of 200000", n)
	}
}
