package grid_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"varve/grid"
)

func TestDimensionsAgainstEdges(t *testing.T) {
	rounds(t, 400, func(t *testing.T, r *rand.Rand) {
		d, m := randomAxis(t, r)
		checkDimension(t, d, m)
		extent := m.extent
		if extent > 0 {
			extent = r.Int64N(extent)
		}
		smaller, err := d.WithExtent(extent)
		check(t, err)
		m.extent = extent
		if _, ok := d.(*grid.Varying); !ok { // other kinds declare no cells past the extent
			m.edges = m.edges[:min(int64(len(m.edges)), smaller.Cells())]
		}
		checkDimension(t, smaller, m)
	})
}

// checkDimension compares every result of a dimension with a list of edges.
func checkDimension(t testing.TB, d grid.Dimension, m axisModel) {
	t.Helper()
	if d.Extent() != m.extent || d.Chunks() != m.chunks() || d.Cells() != int64(len(m.edges)) {
		t.Fatalf("extent %d, %d chunks, %d cells, want %d, %d, %d", d.Extent(), d.Chunks(), d.Cells(), m.extent, m.chunks(), len(m.edges))
	}
	for index := range m.extent {
		want, _ := m.chunkOf(index)
		if got, err := d.Find(index); err != nil || got != want {
			t.Fatalf("index %d is in chunk %d (%v), want %d", index, got, err, want)
		}
	}
	offset := int64(0)
	for i, e := range m.edges {
		chunk := int64(i)
		data := max(0, min(e.Data, m.extent-offset))
		if codecSize(d, chunk) != e.Codec || dataSize(d, chunk) != data {
			t.Fatalf("cell %d: codec %d, data %d, want %d, %d", i, codecSize(d, chunk), dataSize(d, chunk), e.Codec, data)
		}
		if chunk < d.Chunks() && offsetOf(d, chunk) != offset {
			t.Fatalf("chunk %d begins at %d, want %d", i, offsetOf(d, chunk), offset)
		}
		s := d.Span(chunk)
		if s.Edge != e || chunk < s.First || chunk >= s.First+s.Count || s.Offset+(chunk-s.First)*s.Data != offset {
			t.Fatalf("cell %d: span %+v, want edges %v and offset %d", i, s, e, offset)
		}
		offset += e.Data
	}
	end := int64(len(m.edges))
	if at, ok := d.Offset(end); !ok || at < m.extent {
		t.Fatalf("the chunks end at %d (%v), before the extent %d", at, ok, m.extent)
	}
	for _, chunk := range []int64{-1, end, end + 1, math.MaxInt64, math.MinInt64} {
		_, hasCodec := d.CodecSize(chunk)
		_, hasData := d.DataSize(chunk)
		_, hasOffset := d.Offset(chunk)
		if hasCodec || hasData || hasOffset != (chunk == end) || d.Span(chunk) != (grid.Span{}) {
			t.Fatalf("cell %d does not exist: codec size %v, data size %v, offset %v", chunk, hasCodec, hasData, hasOffset)
		}
	}
	checkEdges(t, d, m)
}

// checkEdges compares the edges that a dimension yields with a list of edges.
func checkEdges(t testing.TB, d grid.Dimension, m axisModel) {
	t.Helper()
	var previous grid.Run
	for run := range d.Runs() {
		if run.Edge == previous.Edge {
			t.Fatalf("neighbouring runs of %v are not joined", run.Edge)
		}
		previous = run
	}
	if got := slices.Collect(grid.Expand(d.Runs())); !slices.Equal(got, m.edges) {
		t.Fatalf("edges %v, want %v", got, m.edges)
	}
	var unique []grid.Edge
	for _, e := range m.edges {
		if !slices.Contains(unique, e) {
			unique = append(unique, e)
		}
	}
	if got := slices.Collect(d.Unique()); len(m.edges) > 0 && !slices.Equal(got, unique) {
		t.Fatalf("unique edges %v, want %v", got, unique)
	}
	var data []int64
	for i := range m.chunks() {
		data = append(data, dataSize(d, i))
	}
	if got := slices.Collect(grid.DataSizes(d)); !slices.Equal(got, data) {
		t.Fatalf("data sizes %v, want %v", got, data)
	}
}

