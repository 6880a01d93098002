package hdf5

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"varve/fixtures/soak"
	"varve/readers"
	"varve/readers/lookup3"
)

// TestLookup3 compares hashes with the output of Bob Jenkins's program.
func TestLookup3(t *testing.T) {
	for _, c := range []struct {
		text string
		want uint32
	}{
		{"", 0xdeadbeef},
		{"Four score and seven years ago", 0x17770551},
	} {
		if got := lookup3.Sum([]byte(c.text)); got != c.want {
			t.Errorf("%q: %08x, want %08x", c.text, got, c.want)
		}
	}
}

func TestEncodedSize(t *testing.T) {
	for limit, want := range map[uint64]int{0: 1, 255: 1, 256: 2, 65535: 2, 65536: 3, math.MaxUint64: 8} {
		if got := encodedSize(limit); got != want {
			t.Errorf("%d takes %d bytes, want %d", limit, got, want)
		}
	}
}

// TestSlots compares slots with their definition: slots are numbered in C order over the grid, with
// the unlimited dimension as the slowest.
func TestSlots(t *testing.T) {
	seed := soak.Seed(t)
	rng := rand.New(rand.NewPCG(seed, 0))
	for range 200 {
		rank := 1 + rng.IntN(4)
		first := rng.IntN(rank)
		maxShape, shape, chunk := make([]uint64, rank), make([]uint64, rank), make([]uint64, rank)
		for d := range rank {
			chunk[d] = 1 + rng.Uint64N(3)
			maxShape[d] = 1 + rng.Uint64N(9)
			shape[d] = maxShape[d]
		}
		maxShape[first] = readers.Unlimited
		s := newSlots(maxShape, shape, chunk, first)
		for slot := range uint64(60) {
			jumped := newSlots(maxShape, shape, chunk, first)
			jumped.skip(slot)
			want := slotPlace(slot, maxShape, chunk, first)
			for name, x := range map[string]*slots{"next": s, "skip": jumped} {
				got := make([]uint64, rank)
				x.writePosition(got)
				if !slices.Equal(got, want) {
					t.Fatalf("%s: slot %d of %v in chunks of %v, %d first, is at %v, want %v", name, slot, maxShape, chunk, first, got, want)
				}
			}
			s.next()
		}
	}
}

// slotPlace computes the position of a slot from the definition.
func slotPlace(slot uint64, maxShape, chunk []uint64, first int) []uint64 {
	out := make([]uint64, len(chunk))
	for d := len(chunk) - 1; d >= 0; d-- {
		if d == first {
			continue
		}
		grid := (maxShape[d] + chunk[d] - 1) / chunk[d]
		out[d] = slot % grid
		slot /= grid
	}
	out[first] = slot
	return out
}

// TestListOfReferences: in a sequence of references libhdf5 writes their size in memory, 64, but
// stores each in its size in the file. The object in the global heap has room for either size.
func TestListOfReferences(t *testing.T) {
	for _, offsets := range []int{4, 8} {
		list := []byte{0x49, 0, 0, 0, byte(offsets + 8), 0, 0, 0, 0x47, 0x12, 0, 0, 64, 0, 0, 0}
		c := &cursor{b: list, offsets: offsets, lengths: 8}
		got, err := readType(c, true)
		if err != nil {
			t.Fatalf("addresses of %d bytes: %v", offsets, err)
		}
		if got.String() != "vlen<ref-std>" || got.Base.Size != offsets+10 {
			t.Errorf("addresses of %d bytes: %v of %d bytes", offsets, got, got.Base.Size)
		}
	}

	f, tree := openFixture(t, "references_lists.h5")
	at := slices.IndexFunc(tree.Objects, func(o *Object) bool { return o.Path == "/x" })
	for name, want := range map[string][]string{"DIMENSION_LIST": {"/row", "/column"}, "shows": {"/column", "/", "/row"}} {
		a, _ := findAttribute(tree.Objects[at], name)
		lists, err := f.References(context.Background(), a)
		if err != nil {
			t.Fatal(name, err)
		}
		var got []string
		for _, addr := range slices.Concat(lists...) {
			got = append(got, tree.At(addr).Path)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s leads to %q, want %q", name, got, want)
		}
	}
}

