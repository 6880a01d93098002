package netcdf3

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"varve/fixtures/soak"
	"varve/readers"
	"varve/readers/readertest"
	"varve/readers/source"
)

func open(data []byte) *source.Source {
	return source.New("test.nc", &readertest.Memory{Data: data})
}

// writer writes headers.
type writer struct {
	bytes.Buffer
	version int
}

func newWriter(version int, records uint64) *writer {
	w := &writer{version: version}
	w.WriteString("CDF")
	w.WriteByte(byte(version))
	w.n(records)
	return w
}

func (w *writer) u32(v ...uint32) *writer {
	for _, x := range v {
		w.Write(binary.BigEndian.AppendUint32(nil, x))
	}
	return w
}

func (w *writer) n(v uint64) *writer {
	if w.version == data64 {
		w.Write(binary.BigEndian.AppendUint64(nil, v))
		return w
	}
	return w.u32(uint32(v))
}

func (w *writer) name(s string) *writer {
	w.n(uint64(len(s)))
	w.WriteString(s)
	w.WriteString("\x00\x00\x00"[:-len(s)&3])
	return w
}

func (w *writer) list(tag uint32, n uint64) *writer {
	if n == 0 {
		tag = 0
	}
	return w.u32(tag).n(n)
}

func (w *writer) dims(list ...Dim) *writer {
	w.list(tagDimensions, uint64(len(list)))
	for _, d := range list {
		w.name(d.Name).n(d.Length)
	}
	return w
}

func (w *writer) variable(v Var) *writer {
	w.name(v.Name).n(uint64(len(v.DimIDs)))
	for _, id := range v.DimIDs {
		w.n(id)
	}
	w.list(tagAttributes, 0).u32(v.TypeCode).n(v.VSize)
	if w.version == classic {
		return w.u32(uint32(v.Begin))
	}
	w.Write(binary.BigEndian.AppendUint64(nil, v.Begin))
	return w
}

// file returns a header without attributes.
func file(version int, records uint64, dims []Dim, vars ...Var) []byte {
	w := newWriter(version, records).dims(dims...).list(tagAttributes, 0).list(tagVariables, uint64(len(vars)))
	for _, v := range vars {
		w.variable(v)
	}
	return w.Bytes()
}

// sparse is a file of any size that consists of zeros except its head.
type sparse struct {
	head []byte
	size int64
}

func (s sparse) ReadAt(_ context.Context, p []byte, off int64) (int, error) {
	clear(p)
	if off+int64(len(p)) > s.size {
		return 0, io.ErrUnexpectedEOF
	}
	if off < int64(len(s.head)) {
		copy(p, s.head[off:])
	}
	return len(p), nil
}

func (s sparse) Identity() source.Identity { return source.Identity{Size: s.size} }
func (s sparse) Close() error              { return nil }