func TestEqual(t *testing.T) {
	bind := func(extent int64, s grid.Sizes) grid.Dimension {
		d, err := s.Bind(extent)
		check(t, err)
		return d
	}
	padded := grid.Run{Edge: grid.Edge{Codec: 200, Data: 150}, Count: 1}
	for _, tt := range []struct {
		name             string
		a, b             grid.Dimension
		equal, canonical bool
	}{
		{"a number and a list", bind(25, grid.Every(10)), bind(25, grid.List(10, 10, 10)), true, true},
		{"a cell past the extent", bind(6, grid.List(4, 4)), bind(6, grid.List(4, 4, 4)), false, true},
		{"a shorter last edge", bind(25, grid.Every(10)), bind(25, grid.List(10, 10, 5)), false, false},
		{"other extents", bind(25, grid.Every(10)), bind(24, grid.Every(10)), false, false},
		{"other sizes", bind(20, grid.Every(10)), bind(20, grid.List(5, 15)), false, false},
		{"a pattern and its edges", bind(90, grid.Pattern(grid.Compress(31, 28)...)), bind(90, grid.List(31, 28, 31)), true, true},
		{"a pattern and it twice", bind(500, grid.Pattern(grid.Compress(3, 1)...)), bind(500, grid.Pattern(grid.Compress(3, 1, 3, 1)...)), true, true},
		{"patterns that part late", bind(500, grid.Pattern(grid.Compress(3, 1, 3, 1)...)), bind(500, grid.Pattern(grid.Compress(3, 1, 3, 1, 3, 1, 2)...)), false, false},
		{"a uniform pattern and a number", bind(25, grid.Pattern(grid.Times(10, 2))), bind(25, grid.Every(10)), true, true},
		{"a pattern cut to one size", bind(5, grid.Pattern(grid.Compress(10, 3)...)), bind(5, grid.Every(10)), true, true},
		{"a padded last edge", bind(350, grid.RunLength(grid.Times(200, 1), padded)), bind(350, grid.Every(200)), false, true},
		{"a padded first edge", bind(350, grid.RunLength(padded, grid.Times(200, 1))), bind(350, grid.Every(200)), false, false},
		{"padded alike but in other numbers",
			bind(400, grid.RunLength(padded, padded, grid.Times(150, 2))), bind(400, grid.RunLength(padded, padded, padded, grid.Times(150, 1))), false, false},
		{"padded alike", bind(150, grid.RunLength(padded)), bind(150, grid.Pattern(padded)), true, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if grid.Equal(tt.a, tt.b) != tt.equal || grid.Equal(tt.b, tt.a) != tt.equal {
				t.Errorf("equal: %v, %v, want %v", grid.Equal(tt.a, tt.b), grid.Equal(tt.b, tt.a), tt.equal)
			}
			a, b := grid.Canonical(tt.a), grid.Canonical(tt.b)
			if grid.Equal(a, b) != tt.canonical {
				t.Errorf("canonical forms %v and %v: equal %v, want %v", a, b, !tt.canonical, tt.canonical)
			}
		})
	}
}