// TestScalesOfOtherLengths: a scale of a fixed length other than the axis's does not change the
// axis; an unlimited one does.
func TestScalesOfOtherLengths(t *testing.T) {
	x := &NetCDFVar{Name: "v", Path: "/v", Object: &Object{Dataset: &Dataset{Shape: []uint64{4}, MaxShape: []uint64{4}}}}
	for _, c := range []struct {
		name      string
		scale     uint64
		unlimited bool
		want      string
		length    uint64
	}{
		{"longer", 5, false, "/v#edges", 4},
		{"shorter", 3, false, "/v#edges", 4},
		{"as long", 4, false, "/edges", 4},
		{"unlimited", 9, true, "/edges", 9},
	} {
		d := &NetCDFDim{Name: "edges"}
		v := &viewer{dims: map[*NetCDFDim]*readers.Dimension{d: {Name: "edges", Path: "/edges", Length: c.scale, Unlimited: c.unlimited}}}
		got := v.dimension(x, d, 0)
		if got.Path != c.want || got.Length != c.length || got.Anonymous != (c.want == "/v#edges") {
			t.Errorf("%s: %+v, want %s of %d", c.name, got, c.want, c.length)
		}
	}
}

// TestNetCDFView compares dimensions and names of the samples with what netcdf-c shows.
func TestNetCDFView(t *testing.T) {
	for _, c := range []struct {
		file string
		dims []string // path, length, u if unlimited
		vars []string // path, type, dims
	}{
		{
			"netcdf4.nc",
			[]string{"/time 2u", "/y 3", "/lonely 2", "/x 4", "/deep/er/z 5"},
			[]string{
				"/time <f8 time", "/x <f4 x", "/v <i2 time,y,x", "/y <i4 lonely,y",
				"/deep/er/w |u1 y,z", "/deep/er/name VLType:None z",
			},
		},
		{"netcdf4_classic.nc", []string{"/n 3u"}, []string{"/n <i4 n"}},
		{"references_lists.h5", []string{"/row 3", "/column 3"}, []string{"/x <i2 row,column", "/row <f4 row", "/column <f4 column"}},
		{
			"phony_dimensions.h5",
			[]string{"/phony_dim_2 3", "/phony_dim_3 4", "/phony_dim_4 4", "/g/phony_dim_0 3", "/g/phony_dim_1 0u"},
			[]string{"/a <f4 phony_dim_2,phony_dim_3", "/b <f4 phony_dim_3,phony_dim_4", "/g/c <i2 phony_dim_0,phony_dim_1"},
		},
	} {
		t.Run(c.file, func(t *testing.T) {
			_, tree := openFixture(t, c.file)
			view, err := tree.NetCDF(context.Background())
			if err != nil || view.Refused != nil {
				t.Fatal(err, view.Refused)
			}
			dims, vars := listView(view.Root)
			if !sameSet(dims, c.dims) || !sameSet(vars, c.vars) {
				t.Errorf("dimensions %q, variables %q, want %q, %q", dims, vars, c.dims, c.vars)
			}
		})
	}
}

func sameSet(a, b []string) bool {
	a, b = slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
	return slices.Equal(a, b)
}

func listView(g *NetCDFGroup) (dims, vars []string) {
	for _, d := range g.Dims {
		mark := ""
		if d.Unlimited {
			mark = "u"
		}
		dims = append(dims, d.Path+" "+strconv.FormatUint(d.Length, 10)+mark)
	}
	for _, v := range g.Vars {
		names := make([]string, len(v.Dims))
		for i, d := range v.Dims {
			names[i] = d.Name
		}
		vars = append(vars, v.Path+" "+v.TypeName+" "+strings.Join(names, ","))
	}
	for _, child := range g.Groups {
		d, v := listView(child)
		dims, vars = append(dims, d...), append(vars, v...)
	}
	return dims, vars
}
