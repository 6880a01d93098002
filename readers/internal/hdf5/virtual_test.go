package hdf5

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"varve/readers"
)

// TestGrowOpensFilesOnce: each source file of growing virtual datasets is opened once, even if many mappings
// name it.
func TestGrowOpensFilesOnce(t *testing.T) {
	ctx := context.Background()
	f, _ := openFixture(t, "virtual_numbered.h5")
	tree, err := f.list(ctx)
	if err != nil {
		t.Fatal(err)
	}
	near := newSourceFiles()
	if err := tree.growVirtual(ctx, near); err != nil {
		t.Fatal(err)
	}
	objects := 0
	for _, name := range []string{"virtual_part_0.h5", "virtual_part_1.h5"} {
		_, part := openFixture(t, name)
		objects += len(part.Objects)
	}
	if spent := maxVirtualWork - near.remaining; spent != uint64(objects)*objectWork || len(near.names) != 2 || len(near.open) != 0 {
		t.Errorf("%d spent for %d objects; opened %q, %d are still open", spent, objects, near.names, len(near.open))
	}
}

// TestVirtualOfVirtual: other virtual datasets see a grown virtual dataset with the shape in its
// file.
func TestVirtualOfVirtual(t *testing.T) {
	_, tree := openFixture(t, "virtual.h5")
	o, err := tree.Lookup("/v")
	if err != nil {
		t.Fatal(err)
	}
	if d := o.Dataset; d.Shape[0] != 6 || d.asDeclared().Shape[0] != 4 {
		t.Errorf("shapes %v and %v", d.Shape, d.asDeclared().Shape)
	}
}

