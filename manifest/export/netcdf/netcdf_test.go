package netcdf

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"varve/readers/netcdf3"
	"varve/readers/source"
)

// everyType is a file with a variable of each type along one dimension.
func everyType(last Type) *File {
	f := &File{Dimensions: []Dimension{{"x", 3}, {"one", 1}}, Attributes: []Attribute{Text("title", "every type"), Text("empty", "")}}
	for t := Byte; t <= last; t++ {
		f.Variables = append(f.Variables, Variable{Name: fmt.Sprintf("v%d", t), Dimensions: []int{0}, Type: t,
			Attributes: []Attribute{{Name: "a", Type: t, Data: elements(t, 2)}}})
	}
	return f
}

// elements returns n elements that differ in each byte.
func elements(t Type, n int) []byte {
	b := make([]byte, n*t.Size())
	for i := range b {
		b[i] = byte(i + 1)
	}
	return b
}

func encode(t *testing.T, f *File) []byte {
	t.Helper()
	var out bytes.Buffer
	err := f.Write(&out, func(i int, w io.Writer) error {
		_, err := w.Write(elements(f.Variables[i].Type, int(f.size(&f.Variables[i]))/f.Variables[i].Type.Size()))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestReadBack checks that varve's reader reads the file.
func TestReadBack(t *testing.T) {
	for _, c := range []struct {
		last    Type
		version byte
	}{{Double, 2}, {UInt64, 5}} {
		f := everyType(c.last)
		b := encode(t, f)
		if b[3] != c.version || len(b)%4 != 0 {
			t.Errorf("CDF-%d of %d bytes, not CDF-%d", b[3], len(b), c.version)
		}
		read := reopen(t, b)
		if got := len(read.Header().Vars); got != len(f.Variables) {
			t.Fatalf("%d variables, not %d", got, len(f.Variables))
		}
		for i, v := range f.Variables {
			got := read.Header().Vars[i]
			turned := elements(v.Type, 3)
			turn(turned, v.Type.Size())
			if got.Name != v.Name || got.TypeCode != uint32(v.Type) || !bytes.Equal(b[got.Begin:][:len(turned)], turned) {
				t.Errorf("%s: %+v", v.Name, got)
			}
		}
	}
}

func reopen(t *testing.T, b []byte) *netcdf3.File {
	t.Helper()
	name := filepath.Join(t.TempDir(), "x.nc")
	if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Fatal(err)
	}
	src, err := source.Open(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := src.Close(); err != nil {
			t.Error(err)
		}
	})
	f, err := netcdf3.OpenFile(t.Context(), src)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestVersion(t *testing.T) {
	for _, c := range []struct {
		name string
		f    File
		want int
	}{
		{"small", File{Dimensions: []Dimension{{"x", 10}}, Variables: []Variable{{Name: "v", Dimensions: []int{0}, Type: Float}}}, 2},
		{"a type", File{Variables: []Variable{{Name: "v", Type: UByte}}}, 5},
		{"the type of an attribute", File{Attributes: []Attribute{{Name: "a", Type: Int64, Data: make([]byte, 8)}}}, 5},
		{"a length", File{Dimensions: []Dimension{{"x", 1 << 31}}}, 5},
		{"a variable", File{Dimensions: []Dimension{{"x", 1 << 20}, {"y", 1 << 10}}, Variables: []Variable{{Name: "v", Dimensions: []int{0, 1}, Type: Double}}}, 5},
	} {
		if got := c.f.Version(); got != c.want {
			t.Errorf("%s: CDF-%d, not CDF-%d", c.name, got, c.want)
		}
	}
}

func TestRefused(t *testing.T) {
	for want, f := range map[string]File{ // the names and numbers in the error
		"x":      {Dimensions: []Dimension{{"x", 1}, {"x", 2}}},
		`"a/b"`:  {Dimensions: []Dimension{{"a/b", 1}}},
		`""`:     {Variables: []Variable{{Type: Int}}},
		`"end "`: {Variables: []Variable{{Name: "end ", Type: Int}}},
		"x y":    {Dimensions: []Dimension{{"x", 0}, {"y", 0}}},
		"y 0":    {Dimensions: []Dimension{{"x", 2}, {"y", 0}}, Variables: []Variable{{Name: "v", Dimensions: []int{0, 1}, Type: Int}}},
		"12":     {Variables: []Variable{{Name: "v", Type: 12}}},
		"3 0":    {Variables: []Variable{{Name: "v", Type: Int, Dimensions: []int{3}}}},
		"64":     {Dimensions: []Dimension{{"x", 1 << 62}}, Variables: []Variable{{Name: "v", Dimensions: []int{0, 0}, Type: Int}}},
		"a 3":    {Attributes: []Attribute{{Name: "a", Type: Int, Data: make([]byte, 3)}}},
	} {
		err := f.Write(io.Discard, nil)
		for word := range strings.FieldsSeq(want) {
			if err == nil || !strings.Contains(err.Error(), word) {
				t.Errorf("got %v, want an error with %q", err, word)
			}
		}
	}
}

// TestNothing checks that a dimension of length 0 is the record dimension, and that its variables follow all others.
func TestNothing(t *testing.T) {
	f := &File{Dimensions: []Dimension{{"time", 0}, {"x", 2}}, Variables: []Variable{
		{Name: "v", Dimensions: []int{0, 1}, Type: Double}, {Name: "x", Dimensions: []int{1}, Type: Int}}}
	b := encode(t, f)
	h := reopen(t, b).Header()
	if h.Vars[0].Begin != uint64(len(b)) || h.Vars[1].Begin != uint64(len(b)-8) {
		t.Errorf("%d bytes, variables at %d and %d", len(b), h.Vars[0].Begin, h.Vars[1].Begin)
	}
}

func TestWrongNumberOfElements(t *testing.T) {
	f := &File{Variables: []Variable{{Name: "v", Type: Int}}}
	for _, n := range []int{0, 3, 8} {
		err := f.Write(io.Discard, func(_ int, w io.Writer) error {
			_, err := w.Write(make([]byte, n))
			return err
		})
		if err == nil {
			t.Errorf("%d bytes pass for one int", n)
		}
	}
}

func BenchmarkWrite(b *testing.B) {
	const n = 1 << 22
	f := &File{Dimensions: []Dimension{{"x", n}}, Variables: []Variable{{Name: "v", Dimensions: []int{0}, Type: Float}}}
	data := make([]byte, 4*n)
	binary.LittleEndian.PutUint32(data, 7)
	b.SetBytes(4 * n)
	b.ReportAllocs()
	for b.Loop() {
		err := f.Write(io.Discard, func(_ int, w io.Writer) error {
			_, err := w.Write(data)
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}