// TestPlaces compares positions of values with examples that were computed by hand.
func TestPlaces(t *testing.T) {
	const giant = 3 << 30
	time := Dim{"time", 0}
	type place struct {
		layout         readers.Layout
		bytes          uint64
		offset, stride int64
	}
	for _, c := range []struct {
		name    string
		version int
		records uint64
		dims    []Dim
		vars    []Var
		want    []place
	}{
		{"one record variable is not padded", classic, 5, []Dim{time, {"x", 3}},
			[]Var{{Name: "a", DimIDs: []uint64{0, 1}, TypeCode: 1, Begin: 200}},
			[]place{{readers.Records, 15, 200, 3}}},
		{"two record variables are padded", classic, 5, []Dim{time, {"x", 3}},
			[]Var{{Name: "a", DimIDs: []uint64{0, 1}, TypeCode: 1, Begin: 200}, {Name: "b", DimIDs: []uint64{0}, TypeCode: 3, Begin: 204}},
			[]place{{readers.Records, 15, 200, 8}, {readers.Records, 10, 204, 8}}},
		{"one record variable and a fixed one", classic, 2, []Dim{time, {"x", 3}},
			[]Var{{Name: "a", DimIDs: []uint64{1}, TypeCode: 1, Begin: 200}, {Name: "b", DimIDs: []uint64{0}, TypeCode: 3, Begin: 204}},
			[]place{{readers.Contiguous, 3, 200, 0}, {readers.Records, 4, 204, 2}}},
		{"vsize is wrong for sizes that do not fit in it", offset64, 0, []Dim{{"x", giant}},
			[]Var{{Name: "a", DimIDs: []uint64{0}, TypeCode: 6, VSize: math.MaxUint32, Begin: 1000}, {Name: "b", TypeCode: 4, VSize: 4, Begin: 8*giant + 1000}},
			[]place{{readers.Contiguous, 8 * giant, 1000, 0}, {readers.Contiguous, 4, 8*giant + 1000, 0}}},
		{"records of more than 4 GiB", offset64, 2, []Dim{time, {"x", giant}},
			[]Var{{Name: "a", DimIDs: []uint64{0, 1}, TypeCode: 3, VSize: math.MaxUint32, Begin: 1000}, {Name: "b", DimIDs: []uint64{0}, TypeCode: 4, VSize: 4, Begin: 2*giant + 1000}},
			[]place{{readers.Records, 4 * giant, 1000, 2*giant + 4}, {readers.Records, 8, 2*giant + 1000, 2*giant + 4}}},
		{"lengths of 64 bits", data64, 0, []Dim{{"x", 5 << 32}},
			[]Var{{Name: "a", DimIDs: []uint64{0}, TypeCode: 11, VSize: 40 << 32, Begin: 1000}},
			[]place{{readers.Contiguous, 40 << 32, 1000, 0}}},
		{"scalar", classic, 0, nil, []Var{{Name: "a", TypeCode: 6, VSize: 8, Begin: 100}}, []place{{readers.Contiguous, 8, 100, 0}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			src := source.New("sparse.nc", sparse{file(c.version, c.records, c.dims, c.vars...), 1 << 40})
			data, err := Format{}.Open(context.Background(), src)
			if err != nil || len(data.Problems) > 0 {
				t.Fatal(err, data.Problems)
			}
			for i, v := range data.Root.Variables {
				s := v.Storage
				if got := (place{s.Layout, s.Bytes, s.Offset, s.Stride}); got != c.want[i] {
					t.Errorf("%s: got %+v, want %+v", v.Name, got, c.want[i])
				}
			}
		})
	}
}

// TestRecords writes records of random variables and reads them.
func TestRecords(t *testing.T) {
	seed := soak.Seed(t)
	r := rand.New(rand.NewPCG(seed, 1))
	for range 200 {
		testRandomRecords(t, r)
	}
}

func testRandomRecords(t *testing.T, r *rand.Rand) {
	version := []int{classic, offset64, data64}[r.IntN(3)]
	records := uint64(r.IntN(6))
	dims := []Dim{{"time", 0}, {"x", 1 + uint64(r.IntN(7))}}
	vars := make([]Var, 1+r.IntN(4))
	for i := range vars {
		vars[i] = Var{Name: fmt.Sprint("v", i), DimIDs: []uint64{0, 1}[:1+r.IntN(2)], TypeCode: uint32(1 + r.IntN(6))}
	}
	begin := uint64(len(file(version, records, dims, vars...)))
	begin += uint64(r.IntN(3)) * 4 // unused space
	recordSize := uint64(0)
	sizes := make([]uint64, len(vars))
	for i := range vars {
		v := &vars[i]
		sizes[i] = uint64(types[v.TypeCode].Size)
		if len(v.DimIDs) == 2 {
			sizes[i] *= dims[1].Length
		}
		v.Begin = begin + recordSize
		recordSize += (sizes[i] + 3) / 4 * 4
	}
	if len(vars) == 1 {
		recordSize = sizes[0]
	}
	data := make([]byte, begin+records*recordSize)
	for i := range data {
		data[i] = byte(r.IntN(256))
	}
	copy(data, file(version, records, dims, vars...))
	f, err := OpenFile(context.Background(), open(data))
	if err != nil {
		t.Fatal(err)
	}
	for i := range f.header.Vars {
		var want []byte
		for rec := range records {
			want = append(want, data[vars[i].Begin+rec*recordSize:][:sizes[i]]...)
		}
		swap(types[vars[i].TypeCode], want)
		got, err := f.Read(context.Background(), &f.header.Vars[i], 1<<20)
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("variable %d of %+v, %d records: got %x, %v; want %x", i, vars, records, got, err, want)
		}
	}
}

