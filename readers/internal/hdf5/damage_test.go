package hdf5

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"testing"

	"varve/readers"
)

// patch holds bytes to write, by offset.
type patch map[int]string

// patched opens a sample file with a patch and updated checksums.
func patched(t *testing.T, name string, p patch) (*File, error) {
	t.Helper()
	return changed(t, name, func(b []byte) []byte {
		d := newDamager(b)
		b = bytes.Clone(b)
		for at, what := range p {
			copy(b[at:], what)
		}
		d.updateChecksums(b)
		return b
	})
}

// TestDamageIsRejected: damage that libhdf5 rejects is rejected, even if the rest could be read.
// Most of these cases would otherwise return fill values in place of data.
func TestDamageIsRejected(t *testing.T) {
	for _, c := range []struct {
		name, file, path string
		at               int64 // offset in the error
		patch            patch
	}{
		{"flags of the file", "superblock2.h5", "", 12, patch{11: "\x08"}},
		{"flags of an old file", "superblock0.h5", "", 24, patch{21: "\x01"}},
		{"free space", "superblock1.h5", "", 44, patch{36: "\x00\x10\x00\x00\x00\x00\x00\x00"}},
		{"a gap beside an empty message", "links_files.h5", "/own", 458, patch{272: "\xb7"}},
		{"a modification time with other characters than digits", "netcdf4_classic.nc", "/", 643, patch{568: "\x0e"}},
		{"order of creation", "netcdf4_classic.nc", "/", 71, patch{70: "\xff"}},
		{"percentages", "index_btree2.h5", "/deflated", 606, patch{604: "\x65"}},
		{"more chunks than there can be", "index_btree2.h5", "/deflated", -1, patch{525: "\x00\x00\x00\x00\x00\x00\x00\x80"}},
		{"a root object that is not a group", "index_single.h5", "/", 195, patch{36: "\xc3"}},
		{"the offset of external data", "layouts.h5", "/external", -1, patch{4185: "\xff"}},
		{"a chunk that starts inside an element", "filters.h5", "/scaleoffset", 22008, patch{22028: "\xff\xff\xff\xff\xff\xff\xff\xff"}},
		{"the number of slots", "index_fixed.h5", "/grows", 491, patch{238: "\x01"}},
		{"a mapping beyond its dataset", "layouts.h5", "/virtual", 6226, patch{4404: "\x03"}},
		{"the fill time", "index_fixed.h5", "/hole", 643, patch{642: "\x2c"}},
		{"a continuation without an end", "conventions.h5", "/truth", 840, patch{832: "\x00"}},
		{"a dataset without a dataspace", "index_single.h5", "/plain", -1, patch{203: "\x00"}},
		{"a dimension with too many chunks", "index_extensible_paged.h5", "/x", -1, patch{218: "\x80"}},
		{"an empty fill value", "index_extensible_paged.h5", "/x", 253, patch{249: "\x00"}},
		{"data of an empty dataset", "superblock3.h5", "/x", -1, patch{367: "\x00"}},
		{"chunks with another element size", "superblock1.h5", "/x", -1, patch{975: "\x04"}},
		{"an entry of an unknown type", "phony_dimensions.h5", "/b", 1160, patch{1139: "\xff"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, err := patched(t, c.file, c.patch)
			if c.path != "" {
				err = damageOf(t, mustTree(t, f, err), c.path)
			}
			if !errors.Is(err, readers.ErrCorrupt) || offsetOf(err) != c.at {
				t.Errorf("offset %d (want %d): %v", offsetOf(err), c.at, err)
			}
		})
	}
}

// damageOf returns the error of an object, of its index or of its values.
func damageOf(t *testing.T, tree *Tree, path string) error {
	t.Helper()
	i := slices.IndexFunc(tree.Objects, func(o *Object) bool { return o.Path == path })
	if i < 0 {
		t.Fatalf("%s is not listed", path)
	}
	o := tree.Objects[i]
	if o.Err != nil || o.Kind != DatasetObject {
		return o.Err
	}
	if o.Dataset.Layout == readers.Chunked {
		if _, err := o.Dataset.ReadChunkList(context.Background(), 1000); err != nil {
			return err
		}
	}
	_, err := o.Dataset.ReadAll(context.Background(), 1<<20)
	return err
}

// TestTextLengthMismatch: like libhdf5, the reader rejects a string if its length and the length of its
// heap object differ.
func TestTextLengthMismatch(t *testing.T) {
	f, err := patched(t, "netcdf4_texts.nc", patch{1138: "\x00"})
	o, err := mustTree(t, f, err).Lookup("/v")
	if err != nil {
		t.Fatal(err)
	}
	a, ok := findAttribute(o, "one")
	if !ok {
		t.Fatal("no attribute")
	}
	_, err = f.Texts(context.Background(), a.Type, a.data)
	if !errors.Is(err, readers.ErrCorrupt) {
		t.Errorf("got %v", err)
	}
}

// TestHeapDamaged: a global heap with two objects of the same index, or with a wrong size of its
// free space, is rejected.
func TestHeapDamaged(t *testing.T) {
	for at, p := range map[int64]patch{
		6144: {6184: "\x03"}, // two objects with one index
		6328: {6320: "\x00"}, // size of the free space
	} {
		f, err := patched(t, "types.h5", p)
		tree := mustTree(t, f, err)
		o, err := tree.Lookup("/vlen text")
		if err != nil {
			t.Fatal(err)
		}
		stored, err := o.Dataset.ReadAll(context.Background(), 1<<10)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Texts(context.Background(), o.Dataset.Type, stored); !errors.Is(err, readers.ErrCorrupt) || offsetOf(err) != at {
			t.Errorf("offset %d (want %d): %v", offsetOf(err), at, err)
		}
	}
}

