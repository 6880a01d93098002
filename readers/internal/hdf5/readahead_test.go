package hdf5

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"varve/readers/readertest"
	"varve/readers/source"
)

// near is a source in memory with the block size of a local file.
type near struct{ *readertest.Memory }

func (near) BlockBits() int { return 13 }

// listing returns a description of all objects of a file, in order.
func listing(t *testing.T, ranges source.Ranges) (lines []string, objects int) {
	t.Helper()
	f, err := OpenFile(context.Background(), source.New("file.h5", ranges))
	if err != nil {
		return []string{err.Error()}, 0
	}
	tree, err := f.list(context.Background())
	if err != nil {
		return []string{err.Error()}, 0
	}
	for _, o := range tree.Objects {
		line := fmt.Sprint(o.Path, o.Kind, o.Addr, o.Order, o.Target, o.File, o.LinkType, o.Err, o.members, o.hasCreationOrder)
		for _, a := range o.Attributes {
			line += fmt.Sprint(a.Name, a.Type, a.Shape, a.Order, a.Err, a.data)
		}
		if o.Dataset != nil {
			line += fmt.Sprint(o.Dataset.path, o.Dataset.Type, o.Dataset.Shape, o.Dataset.layout)
		}
		lines = append(lines, line)
	}
	return lines, len(tree.Objects)
}

// TestReadAhead: reading ahead lists the same objects as reading one by one, in undamaged and in
// damaged files.
func TestReadAhead(t *testing.T) {
	large := 0
	err := filepath.WalkDir("../../../fixtures", func(name string, d fs.DirEntry, err error) error {
		if ext := filepath.Ext(name); err != nil || ext != ".h5" && ext != ".nc" {
			return err
		}
		data, err := os.ReadFile(name)
		for _, damage := range []int{0, 1, 2, 5, 11} {
			for at := damage; damage > 0 && at < len(data); at += len(data)/damage + 1 {
				data[at] ^= 0x55
			}
			one, n := listing(t, &readertest.Memory{Data: data})
			ahead, _ := listing(t, near{&readertest.Memory{Data: data}})
			if len(one) != len(ahead) {
				t.Fatalf("%s: %d objects one by one, %d ahead", name, len(one), len(ahead))
			}
			for i := range one {
				if one[i] != ahead[i] {
					t.Errorf("%s:\n%s\nahead\n%s", name, one[i], ahead[i])
				}
			}
			if n > 2*fewObjects {
				large++
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if large == 0 {
		t.Error("no file has many objects")
	}
}

// TestReadAheadPanics: a panic while an object is read ahead is raised when the object is taken.
func TestReadAheadPanics(t *testing.T) {
	var none *File
	x := none.openSafely(t.Context(), 0, &header{})
	if x.panicked == nil {
		t.Fatal("openSafely did not store the panic")
	}
	read := make(chan struct{})
	close(read)
	w := walk{f: memoryFile(1 << 20), Tree: &Tree{byAddr: map[uint64]*Object{}}, ahead: readAhead{of: map[uint64]*pendingObject{7: {read: read, openedObject: x}}}}
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	w.visit(t.Context(), pendingLink{"/x", link{addr: 7}})
}
