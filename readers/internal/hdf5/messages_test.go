package hdf5

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"varve/readers"
)

// messageCursor returns a cursor over a message of a file with addresses and lengths of eight
// bytes.
func messageCursor(parts ...[]byte) *cursor {
	return &cursor{b: slices.Concat(parts...), offsets: 8, lengths: 8}
}

// Parts of datatype messages.
var (
	int8Type    = []byte{0x10, 8, 0, 0, 1, 0, 0, 0, 0, 0, 8, 0}
	varlenType  = []byte{0x19, 0, 0, 0, 16, 0, 0, 0}
	oneMember   = []byte{0x16, 1, 0, 0, 8, 0, 0, 0, 'a', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	memberSizes = make([]byte, 3+4+4+4*4)
)

func float32Type(sign byte) []byte {
	return []byte{0x11, 0x20, sign, 0, 4, 0, 0, 0, 0, 0, 32, 0, 23, 8, 0, 23, 127, 0, 0, 0}
}

// TestInvalidMessages decodes messages that no library writes.
func TestInvalidMessages(t *testing.T) {
	readTypeOf := func(c *cursor) { _, _ = decodeType(c, true) }
	readFiltersOf := func(c *cursor) { readFilters(c) }
	readFilesOf := func(c *cursor) { readExternal(c) }
	readMappingOf := func(c *cursor) { new(Dataset).readMapping(c, 1) }
	readSpace := func(c *cursor) { _ = new(File).checkFileSpace(c) }
	for _, c := range []struct {
		name    string
		at      int64 // offset in the error
		read    func(*cursor)
		message []byte
	}{
		{"sequences without an end", 264, readTypeOf, slices.Concat(slices.Repeat(varlenType, 100), int8Type)},
		{"a sequence of a third kind", 8, readTypeOf, []byte{0x19, 2, 0, 0, 16, 0, 0, 0}},
		{"a third character set", 8, readTypeOf, []byte{0x13, 0x20, 0, 0, 5, 0, 0, 0}},
		{"a sign at the end of the mantissa", 20, readTypeOf, float32Type(0)},
		{"a sign at the end of the exponent", 20, readTypeOf, float32Type(23)},
		{"a sign within the exponent", 20, readTypeOf, float32Type(30)},
		{"a sign beyond the float", 20, readTypeOf, float32Type(32)},
		{"a member of five dimensions", 21, readTypeOf, slices.Concat(oneMember, []byte{5}, memberSizes, int8Type)},
		{"members over one another", 38, readTypeOf, slices.Concat([]byte{0x36, 2, 0, 0, 4, 0, 0, 0, 'a', 0, 1}, int8Type, []byte{'b', 0, 1}, int8Type)},
		{"a member beyond its compound", 23, readTypeOf, slices.Concat([]byte{0x36, 1, 0, 0, 4, 0, 0, 0, 'a', 0, 4}, int8Type)},
		{"a tag of 6 bytes without an end", 14, readTypeOf, []byte{0x15, 6, 0, 0, 2, 0, 0, 0, 'a', ' ', 't', 'a', 'g', 's'}},
		{"a tag of 6 bytes with two ends", 14, readTypeOf, []byte{0x15, 6, 0, 0, 2, 0, 0, 0, 'a', ' ', 't', 'a', 0, 0}},
		{"a tag of 6 bytes without a checksum", 14, func(c *cursor) { _, _ = decodeType(c, false) }, []byte{0x15, 6, 0, 0, 2, 0, 0, 0, 'a', ' ', 't', 'a', 'g', 0}},
		{"no external files", 16, readFilesOf, externalFilesOf(0, 0, 0)},
		{"more external files than there is room for", 16, readFilesOf, externalFilesOf(1, 2, 2)},
		{"more external files than are listed", 16, readFilesOf, externalFilesOf(2, 2, 1)},
		{"a pipeline of a third version", 0, readFiltersOf, []byte{3, 0}},
		{"an unknown flag of a mapping", 1, readMappingOf, []byte{8}},
		{"pages of 100 bytes", 19, readSpace, slices.Concat([]byte{1, 1, 0}, make([]byte, 8), []byte{100, 0, 0, 0, 0, 0, 0, 0}, make([]byte, 10))},
		{"old file space of too few lists", 10, readSpace, slices.Concat([]byte{0, 1}, make([]byte, 8+5*8))},
	} {
		t.Run(c.name, func(t *testing.T) {
			at := messageCursor(c.message)
			c.read(at)
			if !errors.Is(at.err, readers.ErrCorrupt) || offsetOf(at.err) != c.at {
				t.Errorf("offset %d (want %d): %v", offsetOf(at.err), c.at, at.err)
			}
		})
	}
}

// TestErrorPosition: an error contains its position once. Errors of contexts get no position.
func TestErrorPosition(t *testing.T) {
	f, _ := openFixture(t, "superblock2.h5")
	for _, err := range []error{nil, context.Canceled, context.DeadlineExceeded} {
		if got := f.locate("/x", err); got != err {
			t.Errorf("%v became %v", err, got)
		}
	}
	err := f.locate("/g", f.locate("/x", &readers.Error{Offset: 7, Err: readers.Corruptf("bad")}))
	if got, want := err.Error(), f.src.Name()+": /x: at offset 7: bad"; got != want {
		t.Errorf("%q, not %q", got, want)
	}
}

func TestLittleSize(t *testing.T) {
	if got := littleSize([]byte{1, 2, 0, 4}); got != 0x04000201 {
		t.Errorf("%#x", got)
	}
}

// externalFilesOf returns an external file list with the given counts and entries.
func externalFilesOf(allocated, used byte, entries int) []byte {
	return slices.Concat([]byte{1, 0, 0, 0, allocated, 0, used, 0}, make([]byte, 8+entries*3*8))
}

// TestExternalWithoutEnd: all ones mean "to the end of the file" in every size of lengths.
func TestExternalWithoutEnd(t *testing.T) {
	for _, width := range []int{2, 4, 8} {
		c := messageCursor([]byte{1, 0, 0, 0, 2, 0, 2, 0}, make([]byte, 8),
			make([]byte, 2*width), []byte{7}, make([]byte, width-1),
			make([]byte, 2*width), slices.Repeat([]byte{0xff}, width))
		c.lengths = width
		e := readExternal(c)
		if c.err != nil || len(e.slots) != 2 || e.slots[0].size != 7 || e.slots[1].size != undefined {
			t.Errorf("sizes of %d bytes: %v, %v", width, e.slots, c.err)
		}
	}
}

// TestAddresses: all bytes of a structure must be inside the file.
func TestAddresses(t *testing.T) {
	f := &File{end: 1000, super: superblock{base: 100}}
	for _, c := range []struct {
		addr, n uint64
		want    int64 // -1: refused
	}{
		{0, 900, 100}, {899, 1, 999}, {900, 0, 1000}, {0, 901, -1}, {899, 2, -1}, {901, 0, -1}, {undefined, 0, -1}, {undefined - 50, 1, -1}, {0, undefined, -1},
	} {
		got, err := f.offset(c.addr, c.n)
		if (err == nil) != (c.want >= 0) || err == nil && got != c.want || err != nil && !errors.Is(err, readers.ErrCorrupt) {
			t.Errorf("%d bytes at %d: %d, %v, want %d", c.n, c.addr, got, err, c.want)
		}
	}
}

// TestTypeProperties decodes datatypes with properties besides class and size.
func TestTypeProperties(t *testing.T) {
	decode := func(message ...[]byte) *readers.Type {
		t.Helper()
		typ, err := decodeType(messageCursor(message...), true)
		if err != nil {
			t.Fatal(err)
		}
		return typ
	}
	if typ := decode([]byte{0x15, 8, 0, 0, 2, 0, 0, 0}, []byte("a tag\x00\xff\xff")); typ.Tag != "a tag" {
		t.Errorf("tag %q", typ.Tag)
	}
	if typ := decode([]byte{0x15, 6, 0, 0, 2, 0, 0, 0}, []byte("a tag\x00")); typ.Tag != "a tag" {
		t.Errorf("tag without padding %q", typ.Tag)
	}
	for set, utf8 := range map[byte]bool{0: false, 1: true} {
		if typ := decode([]byte{0x13, set << 4, 0, 0, 5, 0, 0, 0}); typ.UTF8 != utf8 {
			t.Errorf("character set %d: UTF-8 is %v", set, typ.UTF8)
		}
	}
	typ := decode(oneMember, []byte{2}, make([]byte, 3+4+4), []byte{2, 0, 0, 0, 4, 0, 0, 0}, make([]byte, 8), int8Type)
	if m := typ.Members[0].Type; m.Class != readers.Array || !slices.Equal(m.Dims, []int{2, 4}) || m.Size != 8 {
		t.Errorf("a member with dimensions of its own is %v", m)
	}
	if typ := decode(varlenType, int8Type); typ.Base == nil || typ.Base.Size != 1 {
		t.Errorf("a sequence is %v", typ)
	}
}

// TestOldFileSpace: version 0 has no pages; it has free lists only if all free space persists.
func TestOldFileSpace(t *testing.T) {
	for strategy, lists := range map[byte]int{1: 6, 2: 0} {
		c := messageCursor([]byte{0, strategy}, make([]byte, 8+lists*8))
		if err := new(File).checkFileSpace(c); err != nil || c.left() != 0 {
			t.Errorf("strategy %d: %v, %d bytes left", strategy, err, c.left())
		}
	}
}

// TestTinyObjects: tiny objects are stored in their heap IDs. The length of IDs sets the width of
// the object's length.
func TestTinyObjects(t *testing.T) {
	const tiny = 2 << 4
	content := []byte(strings.Repeat("x", 300))
	for _, c := range []struct{ idSize, head, want int }{{8, tiny | 3, 4}, {18, tiny | 15, 16}} {
		h := &fractalHeap{idSize: c.idSize}
		if b, _, err := h.tiny(messageCursor(content), c.head); err != nil || len(b) != c.want {
			t.Errorf("identifiers of %d bytes: %d bytes, %v, want %d", c.idSize, len(b), err, c.want)
		}
	}
	h := &fractalHeap{idSize: 400}
	if b, _, err := h.tiny(messageCursor([]byte{2}, content), tiny|1); err != nil || len(b) != 0x102+1 {
		t.Errorf("a long one: %d bytes, %v, want %d", len(b), err, 0x102+1)
	}
}

// TestGlobalHeapEnds: an object may end with its collection, and objects need not be sorted.
func TestGlobalHeapEnds(t *testing.T) {
	object := func(index byte, text string) []byte {
		return slices.Concat([]byte{index, 0, 1, 0, 0, 0, 0, 0, byte(len(text)), 0, 0, 0, 0, 0, 0, 0}, []byte(text))
	}
	read := func(objects ...[]byte) *globalHeap {
		t.Helper()
		c := messageCursor(objects...)
		h := &globalHeap{data: c.b}
		if err := h.read(c); err != nil {
			t.Fatal(err)
		}
		return h
	}
	if b, err := read(object(2, "eight by"), object(1, "at end..")).object(1); err != nil || string(b) != "at end.." {
		t.Errorf("%q, %v", b, err)
	}
	if b, err := read(object(1, "eight by"), object(1, "at end..")).object(1); !errors.Is(err, readers.ErrCorrupt) {
		t.Errorf("two objects with the same index: %q, %v", b, err)
	}
	c := messageCursor(object(1, "eight by")[:23])
	if err := new(globalHeap).read(c); !errors.Is(err, readers.ErrCorrupt) || offsetOf(err) != 16 {
		t.Errorf("an object cut off: offset %d (want 16): %v", offsetOf(err), err)
	}
}

// TestSharedIndexes: each index of the shared message table is for some message types, and has a
// heap only if it has messages.
func TestSharedIndexes(t *testing.T) {
	f, err := changed(t, "shared_messages.h5", func(b []byte) []byte { return b })
	if err != nil || len(f.sohm) == 0 {
		t.Fatalf("%d indexes, %v", len(f.sohm), err)
	}
	const nowhere = 1
	f.sohm = slices.Concat([]sharedIndex{{types: 0, heap: nowhere}, {types: 0xffff, heap: undefined}}, f.sohm)
	for _, o := range mustTree(t, f, nil).Objects {
		if o.Err != nil || o.Kind == DatasetObject && o.Dataset.Type == nil {
			t.Errorf("%s: %v", o.Path, o.Err)
		}
	}
}

// TestIndirectBlockDamaged: attributes in a fractal heap with an indirect block of an unknown
// version are reported as damaged.
func TestIndirectBlockDamaged(t *testing.T) {
	f, err := patched(t, "attributes_dense.h5", patch{1882 + 4: "\x01"})
	o, err := mustTree(t, f, err).Lookup("/x")
	if err != nil {
		t.Fatal(err)
	}
	lost := func(a Attribute) bool {
		return errors.Is(a.Err, readers.ErrCorrupt) && offsetOf(a.Err) == 1882+4
	}
	if !slices.ContainsFunc(o.Attributes, lost) {
		t.Errorf("none of %d attributes is reported as damaged", len(o.Attributes))
	}
}

// TestExternalFilesTooSmall: like libhdf5, the reader rejects a dataset that does not fit in its
// external files.
func TestExternalFilesTooSmall(t *testing.T) {
	err := new(Dataset).readExternalFiles(context.Background(), make([]byte, 8))
	if !errors.Is(err, readers.ErrCorrupt) {
		t.Errorf("got %v", err)
	}
}

// TestImplicitCancelled: an implicit index reads no bytes, so it checks its context itself.
func TestImplicitCancelled(t *testing.T) {
	_, tree := openFixture(t, "index_implicit.h5")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	found := false
	for _, o := range tree.Objects {
		if o.Kind != DatasetObject || o.Dataset.Index != "implicit" {
			continue
		}
		found = true
		n := 0
		var last error
		for _, err := range o.Dataset.Refs(ctx, nil) {
			n, last = n+1, err
		}
		if n != 1 || !errors.Is(last, context.Canceled) {
			t.Errorf("%s: %d refs, %v", o.Path, n, last)
		}
	}
	if !found {
		t.Error("the sample has no implicit index")
	}
}

// TestInOrder: an extensible array is in C order only if its unlimited dimension is the first.
func TestInOrder(t *testing.T) {
	for _, c := range []struct {
		index indexKind
		max   []uint64
		want  bool
	}{
		{indexExtensibleArray, []uint64{readers.Unlimited, 5}, true},
		{indexExtensibleArray, []uint64{5, readers.Unlimited}, false},
		{indexFixedArray, []uint64{5, 5}, true},
	} {
		d := &Dataset{MaxShape: c.max}
		d.layout.index = c.index
		if got := d.inOrder(); got != c.want {
			t.Errorf("%s of up to %v: %v", c.index, c.max, got)
		}
	}
}

// TestPanicOnOtherCore: a panic in a goroutine of onAllCores is raised in the caller.
func TestPanicOnOtherCore(t *testing.T) {
	f, _ := openFixture(t, "superblock2.h5")
	defer func() {
		if got := recover(); got != "here" {
			t.Errorf("recovered %v", got)
		}
	}()
	f.onAllCores(1000, func(i int) {
		if i == 777 {
			panic("here")
		}
	})
	t.Error("onAllCores returned, want a panic")
}
