package hdf5

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"

	"varve/readers"
)

// patch is what is written over bytes of a file.
type patch map[int]string

// patched opens a sample file after a patch, with the checksums that go with it.
func patched(t *testing.T, name string, p patch) (*File, error) {
	t.Helper()
	return changed(t, name, func(b []byte) []byte {
		d := newDamager(b)
		b = bytes.Clone(b)
		for at, what := range p {
			copy(b[at:], what)
		}
		d.reseal(b)
		return b
	})
}

// TestDamageIsRefused: what libhdf5 refuses is refused, also where the rest of it could be read: nobody
// knows what else is wrong there, and in most of these cases there would be fill in place of values.
func TestDamageIsRefused(t *testing.T) {
	for _, c := range []struct {
		name, file, path, says string
		patch                  patch
	}{
		{"flags of the file", "superblock2.h5", "", "flags of the superblock are 0x8", patch{11: "\x08"}},
		{"flags of an old file", "superblock0.h5", "", "flags of the superblock are 0x100", patch{21: "\x01"}},
		{"free space", "superblock1.h5", "", "address of the free space is 4096", patch{36: "\x00\x10\x00\x00\x00\x00\x00\x00"}},
		{"a gap where an empty message is", "links_files.h5", "/own", "gap of 1 bytes after the messages", patch{272: "\xb7"}},
		{"a time that is none", "netcdf4_classic.nc", "/", "bad modification time", patch{568: "\x0e"}},
		{"order of creation", "netcdf4_classic.nc", "/", "next number in the order of creation is -", patch{70: "\xff"}},
		{"percentages", "index_btree2.h5", "/deflated", "percentages of a v2 B-tree are 101 and 40", patch{604: "\x65"}},
		{"more chunks than there can be", "index_btree2.h5", "/deflated", "more chunks of [2 2] than there can be", patch{525: "\x00\x00\x00\x00\x00\x00\x00\x80"}},
		{"a root that is no group", "index_single.h5", "/", "at offset 195: the root is no group", patch{36: "\xc3"}},
		{"where external data begin", "layouts.h5", "/external", "values begin at 18374686479671623680 of the file", patch{4185: "\xff"}},
		{"a chunk within an element", "filters.h5", "/scaleoffset", "a chunk begins at byte 4294967295 of an element, which has 4", patch{22028: "\xff\xff\xff\xff\xff\xff\xff\xff"}},
		{"numbers of slots", "index_fixed.h5", "/grows", "fixed array of 10 elements for", patch{238: "\x01"}},
		{"a mapping beyond its dataset", "layouts.h5", "/virtual", "a mapping reaches place 5 of dimension 1, which has 3", patch{4404: "\x03"}},
		{"a time to fill", "index_fixed.h5", "/hole", "times of a fill value are 0 and 3", patch{642: "\x2c"}},
		{"a continuation without an end", "conventions.h5", "/truth", "continuation of an object header is of no bytes", patch{832: "\x00"}},
		{"a dataset without a dataspace", "index_single.h5", "/plain", "is a datatype, and was a dataset", patch{203: "\x00"}},
		{"more chunks of one dimension", "index_extensible_paged.h5", "/x", "more chunks of [1] than there can be", patch{218: "\x80"}},
		{"a fill value of no bytes", "index_extensible_paged.h5", "/x", "a fill value is of no bytes", patch{249: "\x00"}},
		{"bytes of no elements", "superblock3.h5", "/x", "of a dataset of no elements", patch{367: "\x00"}},
		{"chunks of other elements", "superblock1.h5", "/x", "chunks are of elements of 4 bytes, the dataset of 2", patch{975: "\x04"}},
		{"an entry of no type", "phony_dimensions.h5", "/b", "type of a symbol table's entry is 4278190080", patch{1139: "\xff"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, err := patched(t, c.file, c.patch)
			if c.path != "" {
				err = damageOf(t, mustTree(t, f, err), c.path)
			}
			if !errors.Is(err, readers.ErrCorrupt) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, want %q", err, c.says)
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

// TestTextCutOff: libhdf5 refuses texts that are not as long as the object of the heap that they are in.
func TestTextCutOff(t *testing.T) {
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
	if !errors.Is(err, readers.ErrCorrupt) || !strings.Contains(err.Error(), "0 elements of 1 bytes in an object of 1") {
		t.Errorf("got %v", err)
	}
}

// TestHeapDamaged: of two objects of one number nobody knows which is meant, and a heap that does not end with its
// free space has other objects than it seems.
func TestHeapDamaged(t *testing.T) {
	for says, p := range map[string]patch{
		"has two objects 3": {6184: "\x03"},
		"free space of a global heap is of 3840 bytes, not 3928": {6320: "\x00"},
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
		if _, err := f.Texts(context.Background(), o.Dataset.Type, stored); !errors.Is(err, readers.ErrCorrupt) || !strings.Contains(err.Error(), says) {
			t.Errorf("got %v, want %q", err, says)
		}
	}
}

// TestNameWithNUL: libhdf5 takes a name for as long as the text in it.
func TestNameWithNUL(t *testing.T) {
	f, err := patched(t, "layouts.h5", patch{1603: "\x00t"})
	if err := damageOf(t, mustTree(t, f, err), "/null te"); err != nil {
		t.Error(err)
	}
}

// TestTailsOfOneDimension: libhdf5 does not look at the last number of the key to the left of a chunk that has
// one dimension.
func TestTailsOfOneDimension(t *testing.T) {
	f, err := patched(t, "netcdf4_growing.nc", patch{16178: "\xff"})
	got, err := valuesOf(t, f, err, "/g/v")
	if want := []byte{0, 0, 1, 0, 2, 0}; err != nil || !bytes.Equal(got, want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
}

// TestChunkNotFound: a chunk in the wrong place of a v1 B-tree is fill to libhdf5. The list of chunks
// says so, and neither refs nor values that go on to others are without it.
func TestChunkNotFound(t *testing.T) {
	const key, says = 4160 + 8 + 8, "chunk [0 1] is not where a search of the B-tree looks"
	f, err := patched(t, "superblock1.h5", patch{key - 40: string(binary.LittleEndian.AppendUint64(nil, 6))})
	tree := mustTree(t, f, err)
	d, err := tree.Lookup("/x")
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	list, err := d.Dataset.ReadChunkList(ctx, 100)
	if err != nil || list.Count != 35 || list.Unfound == nil || !strings.Contains(list.Unfound.Error(), "is not where a search") {
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
	if !errors.Is(err, readers.ErrCorrupt) || !strings.Contains(err.Error(), "is not where a search") {
		t.Errorf("refs: %v, want %s", err, says)
	}
}

// TestMembersLost damages what one member of a group is found by: the others are listed, and what is damaged
// is marked with its place. Whoever plans with the file is told.
func TestMembersLost(t *testing.T) {
	const snod = "SNOD"
	filters, _ := openFixture(t, "filters.h5")
	node := bytes.Index(content(t, filters), []byte(snod))
	for _, c := range []struct {
		name, file   string
		patch        patch
		marked, says string
		lost         []string
	}{
		{"an object header", "superblock2.h5", patch{200: "\x40"}, "/g", "at offset 201: flags", nil},
		{"a link message", "superblock2.h5", patch{103: "\x09"}, "/", "at offset 103: version of a link", []string{"/g"}},
		{"the type of a link", "links_dense.h5", patch{3613: "\x02"}, "/g/ünïcode", "type of a link is 2", nil},
		{"the name of a link", "links_dense.h5", patch{3611: "\x02"}, "/g", "version of a link is 2", []string{"/g/ünïcode"}},
		{"a link by another name", "links_dense.h5", patch{3352: "M"}, "/g/Member 5", "is found by the number", []string{"/g/member 5"}},
		{"the name of an entry", "sizes84.h5", patch{1484: "\xff\xff"}, "/", "no string at 65535", []string{"/group 0", "/group 0/x"}},
		{"the type of an entry", "sizes84.h5", patch{1496: "\x09"}, "/group 0", "type of a symbol table's entry", []string{"/group 0/x"}},
		{"a symbol table node", "filters.h5", patch{node: "X"}, "/", `signature is "XNOD"`,
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
			if p.Path != c.marked || !strings.Contains(p.Err.Error(), c.says) || !strings.HasPrefix(p.Err.Error(), c.file+": "+c.marked+": ") {
				t.Errorf("%s is marked: %v; want %s: %s", p.Path, p.Err, c.marked, c.says)
			}
			if !errors.Is(p.Err, readers.ErrCorrupt) {
				t.Errorf("%v is no corruption", p.Err)
			}
		})
	}
}
