package hdf5

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"varve/codec"
	"varve/fixtures/venv"
	"varve/readers"
	"varve/readers/lookup3"
	"varve/readers/source"
)

// changed opens a sample file after a change of its bytes.
func changed(t *testing.T, name string, change func([]byte) []byte) (*File, error) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(fixtureDir, name))
	if err != nil {
		t.Fatal(err)
	}
	return OpenFile(context.Background(), source.New(name, memory(change(content))))
}

func mustTree(t *testing.T, f *File, err error) *Tree {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	tree, err := f.Tree(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// replaced returns content with old replaced by young; old must occur exactly once.
func replaced(t *testing.T, content []byte, old, young string) []byte {
	t.Helper()
	if n := bytes.Count(content, []byte(old)); n != 1 {
		t.Fatalf("%d occurrences of %q, want 1", n, old)
	}
	return bytes.Replace(content, []byte(old), []byte(young), 1)
}

// TestDriverBeyondTheEnd: libhdf5 reads zeros after the end of a file, and these name no driver.
func TestDriverBeyondTheEnd(t *testing.T) {
	const driver = 0x30
	f, err := changed(t, "superblock0.h5", func(b []byte) []byte {
		binary.LittleEndian.PutUint64(b[driver:], 0xffffff)
		return b
	})
	if tree := mustTree(t, f, err); len(tree.Objects) < 2 {
		t.Errorf("%d objects", len(tree.Objects))
	}
}

// TestOpenForWriting: netcdf-c rejects a file that is marked as open for writing. Its end is the
// one that the writer stored last.
func TestOpenForWriting(t *testing.T) {
	const flags, check, end = 11, 44, 28
	var said uint64
	f, err := changed(t, "superblock3.h5", func(b []byte) []byte {
		b[flags] = 5
		binary.LittleEndian.PutUint32(b[check:], lookup3.Sum(b[:check]))
		said = binary.LittleEndian.Uint64(b[end:])
		return append(b, make([]byte, 100)...)
	})
	tree := mustTree(t, f, err)
	view, err := tree.NetCDF(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if !f.OpenForWriting() || !errors.Is(view.Refused, errors.ErrUnsupported) {
		t.Errorf("open %v, refused: %v", f.OpenForWriting(), view.Refused)
	}
	if got := f.Superblock().End; got != said {
		t.Errorf("the end is %d, want %d", got, said)
	}
}

// TestMemberWithoutName: libhdf5 lists no members of a group if one has no name. The reader lists
// the others and reports the group.
func TestMemberWithoutName(t *testing.T) {
	f, err := changed(t, "phony_dimensions.h5", func(b []byte) []byte {
		return replaced(t, b, "\x00b\x00\x00\x00\x00\x00\x00\x00", "\x00\x00\x00\x00\x00\x00\x00\x00\x00")
	})
	tree := mustTree(t, f, err)
	if err := tree.Root.Err; !errors.Is(err, readers.ErrCorrupt) || offsetOf(err) != 1160 {
		t.Errorf("offset %d: %v", offsetOf(err), err)
	}
	if len(tree.Objects) != 4 || tree.Root.MembersErr() == nil {
		t.Errorf("%d objects are listed", len(tree.Objects))
	}
}

// TestSmallGlobalHeap: libhdf5 neither writes nor reads global heaps of less than 4,096 bytes.
func TestSmallGlobalHeap(t *testing.T) {
	f, err := changed(t, "types.h5", func(b []byte) []byte {
		for at := 0; ; at += 4 {
			n := bytes.Index(b[at:], []byte("GCOL"))
			if n < 0 {
				return b
			}
			at += n
			binary.LittleEndian.PutUint64(b[at+8:], 4088)
		}
	})
	tree := mustTree(t, f, err)
	i := slices.IndexFunc(tree.Objects, func(o *Object) bool { return o.Path == "/vlen text" })
	d := tree.Objects[i].Dataset
	stored, err := f.src.View(context.Background(), d.Offset, d.Type.Size)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Texts(context.Background(), d.Type, stored); !errors.Is(err, readers.ErrCorrupt) {
		t.Errorf("got %v", err)
	}
}

// TestImageBeyondTheEnd: a file whose metadata cache image is outside the file is rejected.
func TestImageBeyondTheEnd(t *testing.T) {
	const extension = 20
	_, err := changed(t, "cache_image.h5", func(b []byte) []byte {
		image := bytes.Index(b, []byte("MDCI"))
		place := binary.LittleEndian.AppendUint64(nil, uint64(image))
		ext := b[binary.LittleEndian.Uint64(b[extension:]):]
		at := bytes.Index(ext, place)
		if image < 0 || at < 0 || string(ext[:4]) != "OHDR" || ext[5] != 0x20 {
			t.Fatal("the sample has another shape")
		}
		binary.LittleEndian.PutUint64(ext[at:], uint64(len(b)-4))
		const prefix = 4 + 1 + 1 + 16 + 1 // of a header with times and a size of one byte
		end := prefix + int(ext[prefix-1])
		binary.LittleEndian.PutUint32(ext[end:], lookup3.Sum(ext[:end]))
		return b
	})
	if !errors.Is(err, readers.ErrCorrupt) {
		t.Errorf("got %v", err)
	}
}

// TestScalesWithOneID: netcdf-c treats a scale with a second hard link as one dimension, with the
// name that it read last.
func TestScalesWithOneID(t *testing.T) {
	b := &netcdfBuilder{dims: map[int]*NetCDFDim{}}
	g := &NetCDFGroup{Path: "/"}
	first := b.addDim(g, "lat", 0)
	lon := b.addDim(g, "lon", 1)
	last := b.addDim(g, "lat_hard", 0)
	g.Vars = []*NetCDFVar{{Dims: []*NetCDFDim{first, lon, nil}}}
	b.mergeDims(g)
	if want := []*NetCDFDim{last, lon}; !slices.Equal(g.Dims, want) {
		t.Errorf("dimensions %v", g.Dims)
	}
	if want := []*NetCDFDim{last, lon, nil}; !slices.Equal(g.Vars[0].Dims, want) {
		t.Errorf("the variable's dimensions %v", g.Vars[0].Dims)
	}
}

// TestBitfieldsOfAnyPrecision: libhdf5 checks the precision of integers, but not of bit fields.
func TestBitfieldsOfAnyPrecision(t *testing.T) {
	for class, want := range map[readers.Class]bool{readers.Bitfield: true, readers.Integer: false} {
		message := []byte{1<<4 | byte(class), 0, 0, 0, 2, 0, 0, 0, 0x34, 0x12, 0x78, 0x56}
		c := &cursor{b: message, offsets: 8, lengths: 8}
		typ := typeDecoder{cursor: c}.decode(0)
		if got := c.err == nil; got != want {
			t.Errorf("class %d: %v, %v", class, typ, c.err)
		}
	}
}

// TestShortChunks: an edge chunk may end where the dataset ends, but not earlier.
func TestShortChunks(t *testing.T) {
	_, tree := openPath(t, "testdata/short_chunks.h5")
	for name, want := range map[string][]byte{
		"/x":        {0, 1, 2, 3, 4},
		"/rows":     {0, 1, 2, 3, 4, 5, 6, 7, 8},
		"/two rows": {0, 1, 2, 3, 4, 5, 6, 7, 8},
		"/damaged":  nil,
	} {
		o, err := tree.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		values, err := o.Dataset.ReadAll(context.Background(), 100)
		if want == nil {
			if !errors.Is(err, codec.ErrCorrupt) {
				t.Errorf("%s: %v, want ErrCorrupt", name, err)
			}
			continue
		}
		var got []byte
		for i := 0; i+4 <= len(values); i += 4 {
			got = append(got, values[i])
		}
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %v, %v, want %v", name, got, err, want)
		}
	}
}

// otherSizes is a program that writes chunks that decode to 38 and to 52 bytes instead of 48, and
// prints how netCDF4's HDF5 reads each of them.
const otherSizes = `
import sys, zlib, h5py, netCDF4, numpy
whole = numpy.arange(12, dtype="<i4").tobytes()
with h5py.File(sys.argv[1], "w") as f:
    for name, data in ("short", whole[:38]), ("long", whole + b"long"):
        for how, stored in (None, data), ("gzip", zlib.compress(data)):
            d = f.create_dataset(f"{name}_{how}", (7, 6), "<i4", chunks=(4, 3), compression=how)
            d[...] = 1
            d.id.write_direct_chunk((0, 0), stored, 0)
with netCDF4.Dataset(sys.argv[1]) as f:
    for name, v in f.variables.items():
        try:
            print(name, "is read:", v[:].tolist())
        except RuntimeError:
            print(name, "is refused")
`

// TestInteropWrongChunkSizes: chunks that decode to a wrong size are rejected, as by HDF5 2.2.
func TestInteropWrongChunkSizes(t *testing.T) {
	name := filepath.Join(t.TempDir(), "sizes.h5")
	out, err := exec.Command(venv.Python(t, "h5py and netCDF4"), "-c", otherSizes, name).CombinedOutput()
	if want := "long_None is refused\nlong_gzip is refused\nshort_None is refused\nshort_gzip is refused\n"; err != nil || string(out) != want {
		t.Fatalf("libhdf5: %v\n%s, want\n%s", err, out, want)
	}
	_, tree := openPath(t, name)
	for _, path := range []string{"/short_None", "/short_gzip", "/long_None", "/long_gzip"} {
		o, err := tree.Lookup(path)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := o.Dataset.ReadAll(t.Context(), 1000); !errors.Is(err, readers.ErrCorrupt) && !errors.Is(err, codec.ErrCorrupt) {
			t.Errorf("%s: %v, %v, want an error", path, got, err)
		}
	}
}

// TestLostAttributes: a damaged attribute index leaves one failed attribute for each lost record.
// If only an attribute is damaged, netcdf-c still finds the others by their hashes.
func TestLostAttributes(t *testing.T) {
	const all, leaf, block = 61, 4608, 10598
	for _, c := range []struct {
		name  string
		at    int
		hides bool // the damage hides other attributes
	}{
		{"a node of the index", leaf + 40, true},
		{"a block of the heap", block + 40, false},
	} {
		f, err := changed(t, "attributes_dense.h5", func(b []byte) []byte {
			b[c.at] ^= 0xff
			return b
		})
		tree := mustTree(t, f, err)
		o := tree.Objects[1]
		lost := 0
		for i := range o.Attributes {
			if a := &o.Attributes[i]; a.Type == nil && errors.Is(a.Err, readers.ErrCorrupt) {
				lost++
			}
		}
		if len(o.Attributes) != all || lost == 0 || lost > all*2/3 || (o.Err != nil) != c.hides {
			t.Errorf("%s: %d attributes, %d lost, %v", c.name, len(o.Attributes), lost, o.Err)
		}
		data, err := f.Dataset(context.Background())
		if err != nil || len(data.Root.Variables) != 1 || (len(data.Problems) > 0) != c.hides {
			t.Errorf("%s: %d variables, problems %v, %v", c.name, len(data.Root.Variables), data.Problems, err)
		}
		if err := unreadableAttribute(o); (err != nil) != c.hides {
			t.Errorf("%s: unreadable attribute: %v", c.name, err)
		}
	}
}

// valuesOf reads all elements of a dataset.
func valuesOf(t *testing.T, f *File, err error, path string) ([]byte, error) {
	t.Helper()
	o, err := mustTree(t, f, err).Lookup(path)
	if err != nil {
		t.Fatal(err)
	}
	return o.Dataset.ReadAll(context.Background(), 1<<20)
}

// TestUnusedSlots: libhdf5 reads no chunk after the last slot that the header of an extensible
// array counts, even if the slot has an address.
func TestUnusedSlots(t *testing.T) {
	const set, check = 12 + 4*8, 12 + 6*8 + 8
	for slots, want := range map[int]int{1: 0, 2: 1, 132101: 2} { // slots 0 and 132,100 contain chunks
		f, err := changed(t, "index_extensible_paged.h5", func(b []byte) []byte {
			head := b[bytes.Index(b, []byte("EAHD")):]
			binary.LittleEndian.PutUint64(head[set:], uint64(slots))
			binary.LittleEndian.PutUint32(head[check:], lookup3.Sum(head[:check]))
			return b
		})
		got, err := valuesOf(t, f, err, "/x")
		if err != nil {
			t.Fatal(err)
		}
		fill := got[len(got)-1:] // the last element was never written
		if n := len(got) - bytes.Count(got, fill); n != want {
			t.Errorf("%d slots in use: %d values differ from the fill value, want %d", slots, n, want)
		}
	}
}

// TestRecordsOutOfOrder: libhdf5 bisects the records of a v2 B-tree, and does not find chunks that
// are out of order.
func TestRecordsOutOfOrder(t *testing.T) {
	f, err := changed(t, "index_btree2.h5", func(b []byte) []byte {
		const record = 8 + 8*2 // address and grid position
		leaf := b[bytes.Index(b, []byte("BTLF\x00\x0a")):]
		first, second := leaf[6:6+record], leaf[6+record:6+2*record]
		swapped := append(bytes.Clone(second), first...)
		copy(leaf[6:], swapped)
		for n := 6 + 2*record; ; n += record {
			old := append(append(bytes.Clone(leaf[:6]), append(bytes.Clone(swapped[record:]), swapped[:record]...)...), leaf[6+2*record:n]...)
			if lookup3.Sum(old) == binary.LittleEndian.Uint32(leaf[n:]) {
				binary.LittleEndian.PutUint32(leaf[n:], lookup3.Sum(leaf[:n]))
				return b
			}
		}
	})
	if _, err := valuesOf(t, f, err, "/plain"); !errors.Is(err, readers.ErrCorrupt) {
		t.Errorf("got %v", err)
	}
}

// TestSourceDamaged: a part of a virtual dataset has fill values if its source does not exist, and
// is an error if the source cannot be read.
func TestSourceDamaged(t *testing.T) {
	f, err := changed(t, "layouts.h5", func(b []byte) []byte {
		whole, err := OpenFile(context.Background(), source.New("whole", memory(b)))
		o, err := mustTree(t, whole, err).Lookup("/contiguous")
		if err != nil {
			t.Fatal(err)
		}
		b[o.Addr+20] ^= 1
		return b
	})
	var place *readers.Error
	if values, err := valuesOf(t, f, err, "/virtual"); !errors.Is(err, readers.ErrCorrupt) || !errors.As(errors.Unwrap(err), &place) || place.Path != "/contiguous" {
		t.Errorf("got %v, %v", values, err)
	}
}

// TestLookupVirtual: mappings name datasets by paths of HDF5, which may contain links.
func TestLookupVirtual(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		file, name, path string
		err              error
	}{
		{"layouts.h5", "contiguous", "/contiguous", nil},
		{"layouts.h5", ".//contiguous/", "/contiguous", nil},
		{"layouts.h5", "/absent", "", nil},
		{"layouts.h5", "absent/x", "", nil},
		{"layouts.h5", "contiguous/x", "", readers.ErrCorrupt},
		{"layouts.h5", "/", "", readers.ErrCorrupt},
		{"superblock0.h5", "g07/x", "/soft", nil}, // any of its names
		{"superblock0.h5", "g08/again", "/soft", nil},
	} {
		src, err := source.Open(ctx, filepath.Join(fixtureDir, c.file))
		if err != nil {
			t.Fatal(err)
		}
		defer src.Close()
		data, err := Format{}.Open(ctx, src)
		if err != nil {
			t.Fatal(err)
		}
		v, _, err := data.LookupVirtual(c.name)
		switch {
		case !errors.Is(err, c.err):
			t.Errorf("%s: %v, want %v", c.name, err, c.err)
		case v == nil && c.path != "", v != nil && v.Path != c.path:
			t.Errorf("%s: got %v, want %q", c.name, v != nil, c.path)
		}
	}
}

// TestLayoutElementSize: PureHDF wrote an element size of 4 for float64, and lengths of eight
// bytes. libhdf5 rejects its files since version 2.0. libhdf5 itself writes lengths in as few bytes
// as possible; there a wrong element size is damage.
func TestLayoutElementSize(t *testing.T) {
	for width, want := range map[int]error{1: readers.ErrCorrupt, 8: nil} {
		message := []byte{4, classChunked, 0, 3, byte(width)}
		for _, n := range []uint64{5, 10, 4} {
			message = append(message, binary.LittleEndian.AppendUint64(nil, n)[:width]...)
		}
		message = append(message, byte(indexImplicit))
		message = binary.LittleEndian.AppendUint64(message, 2048)
		c := &cursor{b: message, offsets: 8, lengths: 8}
		d := &Dataset{Type: readers.IEEEFloat(8, readers.LittleEndian), Shape: []uint64{20, 10}, MaxShape: []uint64{20, 10}, layout: readLayout(c)}
		err := d.readChunkedLayout()
		if c.err != nil || !errors.Is(err, want) {
			t.Errorf("lengths of %d bytes: %v, %v", width, c.err, err)
		}
		if got := d.chunkSize(); err == nil && got != 5*10*8 {
			t.Errorf("chunks of %d bytes", got)
		}
	}
}

// TestEmptyDatasetWithAddress: rust-hdf5 writes an address and a size of 0 for the data of empty datasets.
// libhdf5 1.10 reads this; 2.0 rejects it.
func TestEmptyDatasetWithAddress(t *testing.T) {
	f, err := patched(t, "superblock3.h5", patch{367: "\x00", 419: "\x00"})
	o, err := mustTree(t, f, err).Lookup("/x")
	if err != nil {
		t.Fatal(err)
	}
	if d := o.Dataset; d.Allocated || !slices.Equal(d.Shape, []uint64{0}) {
		t.Errorf("shape %v, allocated: %v", d.Shape, d.Allocated)
	}
	if got, err := o.Dataset.ReadAll(t.Context(), 1<<20); err != nil || len(got) != 0 {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}