// The canonical form has the same chunks, and is its own canonical form.
func TestCanonicalKeepsChunks(t *testing.T) {
	rounds(t, 300, func(t *testing.T, r *rand.Rand) {
		d, _ := randomAxis(t, r)
		c := grid.Canonical(d)
		if c.Chunks() != d.Chunks() || c.Extent() != d.Extent() || !grid.Equal(c, grid.Canonical(c)) {
			t.Fatalf("%d chunks, want %d", c.Chunks(), d.Chunks())
		}
		for i := range d.Chunks() {
			if offsetOf(c, i) != offsetOf(d, i) || dataSize(c, i) != dataSize(d, i) || codecSize(c, i) != codecSize(d, i) {
				t.Fatalf("chunk %d at %d of %d (%d), want at %d of %d (%d)", i, offsetOf(c, i), dataSize(c, i), codecSize(c, i),
					offsetOf(d, i), dataSize(d, i), codecSize(d, i))
			}
		}
		if back, err := grid.SizesOf(d).Bind(d.Extent()); err != nil || !grid.Equal(back, d) {
			t.Fatalf("the declared sizes bind to another dimension (%v)", err)
		}
	})
}

func TestResizeAgainstEdges(t *testing.T) {
	rounds(t, 300, func(t *testing.T, r *rand.Rand) {
		runs, named := randomRuns(r), randomRuns(r)
		edges, length := expand(runs)
		d, err := grid.NewVarying(runs, length)
		check(t, err)
		more, added := expand(named)
		grown, err := d.Resize(length+1+r.Int64N(added), grid.Append(named...))
		check(t, err)
		checkDimension(t, grown, axisModel{slices.Concat(edges, more), grown.Extent()})
		grown, err = d.Resize(length+r.Int64N(30), grid.Repeat())
		check(t, err)
		largest := int64(0)
		for _, e := range edges {
			largest = max(largest, e.Codec)
		}
		repeated := slices.Clone(edges)
		for at := length; at < grown.Extent(); at += largest {
			repeated = append(repeated, grid.Full(largest))
		}
		checkDimension(t, grown, axisModel{repeated, grown.Extent()})
	})
}

// offsetOf, dataSize and codecSize are for chunks that exist.
func offsetOf(d grid.Dimension, chunk int64) int64 { return mustHave(d.Offset(chunk)) }

func dataSize(d grid.Dimension, chunk int64) int64 { return mustHave(d.DataSize(chunk)) }

func codecSize(d grid.Dimension, chunk int64) int64 { return mustHave(d.CodecSize(chunk)) }

func mustHave(n int64, ok bool) int64 {
	if !ok {
		panic("no such chunk")
	}
	return n
}

func TestZip(t *testing.T) {
	data := []grid.Run{grid.Times(200, 2), grid.Times(150, 1), grid.Times(200, 2), grid.Times(150, 1)}
	got, err := grid.Zip(data, []grid.Run{grid.Times(200, 6)})
	check(t, err)
	short := grid.Edge{Codec: 200, Data: 150}
	want := []grid.Run{grid.Times(200, 2), {Edge: short, Count: 1}, grid.Times(200, 2), {Edge: short, Count: 1}}
	if !slices.Equal(got, want) {
		t.Errorf("zipped to %v, want %v", got, want)
	}
	if back := slices.Collect(grid.DataRuns(slices.Values(got))); !slices.Equal(back, data) {
		t.Errorf("data sizes %v, want %v", back, data)
	}
	if back := slices.Collect(grid.CodecRuns(slices.Values(got))); !slices.Equal(back, []grid.Run{grid.Times(200, 6)}) {
		t.Errorf("codec sizes %v", back)
	}
	for _, tt := range []struct {
		name        string
		data, codec []grid.Run
		says        string
	}{
		{"fewer codec sizes", data, []grid.Run{grid.Times(200, 5)}, "5 codec sizes for 6 data sizes"},
		{"codec size below data size", data, []grid.Run{grid.Times(200, 4), grid.Times(199, 2)}, "edge 4: codec size 199"},
		{"data size of 0", []grid.Run{grid.Times(0, 1)}, []grid.Run{grid.Times(1, 1)}, "data sizes: run 0: size 0"},
		{"codec count of 0", []grid.Run{grid.Times(1, 1)}, []grid.Run{grid.Times(1, 0)}, "codec sizes: run 0: count 0"},
		{"no data sizes", nil, []grid.Run{grid.Times(1, 1)}, "data sizes: no edges"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := grid.Zip(tt.data, tt.codec)
			wantError(t, err, tt.says)
		})
	}
}