// TestNameWithNUL: like libhdf5, the reader rejects names with a NUL inside.
func TestNameWithNUL(t *testing.T) {
	f, err := patched(t, "layouts.h5", patch{1603: "\x00t"})
	if err := damageOf(t, mustTree(t, f, err), "/null te"); err != nil {
		t.Error(err)
	}
}

// TestOneDimensionalKeys: for chunks of one dimension, libhdf5 ignores the last number of the key
// to the left of a chunk.
func TestOneDimensionalKeys(t *testing.T) {
	f, err := patched(t, "netcdf4_growing.nc", patch{16178: "\xff"})
	got, err := valuesOf(t, f, err, "/g/v")
	if want := []byte{0, 0, 1, 0, 2, 0}; err != nil || !bytes.Equal(got, want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
}

// TestChunkNotFound: libhdf5 reads fill values for a chunk in the wrong place of a v1 B-tree. The
// chunk list reports such a chunk; refs and values of a readers.Dataset fail.
func TestChunkNotFound(t *testing.T) {
	const key, node = 4160 + 8 + 8, 4120
	f, err := patched(t, "superblock1.h5", patch{key - 40: string(binary.LittleEndian.AppendUint64(nil, 6))})
	tree := mustTree(t, f, err)
	d, err := tree.Lookup("/x")
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	list, err := d.Dataset.ReadChunkList(ctx, 100)
	if err != nil || list.Count != 35 || offsetOf(list.Unfound) != node {
		t.Errorf("%d chunks, %v, %v", list.Count, list.Unfound, err)
	}
	if _, err := d.Dataset.ReadAll(ctx, 1000); err != nil {
		t.Errorf("as libhdf5 reads it: %v", err)
	}
	data, err := f.Dataset(ctx)
	if err != nil {
		t.Fatal(err)
	}
	v := data.Root.Variables[0]
	if _, err := v.ReadAll(ctx, 1000); !errors.Is(err, readers.ErrCorrupt) {
		t.Errorf("values: %v", err)
	}
	for _, err = range v.Storage.Refs(ctx) {
	}
	if !errors.Is(err, readers.ErrCorrupt) || offsetOf(err) != node {
		t.Errorf("refs: offset %d (want %d): %v", offsetOf(err), node, err)
	}
}

// TestLostMembers damages the metadata that lead to one member of a group. The other members are
// listed, and the problem has the member's path and offset.
func TestLostMembers(t *testing.T) {
	const snod = "SNOD"
	filters, _ := openFixture(t, "filters.h5")
	node := bytes.Index(content(t, filters), []byte(snod))
	for _, c := range []struct {
		name, file string
		patch      patch
		marked     string // path of the problem
		at         int64  // offset of the problem
		lost       []string
	}{
		{"an object header", "superblock2.h5", patch{200: "\x40"}, "/g", 201, nil},
		{"a link message", "superblock2.h5", patch{103: "\x09"}, "/", 103, []string{"/g"}},
		{"the type of a link", "links_dense.h5", patch{3613: "\x02"}, "/g/ünïcode", 3633, nil},
		{"the name of a link", "links_dense.h5", patch{3611: "\x02"}, "/g", 3611, []string{"/g/ünïcode"}},
		{"a link by another name", "links_dense.h5", patch{3352: "M"}, "/g/Member 5", 3368, []string{"/g/member 5"}},
		{"the name of an entry", "sizes84.h5", patch{1484: "\xff\xff"}, "/", 568, []string{"/group 0", "/group 0/x"}},
		{"the type of an entry", "sizes84.h5", patch{1496: "\x09"}, "/group 0", 1520, []string{"/group 0/x"}},
		{"a symbol table node", "filters.h5", patch{node: "X"}, "/", 1072,
			[]string{"/bitshuffle", "/blosc", "/bzip2", "/deflate", "/fletcher32", "/lz4"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, whole := openFixture(t, c.file)
			f, err := patched(t, c.file, c.patch)
			tree := mustTree(t, f, err)
			var lost []string
			for _, o := range whole.Objects {
				if !slices.ContainsFunc(tree.Objects, func(x *Object) bool { return x.Path == o.Path }) {
					lost = append(lost, o.Path)
				}
			}
			if !slices.Equal(lost, c.lost) || len(tree.Objects)+len(lost) < len(whole.Objects) {
				t.Errorf("lost %v, want %v", lost, c.lost)
			}
			data, err := f.Dataset(context.Background())
			if err != nil || len(data.Problems) != 1 {
				t.Fatalf("%d problems, %v", len(data.Problems), err)
			}
			p := data.Problems[0]
			var place *readers.Error
			if p.Path != c.marked || !errors.As(p.Err, &place) || place.Source != c.file || place.Path != c.marked || offsetOf(p.Err) != c.at {
				t.Errorf("problem of %s (want %s), offset %d (want %d): %v", p.Path, c.marked, offsetOf(p.Err), c.at, p.Err)
			}
			if !errors.Is(p.Err, readers.ErrCorrupt) {
				t.Errorf("%v does not wrap ErrCorrupt", p.Err)
			}
		})
	}
}