// TestVirtualTexts: strings come from the source files, and are empty where a source does not
// exist.
func TestVirtualTexts(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{"virtual_matched.h5", "virtual_sources.h5"} {
		data, err := os.ReadFile(filepath.Join(fixtureDir, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"a bb ccc", "  "} {
		_, tree := openPath(t, filepath.Join(folder, "virtual_matched.h5"))
		o, err := tree.Lookup("/names")
		if err != nil {
			t.Fatal(err)
		}
		value, err := o.Dataset.value(context.Background(), 1<<20)
		var texts []string
		for _, text := range value.Texts {
			texts = append(texts, string(text))
		}
		if got := strings.Join(texts, " "); err != nil || got != want {
			t.Errorf("%q, %v, want %q", got, err, want)
		}
		if err := os.RemoveAll(filepath.Join(folder, "virtual_sources.h5")); err != nil {
			t.Fatal(err)
		}
	}
}

// TestConverter: elements are converted to another type as libhdf5 does, or rejected.
func TestConverter(t *testing.T) {
	little, big := readers.LittleEndian, readers.BigEndian
	i2, u1, f4, f8 := readers.Int(2, little, true), readers.Int(1, little, false), readers.IEEEFloat(4, little), readers.IEEEFloat(8, big)
	pair := func(names string, a, b *readers.Type, gap int) *readers.Type {
		return &readers.Type{Class: readers.Compound, Size: a.Size + gap + b.Size, Members: []readers.Member{
			{Name: names[:1], Type: a}, {Name: names[1:], Offset: a.Size + gap, Type: b}}}
	}
	list := func(base *readers.Type, n int) *readers.Type {
		return &readers.Type{Class: readers.Array, Size: n * base.Size, Dims: []int{n}, Base: base}
	}
	choice := func(base *readers.Type, value string) *readers.Type {
		return &readers.Type{Class: readers.Enum, Size: base.Size, Base: base, Choices: []readers.Choice{{Name: "a", Value: []byte(value)}}}
	}
	text := func(n int) *readers.Type { return &readers.Type{Class: readers.String, Size: n} }
	for _, c := range []struct {
		name      string
		from, to  *readers.Type
		src, want string // no want: refused
	}{
		{"the same", i2, i2, "\x01\x02", "\x01\x02"},
		{"another order", i2, readers.Int(2, big, true), "\x01\x02", "\x02\x01"},
		{"another order and sign", i2, readers.Int(2, big, false), "\xfe\xff", "\xff\xfe"},
		{"another sign", i2, readers.Int(2, little, false), "\xfe\xff", "\x00\x00"},
		{"too large", readers.Int(2, little, false), i2, "\xff\xff", "\xff\x7f"},
		{"narrower", i2, u1, "\x00\x01", "\xff"},
		{"wider", i2, readers.Int(4, big, true), "\xfe\xff", "\xff\xff\xff\xfe"},
		{"to a float", i2, f4, "\xff\xff", "\x00\x00\x80\xbf"},
		{"wider float", f4, f8, "\x00\x00\x20\x40", "\x40\x04\x00\x00\x00\x00\x00\x00"},
		{"a fraction", f8, i2, "\xc0\x04\x00\x00\x00\x00\x00\x00", "\xfe\xff"},
		{"a large float", f8, i2, "\x7f\xe0\x00\x00\x00\x00\x00\x00", "\xff\x7f"},
		{"a low float", f8, i2, "\xff\xe0\x00\x00\x00\x00\x00\x00", "\x00\x80"},
		{"a low float without sign", f8, u1, "\xff\xe0\x00\x00\x00\x00\x00\x00", "\x00"},
		{"no number", f4, f8, "\x01\x00\xc0\x7f", "\x7f\xf8\x00\x00\x20\x00\x00\x00"},
		{"no number, to an integer", f4, i2, "\x01\x00\xc0\x7f", ""},
		{"members", pair("ab", i2, u1, 1), pair("ab", readers.Int(2, big, true), u1, 0), "\x01\x02?\x03", "\x02\x01\x03"},
		{"members with a gap", pair("ab", i2, u1, 0), pair("ab", i2, u1, 2), "\x01\x02\x03", "\x01\x02\x00\x00\x03"},
		{"other members", pair("ab", i2, u1, 0), pair("ac", i2, u1, 0), "\x01\x02\x03", ""},
		{"lists", list(i2, 2), list(readers.Int(2, big, true), 2), "\x01\x02\x03\x04", "\x02\x01\x04\x03"},
		{"longer lists", list(i2, 2), list(i2, 3), "\x01\x02\x03\x04", ""},
		{"choices", choice(i2, "\x01\x00"), choice(readers.Int(2, big, true), "\x00\x01"), "\x01\x00", "\x00\x01"},
		{"other choices", choice(i2, "\x01\x00"), choice(i2, "\x02\x00"), "\x01\x00", ""},
		{"longer texts", text(2), text(3), "ab", ""},
		{"a float of two bytes", f4, readers.IEEEFloat(2, little), "\x00\x00\x80\x3f", ""},
		{"texts in another file", &readers.Type{Class: readers.VarLen, IsText: true, Size: 16}, &readers.Type{Class: readers.VarLen, IsText: true, Size: 16}, strings.Repeat("\x00", 16), ""},
	} {
		convert, err := converter(&Dataset{f: &File{}, Type: c.from}, &Dataset{f: &File{}, Type: c.to})
		got := make([]byte, c.to.Size)
		if err == nil {
			err = convert(got, []byte(c.src))
		}
		if c.want == "" && errors.Is(err, errors.ErrUnsupported) {
			continue
		}
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %x, %v, want %x", c.name, got, err, c.want)
		}
	}
	if got := ofUint(f8, math.MaxUint64); got != math.Float64bits(1<<64) {
		t.Errorf("%x", got)
	}
}

// TestReadRows: reading some rows gives the same values as reading all.
func TestReadRows(t *testing.T) {
	ctx := context.Background()
	_, tree := openFixture(t, "virtual_sources.h5")
	tried := 0
	for _, o := range tree.Objects {
		d := o.Dataset
		if d == nil || !d.hasRows() {
			continue
		}
		all, err := d.ReadAll(ctx, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		for first := range d.Shape[0] {
			for end := first + 1; end <= d.Shape[0]; end++ {
				got, err := d.readRows(ctx, rows{first, end}, 1<<20, newNesting())
				if want := all[first*d.rowBytes() : end*d.rowBytes()]; err != nil || !bytes.Equal(got, want) {
					t.Errorf("%s from %d to %d: %x, %v, want %x", o.Path, first, end, got, err, want)
				}
				tried++
			}
		}
		if _, err := d.readRows(ctx, rows{0, 1}, 1, newNesting()); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s: rows of more bytes than the limit: %v", o.Path, err)
		}
	}
	if tried < 50 {
		t.Errorf("only %d ranges of rows were read", tried)
	}
}

// TestManySourceFiles: adding the name of a source file takes constant time: a virtual dataset may
// have 65,536 of them.
func TestManySourceFiles(t *testing.T) {
	near, began := newSourceFiles(), time.Now()
	for i := range 300_000 {
		near.addName(fmt.Sprint("/archive/part_", i/2, ".h5"))
	}
	if took := time.Since(began); len(near.names) != 150_000 || near.names[1] != "/archive/part_1.h5" || took > time.Minute {
		t.Errorf("%d names after %v", len(near.names), took)
	}
}