// A dimension of more than 2^32 elements, padding of more than 2^32 and enough runs for
// guides each have a representation of their own. All must return the same results.
func TestLargeTables(t *testing.T) {
	for _, tt := range []struct {
		name          string
		runs          int
		unit, padding int64
		late          int64 // how many times as many edges late runs have
	}{
		{"few runs, short", 10, 1, 1, 1},
		{"few runs, long", 10, 1 << 33, 1, 1},
		{"runs to halve, short", 150, 1, 1, 1},
		{"runs to halve, long", 150, 1 << 33, 1, 1},
		{"many runs, short", 5000, 1, 1, 1},
		{"many runs, long", 5000, 1 << 33, 1, 1},
		{"many edges in late runs", 5000, 1, 1, 100},
		{"wide padding", 5000, 1, 1 << 40, 1},
		{"no padding", 5000, 1, 0, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(9, 9))
			runs := make([]grid.Run, tt.runs)
			for i := range runs {
				size, count := tt.unit*(1+r.Int64N(9)), 1+r.Int64N(3)
				if i > tt.runs/2 {
					size, count = size*1000, count*tt.late // so that early runs crowd
				}
				runs[i] = grid.Run{Edge: grid.Edge{Codec: size + r.Int64N(2)*tt.padding, Data: size}, Count: count}
			}
			checkTable(t, newVarying(t, runs), runs)
		})
	}
}

// checkTable looks up the first and the last index of every edge.
func checkTable(t *testing.T, d *grid.Varying, runs []grid.Run) {
	t.Helper()
	offset, chunk := int64(0), int64(0)
	for _, run := range runs {
		for range run.Count {
			for _, index := range []int64{offset, offset + run.Data - 1} {
				if got, err := d.Find(index); err != nil || got != chunk {
					t.Fatalf("index %d is in chunk %d (%v), want %d", index, got, err, chunk)
				}
			}
			if offsetOf(d, chunk) != offset || dataSize(d, chunk) != run.Data || codecSize(d, chunk) != run.Codec {
				t.Fatalf("chunk %d at %d of %d (%d), want at %d of %v", chunk, offsetOf(d, chunk), dataSize(d, chunk), codecSize(d, chunk), offset, run.Edge)
			}
			offset, chunk = offset+run.Data, chunk+1
		}
	}
}

// TestCommonPrefix compares the result with a count of equal edges, one by one.
func TestCommonPrefix(t *testing.T) {
	dims := map[string]grid.Dimension{}
	for name, lengths := range map[string][]int64{"months": {31, 28, 31, 30}, "longer": {31, 28, 31, 30, 31}, "months after 5": {5, 31, 28, 31, 30}, "tens": {10, 10, 10},
		"tens, then five": {10, 10, 10, 5}, "fewer tens": {7, 10, 10, 5}} {
		var runs []grid.Run
		total := int64(0)
		for _, n := range lengths {
			runs = append(runs, grid.Times(n, 1))
			total += n
		}
		d, err := grid.NewVarying(runs, total)
		if err != nil {
			t.Fatal(err)
		}
		dims[name] = d
	}
	for _, c := range []struct {
		a, b  string
		first int64
		want  int64
	}{
		{"months", "longer", 0, 4}, {"longer", "months", 0, 4}, {"months", "months after 5", 1, 4}, {"months", "months after 5", 0, 0},
		{"tens", "tens", 1, 2}, {"tens", "tens", 3, 0}, {"tens", "months", 0, 0}, {"months", "longer", 9, 0},
		{"tens, then five", "fewer tens", 1, 2},
	} {
		if got := grid.CommonPrefix(dims[c.a], dims[c.b], c.first); got != c.want {
			t.Errorf("%s in %s from %d on: %d, want %d", c.a, c.b, c.first, got, c.want)
		}
	}
}