// TestDistantRecords reads records that are close to each other and far apart.
func TestDistantRecords(t *testing.T) {
	for _, width := range []uint64{1, 100, 5000, 300_000} {
		dims := []Dim{{"time", 0}, {"x", width}}
		vars := []Var{{Name: "wide", DimIDs: []uint64{0, 1}, TypeCode: 4}, {Name: "time", DimIDs: []uint64{0}, TypeCode: 4}}
		start := uint64(len(file(offset64, 9, dims, vars...)))
		vars[0].Begin, vars[1].Begin = start, start+4*width
		stride := 4*width + 4
		data := make([]byte, start+9*stride)
		copy(data, file(offset64, 9, dims, vars...))
		var want []byte
		for i := range uint64(9) {
			binary.BigEndian.PutUint32(data[start+i*stride+4*width:], uint32(i+1))
			want = binary.LittleEndian.AppendUint32(want, uint32(i+1))
		}
		f, err := OpenFile(context.Background(), open(data))
		if err != nil {
			t.Fatal(err)
		}
		got, err := f.Read(context.Background(), &f.header.Vars[1], 1<<20)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("width %d: got %x, %v", width, got, err)
		}
	}
}

func TestDamage(t *testing.T) {
	time, x := Dim{"time", 0}, Dim{"x", 3}
	one := Var{Name: "a", DimIDs: []uint64{1}, TypeCode: 4, Begin: 500}
	with := func(change func(*Var)) Var {
		v := one
		change(&v)
		return v
	}
	many := make([]uint64, 1025)
	for _, c := range []struct {
		name    string
		data    []byte
		names   string // keyword or number in the error
		listed  int    // variables; -1 if the file does not open
		problem string // keyword or number in the first problem
	}{
		{"negative count of dimensions", newWriter(classic, 0).u32(tagDimensions, 1<<31).Bytes(), "2147483648", -1, ""},
		{"wrong tag", newWriter(classic, 0).u32(tagVariables, 0).Bytes(), "11", -1, ""},
		{"a count without a tag", newWriter(classic, 0).u32(0, 1).u32(0, 0).Bytes(), "tag", -1, ""},
		{"attribute of type 0", newWriter(classic, 0).dims().u32(tagAttributes, 1).name("a").u32(0, 0).u32(0, 0, 0).Bytes(), "type", -1, ""},
		{"attribute longer than the file", newWriter(data64, 0).dims().u32(tagAttributes).n(1).name("a").u32(6).n(1<<62).u32(0, 0, 0).Bytes(), "4611686018427387904", -1, ""},
		{"name longer than the file", newWriter(data64, 0).u32(tagDimensions).n(1).n(math.MaxUint64).n(1).Bytes(), "18446744073709551615", -1, ""},
		{"second variable cut off", file(classic, 0, []Dim{time, x}, one, one)[:100], "", 1, "header"},
		{"dimension out of range", append(file(classic, 0, []Dim{time, x}, one, with(func(v *Var) { v.Name, v.DimIDs = "b", []uint64{7} })), make([]byte, 600)...), "", 1, "7"},
		{"record dimension second", append(file(classic, 0, []Dim{time, x}, one, with(func(v *Var) { v.Name, v.DimIDs = "b", []uint64{1, 0} })), make([]byte, 600)...), "", 1, "dimension 1"},
		{"type out of range", file(classic, 0, []Dim{time, x}, with(func(v *Var) { v.TypeCode = 12 })), "", 0, "12"},
		{"too many dimensions", file(classic, 0, []Dim{time, x}, with(func(v *Var) { v.DimIDs = many })), "", 0, "1025"},
		{"shape overflows", file(data64, 0, []Dim{time, {"x", 1 << 40}}, with(func(v *Var) { v.DimIDs = []uint64{1, 1} })), "", 0, "2^63"},
		{"begins in the header", file(classic, 0, []Dim{time, x}, with(func(v *Var) { v.Begin = 8 })), "", 1, "offset 8"},
		{"begins after the end", file(data64, 0, []Dim{time, x}, with(func(v *Var) { v.Begin = math.MaxUint64 })), "", 1, "2^63"},
		{"cut off", file(classic, 0, []Dim{time, x}, one), "", 1, "512"},
		{"records cut off", append(file(classic, 1000, []Dim{time, x}, with(func(v *Var) { v.DimIDs, v.Begin = []uint64{0, 1}, 112 })), make([]byte, 131)...), "", 1, " 1000 "},
		{"record count overflows", file(data64, math.MaxUint64-1, []Dim{time, x}, with(func(v *Var) { v.DimIDs = []uint64{0, 1} })), "", 1, "2^63"},
		{"the same name twice", append(file(classic, 0, []Dim{time, x}, one, one), make([]byte, 1000)...), "", 2, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			data, err := Format{}.Open(context.Background(), open(c.data))
			if c.listed < 0 {
				if err == nil || !errors.Is(err, readers.ErrCorrupt) || !strings.Contains(err.Error(), c.names) {
					t.Fatalf("%v, want an error that names %q", err, c.names)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if len(data.Root.Variables) != c.listed || len(data.Problems) == 0 {
				t.Fatalf("%d variables, problems %v", len(data.Root.Variables), data.Problems)
			}
			p := data.Problems[0].Err
			if !strings.Contains(p.Error(), c.problem) || !errors.Is(p, readers.ErrCorrupt) && !errors.Is(p, errors.ErrUnsupported) {
				t.Errorf("problem: %v, want an error that names %q", p, c.problem)
			}
			for _, v := range data.Root.Variables {
				if _, err := v.ReadAll(context.Background(), 1<<20); err == nil && !strings.Contains(c.name, "dimension") && c.name != "the same name twice" {
					t.Errorf("%s: its values could be read", v.Path)
				}
			}
		})
	}
}

// TestUnplacedRecords truncates a header in the second of two record variables. The records of the
// first have no known position then, and must not be guessed.
func TestUnplacedRecords(t *testing.T) {
	dims := []Dim{{"time", 0}, {"x", 3}}
	vars := []Var{{Name: "fixed", DimIDs: []uint64{1}, TypeCode: 1, Begin: 20}, {Name: "a", DimIDs: []uint64{0}, TypeCode: 4, Begin: 80}, {Name: "b", DimIDs: []uint64{0}, TypeCode: 4, Begin: 84}}
	whole := file(classic, 2, dims, vars...)
	data, err := Format{}.Open(context.Background(), open(whole[:len(whole)-8]))
	if err != nil {
		t.Fatal(err)
	}
	if len(data.Root.Variables) != 2 || len(data.Problems) != 2 {
		t.Fatalf("variables %v, problems %v", data.Root.Variables, data.Problems)
	}
	if s := data.Root.Variables[0].Storage; s.Undecodable != nil || s.Offset != 20 {
		t.Errorf("the fixed variable: %+v", s)
	}
	a := data.Root.Variables[1]
	if a.Storage.Undecodable == nil || a.Storage.Stride != 0 {
		t.Errorf("the records have a position: %+v", a.Storage)
	}
}

func TestLimit(t *testing.T) {
	src := source.New("sparse.nc", sparse{file(data64, 0, []Dim{{"x", 1 << 33}}, Var{Name: "a", DimIDs: []uint64{0}, TypeCode: 6, Begin: 1000}), 1 << 40})
	data, err := Format{}.Open(context.Background(), src)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := data.Root.Variables[0].ReadAll(context.Background(), 1<<20); err == nil || !strings.Contains(err.Error(), "68719476736 bytes") {
		t.Errorf("got %v", err)
	}
}

func TestNames(t *testing.T) {
	data, err := Format{}.Open(context.Background(), open(append(
		file(classic, 0, []Dim{{"x\x00y", 3}}, Var{Name: "a\x00b", DimIDs: []uint64{0}, TypeCode: 1, Begin: 200}, Var{Name: "\xff/", DimIDs: []uint64{0}, TypeCode: 1, Begin: 204}), make([]byte, 200)...)))
	if err != nil {
		t.Fatal(err)
	}
	v := data.Root.Variables
	if v[0].Name != "a" || v[0].Dims[0].Name != "x" || v[1].Name != "\xff/" || v[1].Path != "/\xff/" {
		t.Errorf("got %q on %q, %q", v[0].Name, v[0].Dims[0].Name, v[1].Name)
	}
}

func FuzzOpen(f *testing.F) {
	files, err := filepath.Glob(filepath.Join(fixtures, "*.nc"))
	if err != nil || len(files) == 0 {
		f.Fatal("no seeds", err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data[:min(len(data), 4096)])
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		d := readertest.Describe(context.Background(), Format{}, open(data))
		if d.Err != nil && !errors.Is(d.Err, readers.ErrCorrupt) && !errors.Is(d.Err, errors.ErrUnsupported) {
			t.Errorf("neither corrupt nor unsupported: %v", d.Err)
		}
	})
}

