package hdf5

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"varve/readers"
	"varve/readers/source"
)

// memory is a source in memory.
type memory []byte

func (m memory) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	return bytes.NewReader(m).ReadAt(p, off)
}

func (m memory) Identity() source.Identity { return source.Identity{Size: int64(len(m))} }
func (m memory) Close() error              { return nil }
func (m memory) BlockBits() int            { return 13 }

// readEverything reads all data of a file and returns the first error.
func readEverything(ctx context.Context, content []byte) error {
	f, err := OpenFile(ctx, source.New("memory", memory(content)))
	if err != nil {
		return err
	}
	tree, err := f.Tree(ctx)
	if err != nil {
		return err
	}
	if _, err := tree.NetCDF(ctx); err != nil {
		return err
	}
	dataset, err := f.Dataset(ctx)
	if err != nil {
		return err
	}
	if _, err := json.Marshal(dataset.Format); err != nil {
		return err
	}
	for _, o := range tree.Objects {
		for i := range o.Attributes {
			if a := &o.Attributes[i]; a.Type != nil {
				_, _, _ = f.elements(ctx, a.Type, a.data)
			}
		}
		if o.Kind != DatasetObject {
			continue
		}
		if o.Dataset.Layout == readers.Chunked {
			_, err = o.Dataset.ReadChunkList(ctx, 1000)
		}
		if value, readErr := o.Dataset.value(ctx, 1<<20); readErr == nil && err == nil {
			_ = value
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// FuzzFile reads damaged files: reading must not panic and must end.
func FuzzFile(f *testing.F) {
	files, err := filepath.Glob(filepath.Join(fixtureDir, "*.*"))
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		if len(b) <= 24<<10 && filepath.Ext(name) != ".py" && filepath.Ext(name) != ".json" {
			f.Add(b)
		}
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := readEverything(ctx, content); errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%d bytes take more than 10 s", len(content))
		}
	})
}

// FuzzMessages decodes single messages of object headers.
func FuzzMessages(f *testing.F) {
	ctx := context.Background()
	for _, name := range []string{"superblock0.h5", "superblock2.h5", "types.h5", "layouts.h5", "filters.h5", "links_dense.h5"} {
		file, tree := openFixture(f, name)
		for _, o := range tree.Objects {
			h, err := file.readHeader(ctx, o.Addr)
			if err != nil {
				continue
			}
			for _, m := range h.messages {
				f.Add(byte(m.kind), m.data)
			}
		}
	}
	file := &File{src: source.New("memory", memory(nil)), super: superblock{offsets: 8, lengths: 8}}
	f.Fuzz(func(t *testing.T, kind byte, data []byte) {
		decodeMessage(ctx, file, int(kind), data)
	})
}

func decodeMessage(ctx context.Context, f *File, kind int, data []byte) {
	c := f.newCursor(data, 0)
	switch kind {
	case msgDataspace:
		product(readDataspace(c).shape)
	case msgDatatype:
		if typ, err := decodeType(c, true); err == nil {
			_ = typ.String()
			_, _ = typ.Element()
			_, _ = nativeKey(typ)
			_, _ = f.Canonical(ctx, nil, typ, make([]byte, min(typ.Size, 1<<16)))
		}
	case msgFill:
		readFill(c)
	case msgOldFill:
		readOldFill(c)
	case msgLink:
		readLink(c)
	case msgExternalFiles:
		readExternal(c)
	case msgLayout:
		readLayout(c)
	case msgFilters:
		filters := readFilters(c)
		resolveFilters(filters, nil)
	case msgAttribute:
		f.readAttribute(ctx, c, true)
	case msgLinkInfo:
		readLinkInfo(c)
	case msgAttributeInfo:
		readAttributeInfo(c)
	default:
		readSelection(c)
	}
}

// TestTruncated cuts every sample file at every multiple of a step: each must give an error, and
// none may panic.
func TestTruncated(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(fixtureDir, "*.h5"))
	if err != nil || len(files) == 0 {
		t.Fatal("no sample files", err)
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for n := 0; n < len(b); n += max(8, len(b)/200) {
			if err := readEverything(context.Background(), b[:n]); err == nil {
				t.Errorf("%s cut to %d of %d bytes is read without an error", filepath.Base(name), n, len(b))
			}
		}
	}
}

// TestCancelled: reading ends when its context is cancelled.
func TestCancelled(t *testing.T) {
	b, err := os.ReadFile(filepath.Join(fixtureDir, "index_btree2.h5"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := readEverything(ctx, b); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled read gives %v", err)
	}
}
