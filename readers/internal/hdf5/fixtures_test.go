package hdf5

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"varve/readers"
	"varve/readers/source"
)

const fixtureDir = "../../../fixtures/hdf5"

// openFixture opens a sample file until the test ends.
func openFixture(t testing.TB, name string) (*File, *Tree) {
	t.Helper()
	return openPath(t, filepath.Join(fixtureDir, name))
}

func openPath(t testing.TB, path string) (*File, *Tree) {
	t.Helper()
	ctx := context.Background()
	src, err := source.Open(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := src.Close(); err != nil {
			t.Error(err)
		}
	})
	f, err := OpenFile(ctx, src)
	if err != nil {
		t.Fatal(err)
	}
	tree, err := f.Tree(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return f, tree
}

// offsetOf returns the offset in the source that an error carries, or -1.
func offsetOf(err error) int64 {
	for ; err != nil; err = errors.Unwrap(err) {
		if e, ok := err.(*readers.Error); ok && e.Offset >= 0 {
			return e.Offset
		}
	}
	return -1
}

// expectedDataset holds libhdf5's description of a dataset.
type expectedDataset struct {
	Type   string
	Shape  []uint64
	Chunks []expectedChunk
	Values string
}

// expectedChunk is [chunk offset in elements, offset, size, mask].
type expectedChunk struct {
	at           []uint64
	offset, size uint64
	mask         uint32
}

func (c *expectedChunk) UnmarshalJSON(b []byte) error {
	return json.Unmarshal(b, &[]any{&c.at, &c.offset, &c.size, &c.mask})
}