// BenchmarkOpen reads a header of 2,000 variables.
func BenchmarkOpen(b *testing.B) {
	vars := make([]Var, 2000)
	for i := range vars {
		vars[i] = Var{Name: fmt.Sprintf("variable_%d", i), DimIDs: []uint64{0, 1}, TypeCode: 5, Begin: 1 << 20}
	}
	data := file(offset64, 1, []Dim{{"time", 0}, {"x", 100}}, vars...)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		src := source.New("sparse.nc", sparse{data, 1 << 40})
		if _, err := (Format{}).Open(context.Background(), src); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRead reads one of two record variables.
func BenchmarkRead(b *testing.B) {
	dims := []Dim{{"time", 0}, {"x", 1000}}
	vars := []Var{{Name: "a", DimIDs: []uint64{0, 1}, TypeCode: 5, Begin: 4096}, {Name: "b", DimIDs: []uint64{0, 1}, TypeCode: 5, Begin: 8096}}
	data := make([]byte, 4096+8000*1000)
	copy(data, file(offset64, 1000, dims, vars...))
	f, err := OpenFile(context.Background(), open(data))
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(4000 * 1000)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := f.Read(context.Background(), &f.header.Vars[1], 1<<24); err != nil {
			b.Fatal(err)
		}
	}
}

// TestMisplaced: netcdf-c rejects files whose variables' values are out of order.
func TestMisplaced(t *testing.T) {
	header := func(begins ...uint64) *Header {
		h := &Header{Size: 100, Dims: []Dim{{"time", 0}, {"x", 3}}}
		for i, dims := range [][]uint64{{1}, {0, 1}, {1}} { // of 6 bytes, which take 8
			h.Vars = append(h.Vars, Var{Name: string(rune('a' + i)), DimIDs: dims, Type: &readers.Type{Size: 2}, Begin: begins[i]})
		}
		return h
	}
	for _, test := range []struct {
		name   string
		begins []uint64
		want   string
	}{
		{"one after another, records last", []uint64{100, 116, 108}, ""},
		{"with gaps between them", []uint64{104, 1000, 200}, ""},
		{"in the header", []uint64{96, 116, 108}, "96"},
		{"in another", []uint64{100, 116, 104}, "104"},
		{"in the padding of another", []uint64{100, 116, 107}, "107"},
		{"out of order", []uint64{108, 116, 100}, "100"},
		{"records in front", []uint64{108, 100, 116}, "100"},
		{"beyond the largest offset", []uint64{math.MaxUint64 - 2, 116, 108}, "2^63"},
	} {
		err := header(test.begins...).Misplaced()
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v", test.name, err)
		}
	}
}