func expected(t testing.TB) map[string]map[string]expectedDataset {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(fixtureDir, "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]map[string]expectedDataset
	if err := json.Unmarshal(b, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

var classNames = []string{"integer", "float", "time", "string", "bitfield", "opaque", "compound", "reference", "enum", "vlen", "array", "complex"}

// TestAgainstLibhdf5 compares types, shapes, chunks and values of all sample files with those that
// libhdf5 reported when the samples were made.
func TestAgainstLibhdf5(t *testing.T) {
	for name, datasets := range expected(t) {
		t.Run(name, func(t *testing.T) {
			_, tree := openFixture(t, name)
			paths := map[string]string{} // by what they are in JSON, with U+FFFD for each byte that is not UTF-8
			for _, o := range tree.Objects {
				if o.Err != nil {
					t.Errorf("%s: %v", o.Path, o.Err)
				}
				paths[string([]rune(o.Path))] = o.Path
				if _, ok := datasets[string([]rune(o.Path))]; o.Kind == DatasetObject && !ok {
					t.Errorf("%s is not in expected.json", o.Path)
				}
			}
			for path, want := range datasets {
				o, err := tree.Lookup(cmp.Or(paths[path], path))
				if err != nil {
					t.Error(err)
					continue
				}
				compareDataset(t, o, want)
			}
		})
	}
}

func compareDataset(t *testing.T, o *Object, want expectedDataset) {
	t.Helper()
	d := o.Dataset
	class := classNames[d.Type.Class]
	if d.Type.Class == readers.VarLen && d.Type.IsText {
		class = "string"
	}
	if class != want.Type || !slices.Equal(d.Shape, want.Shape) {
		t.Errorf("%s: %s of shape %v, want %s of %v", o.Path, class, d.Shape, want.Type, want.Shape)
	}
	if d.Layout == readers.Chunked {
		compareChunks(t, o, want.Chunks)
	}
	if want.Values == "" {
		return
	}
	value, err := d.value(context.Background(), 1<<20)
	if err != nil {
		t.Errorf("%s: %v", o.Path, err)
		return
	}
	sum := sha256.Sum256(value.Data)
	if got := hex.EncodeToString(sum[:]); got != want.Values {
		t.Errorf("%s: values %s, want %s", o.Path, got, want.Values)
	}
}

func compareChunks(t *testing.T, o *Object, want []expectedChunk) {
	t.Helper()
	list, err := o.Dataset.ReadChunkList(context.Background(), 1<<20)
	if err != nil {
		t.Errorf("%s: %v", o.Path, err)
		return
	}
	if len(list.Refs) != len(want) {
		t.Errorf("%s: %d chunks, want %d", o.Path, len(list.Refs), len(want))
		return
	}
	for i, w := range want {
		r := list.Refs[i]
		at := slices.Clone(r.Index)
		for d := range at {
			at[d] *= o.Dataset.Chunk[d]
		}
		if !slices.Equal(at, w.at) || uint64(r.Offset) != w.offset || r.Size != w.size || r.Mask != w.mask {
			t.Errorf("%s: chunk %v at %d of %d bytes, mask %d, want %+v", o.Path, at, r.Offset, r.Size, r.Mask, w)
		}
	}
}

// structures lists the sample file of each structure, with a check that the file has it.
// fixtures/README.md lists the same files.
var structures = []struct {
	file, what string
	has        func(t *testing.T, f *File, tree *Tree) bool
}{
	{"superblock0.h5", "superblock 0", superblockIs(0)},
	{"superblock0.h5", "symbol table nodes", contains("SNOD")},
	{"superblock0.h5", "v1 B-tree of groups, two levels", levels(nodeGroup, 2)},
	{"superblock0.h5", "header of version 1 with a continuation", continued("/g07/x", 1)},
	{"superblock0.h5", "soft link", hasKind("/soft", SoftLink)},
	{"superblock0.h5", "external link", hasKind("/elsewhere", ExternalLink)},
	{"superblock0.h5", "second hard link", hasKind("/g08/again", SecondLink)},
	{"superblock1.h5", "superblock 1", superblockIs(1)},
	{"superblock1.h5", "v1 B-tree of chunks, three levels", levels(nodeChunk, 3)},
	{"superblock2.h5", "superblock 2", superblockIs(2)},
	{"superblock2.h5", "committed type", func(_ *testing.T, _ *File, tree *Tree) bool {
		o, err := tree.Lookup("/x")
		return err == nil && o.Dataset.Committed
	}},
	{"superblock3.h5", "superblock 3 with an extension", func(_ *testing.T, f *File, _ *Tree) bool {
		return f.super.version >= 2 && f.super.extension != undefined
	}},
	{"userblock.h5", "user block", func(_ *testing.T, f *File, _ *Tree) bool { return f.super.base == 512 }},
	{"sizes4.h5", "sizes of 4 bytes", func(_ *testing.T, f *File, _ *Tree) bool { return f.super.offsets == 4 && f.super.lengths == 4 }},
	{"sizes4.h5", "global heap", contains("GCOL")},
	{"sizes84.h5", "sizes of 8 and 4 bytes", func(_ *testing.T, f *File, _ *Tree) bool { return f.super.offsets == 8 && f.super.lengths == 4 }},
	{"sizes84.h5", "symbol table nodes", contains("SNOD")},
	{"links_dense.h5", "links in a fractal heap, ordered", func(_ *testing.T, _ *File, tree *Tree) bool {
		o, err := tree.Lookup("/g")
		return err == nil && o.hasCreationOrder && len(o.members) == 11
	}},
	{"links_dense.h5", "direct block as root", contains("FHDB")},
	{"heap_filtered.h5", "filtered fractal heap", func(t *testing.T, f *File, _ *Tree) bool {
		return heapAt(t, f, "FRHP").filters != nil
	}},
	{"attributes_dense.h5", "fractal heap: indirect block", contains("FHIB")},
	{"attributes_dense.h5", "huge object", func(t *testing.T, f *File, _ *Tree) bool {
		return heapAt(t, f, "FRHP").hugeTree != undefined
	}},
	{"attributes_dense.h5", "v2 B-tree of depth 1", contains("BTIN")},
	{"shared_messages.h5", "shared message table", func(_ *testing.T, f *File, _ *Tree) bool { return len(f.sohm) == 1 }},
	{"cache_image.h5", "metadata cache image", func(_ *testing.T, f *File, _ *Tree) bool { return len(f.image) > 0 }},
	{"index_single.h5", "single chunk", hasIndex("/plain", indexSingle)},
	{"index_single.h5", "single chunk, filtered", func(_ *testing.T, _ *File, tree *Tree) bool {
		o, err := tree.Lookup("/deflated")
		return err == nil && o.Dataset.layout.flags&flagSingleFilter != 0
	}},
	{"index_implicit.h5", "implicit index", hasIndex("/x", indexImplicit)},
	{"index_fixed.h5", "fixed array", hasIndex("/grows", indexFixedArray)},
	{"index_fixed.h5", "fixed array, filtered, with a hole", hasIndex("/hole", indexFixedArray)},
	{"index_fixed_paged.h5", "fixed array in pages", hasIndex("/x", indexFixedArray)},
	{"index_extensible.h5", "extensible array", hasIndex("/second", indexExtensibleArray)},
	{"index_extensible.h5", "super block", contains("EASB")},
	{"index_extensible_paged.h5", "data block in pages", hasIndex("/x", indexExtensibleArray)},
	{"index_btree2.h5", "v2 B-tree of chunks", hasIndex("/plain", indexBTree2)},
	{"filter_masks.h5", "filter mask", func(t *testing.T, _ *File, tree *Tree) bool {
		o, err := tree.Lookup("/masked")
		if err != nil {
			t.Fatal(err)
		}
		list, err := o.Dataset.ReadChunkList(context.Background(), 10)
		return err == nil && list.Masked == 1
	}},
	{"filter_masks.h5", "partial chunks without filters", func(_ *testing.T, _ *File, tree *Tree) bool {
		o, err := tree.Lookup("/raw edges")
		return err == nil && o.Dataset.RawEdges
	}},
	{"layouts.h5", "compact", hasLayout("/compact", readers.Inline)},
	{"layouts.h5", "contiguous", hasLayout("/contiguous", readers.Contiguous)},
	{"layouts.h5", "external", hasLayout("/external", readers.External)},
	{"layouts.h5", "virtual", hasLayout("/virtual", readers.Virtual)},
	{"layouts.h5", "null dataspace", func(_ *testing.T, _ *File, tree *Tree) bool {
		o, err := tree.Lookup("/null")
		return err == nil && o.Dataset.Space == Null
	}},
}

func TestFixturesHoldTheirStructures(t *testing.T) {
	for _, s := range structures {
		t.Run(s.file+"/"+s.what, func(t *testing.T) {
			f, tree := openFixture(t, s.file)
			if !s.has(t, f, tree) {
				t.Errorf("%s does not have: %s", s.file, s.what)
			}
		})
	}
}

type structureTest = func(*testing.T, *File, *Tree) bool

func superblockIs(version int) structureTest {
	return func(_ *testing.T, f *File, _ *Tree) bool { return f.super.version == version }
}

// contains reports whether the file contains a signature.
func contains(signature string) structureTest {
	return func(t *testing.T, f *File, _ *Tree) bool { return bytes.Contains(content(t, f), []byte(signature)) }
}

func content(t testing.TB, f *File) []byte {
	t.Helper()
	b := make([]byte, f.src.Size())
	if _, err := f.src.ReadAt(context.Background(), b, 0); err != nil {
		t.Fatal(err)
	}
	return b
}

// levels reports whether the file has a node of a v1 B-tree of the given height.
func levels(kind byte, n byte) structureTest {
	return func(t *testing.T, f *File, _ *Tree) bool {
		return bytes.Contains(content(t, f), []byte{'T', 'R', 'E', 'E', kind, n - 1})
	}
}

func continued(path string, version int) structureTest {
	return func(t *testing.T, f *File, tree *Tree) bool {
		o, err := tree.Lookup(path)
		if err != nil {
			t.Fatal(err)
		}
		h, err := f.readHeader(context.Background(), o.Addr)
		return err == nil && h.version == version && len(h.cont) > 0
	}
}

func hasKind(path string, kind Kind) structureTest {
	return func(_ *testing.T, _ *File, tree *Tree) bool {
		return slices.ContainsFunc(tree.Objects, func(o *Object) bool { return o.Path == path && o.Kind == kind })
	}
}

func hasIndex(path string, kind indexKind) structureTest {
	return func(_ *testing.T, _ *File, tree *Tree) bool {
		o, err := tree.Lookup(path)
		return err == nil && o.Dataset.layout.index == kind
	}
}

func hasLayout(path string, l readers.Layout) structureTest {
	return func(_ *testing.T, _ *File, tree *Tree) bool {
		o, err := tree.Lookup(path)
		return err == nil && o.Dataset.Layout == l
	}
}

// heapAt returns the first fractal heap of a file.
func heapAt(t *testing.T, f *File, signature string) *fractalHeap {
	t.Helper()
	at := bytes.Index(content(t, f), []byte(signature))
	if at < 0 {
		t.Fatalf("no %s", signature)
	}
	h, err := f.fractalHeap(context.Background(), uint64(at)-f.super.base)
	if err != nil {
		t.Fatal(err)
	}
	return h
}
