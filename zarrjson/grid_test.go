package zarrjson

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"varve/fixtures/messages"
	"varve/fixtures/system"
	"varve/grid"
)

// rectilinear returns a document with a shape, chunk_shapes and more configuration.
func rectilinear(shape, shapes, more string) string {
	return with("shape", shape, "chunk_grid", `{"name":"rectilinear","configuration":{"kind":"inline","chunk_shapes":`+shapes+more+`}}`)
}

func TestGridForms(t *testing.T) {
	cases := []struct {
		name, shape, shapes, written string
		sizes                        [][]int64 // nil: too many to list
	}{
		{"integer stays", "[15]", "[5]", "[5]", [][]int64{{5, 5, 5}}},
		{"integer, clipped", "[12]", "[5]", "[5]", [][]int64{{5, 5, 2}}},
		{"integer of one", "[3]", "[1]", "[1]", [][]int64{{1, 1, 1}}},
		{"integer, no extent", "[0]", "[5]", "[5]", [][]int64{{}}},
		{"list", "[60]", "[[10,20,30]]", "[[10,20,30]]", [][]int64{{10, 20, 30}}},
		{"equal edges stay a list", "[12]", "[[4,4,4]]", "[[[4,3]]]", [][]int64{{4, 4, 4}}},
		{"runs of two", "[35]", "[[10,10,10,5]]", "[[[10,3],5]]", [][]int64{{10, 10, 10, 5}}},
		{"pairs of one", "[30]", "[[[10,1],[20,1]]]", "[[10,20]]", [][]int64{{10, 20}}},
		{"pairs that meet", "[50]", "[[[10,2],[10,3]]]", "[[[10,5]]]", [][]int64{{10, 10, 10, 10, 10}}},
		{"mixed", "[6]", "[[[1,3],3]]", "[[[1,3],3]]", [][]int64{{1, 1, 1, 3}}},
		{"specification", "[6,6,6,6,6]", "[4,[1,2,3],[[4,2]],[[1,3],3],[4,4,4]]", "[4,[1,2,3],[[4,2]],[[1,3],3],[[4,3]]]",
			[][]int64{{4, 2}, {1, 2, 3}, {4, 2}, {1, 1, 1, 3}, {4, 2}}},
		{"floats that are whole", "[30]", "[[10.0,[1e1,2]]]", "[[[10,3]]]", [][]int64{{10, 10, 10}}},
		{"a float of one", "[2]", "[[1.0,1]]", "[[[1,2]]]", [][]int64{{1, 1}}},
		{"overflow by whole chunks", "[50]", "[[10,20,30,40]]", "[[10,20,30,40]]", [][]int64{{10, 20, 20}}},
		{"edges without extent", "[0]", "[[10,20]]", "[[10,20]]", [][]int64{{}}},
		{"[[4],[8]]", "[4,8]", "[[4],[8]]", "[[4],[8]]", [][]int64{{4}, {8}}},
		{"0-d", "[]", "[]", "[]", [][]int64{}},
		{"a count that nothing holds", "[5]", "[[[1,9000000000000000000]]]", "[[[1,9000000000000000000]]]", [][]int64{{1, 1, 1, 1, 1}}},
		{"an extent that nothing holds", "[9000000000000000000]", "[[[1,9000000000000000000]]]", "[[[1,9000000000000000000]]]", nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			a, err := ParseArray([]byte(rectilinear(c.shape, c.shapes, "")))
			if err != nil {
				t.Fatal(err)
			}
			g, err := a.Grid()
			if err != nil {
				t.Fatal(err)
			}
			if got := sizes(g); !reflect.DeepEqual(got, c.sizes) {
				t.Errorf("sizes %v, not %v", got, c.sizes)
			}
			got, err := a.Encode(Compact)
			if want := rectilinear(c.shape, c.written, ""); err != nil || string(got) != want {
				t.Errorf("written as\n%s (%v), not\n%s", got, err, want)
			}
		})
	}
}

func TestGridDropsWhatItDoesNotKnow(t *testing.T) {
	a, err := ParseArray([]byte(rectilinear("[3]", "[[1,2]]", `,"note":"x","must_know":[1]`)))
	if err != nil {
		t.Fatal(err)
	}
	got, err := a.Encode(Compact)
	if want := rectilinear("[3]", "[[1,2]]", ""); err != nil || string(got) != want {
		t.Errorf("written as %s (%v), not %s", got, err, want)
	}
}

func TestGridRefuses(t *testing.T) {
	const shapes = "chunk_grid.configuration.chunk_shapes"
	const encoded = "chunk_grid.configuration.encoded_chunk_shapes"
	no := errors.ErrUnsupported
	cases := []refusal{
		{"no kind", with("chunk_grid", `{"name":"rectilinear","configuration":{"chunk_shapes":[2,[10]]}}`), "chunk_grid.configuration.kind", corrupt},
		{"unknown kind", with("chunk_grid", `{"name":"rectilinear","configuration":{"kind":"outline","chunk_shapes":[2,[10]]}}`), "chunk_grid.configuration.kind", corrupt},
		{"no configuration", with("chunk_grid", `{"name":"rectilinear"}`), "chunk_grid.configuration.kind", corrupt},
		{"no chunk shapes", with("chunk_grid", `{"name":"rectilinear","configuration":{"kind":"inline"}}`), shapes, corrupt},
		{"an integer for all", rectilinear("[15]", "5", ""), shapes, corrupt},
		{"too few axes", rectilinear("[15,3]", "[5]", ""), shapes, corrupt},
		{"too many axes", rectilinear("[15]", "[5,5]", ""), shapes, corrupt},
		{"sum too small", rectilinear("[15,3]", "[5,[1,1]]", ""), shapes + "[1]", corrupt},
		{"no edges", rectilinear("[15]", "[[]]", ""), shapes + "[0]", corrupt},
		{"no edges, no extent", rectilinear("[0]", "[[]]", ""), shapes + "[0]", corrupt},
		{"edge 0", rectilinear("[15]", "[[0,15]]", ""), shapes + "[0][0]", corrupt},
		{"edge -5", rectilinear("[15]", "[[15,-5]]", ""), shapes + "[0][1]", corrupt},
		{"edge 0 in a pair", rectilinear("[15]", "[[[0,3],15]]", ""), shapes + "[0][0]", corrupt},
		{"edge -10 in a pair", rectilinear("[15]", "[[[-10,2]]]", ""), shapes + "[0][0]", corrupt},
		{"count 0", rectilinear("[15]", "[[[5,0]]]", ""), shapes + "[0][0]", corrupt},
		{"count -1", rectilinear("[15]", "[[[5,-1]]]", ""), shapes + "[0][0]", corrupt},
		{"count 3.0", rectilinear("[15]", "[[[5,3.0]]]", ""), shapes + "[0][0]", corrupt},
		{"pair of one", rectilinear("[15]", "[[[15]]]", ""), shapes + "[0][0]", corrupt},
		{"pair of three", rectilinear("[15]", "[[[5,1,1]]]", ""), shapes + "[0][0]", corrupt},
		{"pair in a pair", rectilinear("[15]", "[[[[5,1],3]]]", ""), shapes + "[0][0]", corrupt},
		{"true in a list", rectilinear("[15]", "[[true]]", ""), shapes + "[0][0]", corrupt},
		{"half in a list", rectilinear("[15]", "[[7.5]]", ""), shapes + "[0][0]", corrupt},
		{"text in a list", rectilinear("[15]", `[["15"]]`, ""), shapes + "[0][0]", corrupt},
		{"bare 6.0", rectilinear("[15]", "[6.0]", ""), shapes + "[0]", corrupt},
		{"bare 0", rectilinear("[15]", "[0]", ""), shapes + "[0]", corrupt},
		{"bare 0, no extent", rectilinear("[0]", "[0]", ""), shapes + "[0]", corrupt},
		{"bare true", rectilinear("[15]", "[true]", ""), shapes + "[0]", corrupt},
		{"bare null", rectilinear("[15]", "[null]", ""), shapes + "[0]", corrupt},
		{"sum past int64", rectilinear("[15]", "[[[9000000000000000000,2]]]", ""), shapes + "[0]", corrupt},
		{"counts past int64", rectilinear("[15]", "[[[1,9000000000000000000],[1,9000000000000000000]]]", ""), shapes + "[0]", corrupt},
		{"short, however many", rectilinear("[9100000000000000000]", "[[[1,9000000000000000000]]]", ""), shapes + "[0]", corrupt},

		{"encoded, too few edges", rectilinear("[15]", "[[5,10]]", `,"encoded_chunk_shapes":[[10]]`), encoded + "[0]", corrupt},
		{"encoded, smaller", rectilinear("[15]", "[[5,10]]", `,"encoded_chunk_shapes":[7]`), encoded + "[0]", corrupt},
		{"encoded, too few axes", rectilinear("[15]", "[[5,10]]", `,"encoded_chunk_shapes":[]`), encoded, corrupt},
		{"encoded, not a list", rectilinear("[15]", "[[5,10]]", `,"encoded_chunk_shapes":10`), encoded, corrupt},
		{"unknown grid", with("chunk_grid", `"rectangular"`), "chunk_grid", no},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			a, err := ParseArray([]byte(c.doc))
			c.check(t, a == nil, err)
		})
	}
}

// codecSizes returns the codec sizes along the first axis.
func codecSizes(g *grid.Grid) (list []int64) {
	for chunk := range g.Dim(0).Chunks() {
		size, _ := g.Dim(0).CodecSize(chunk)
		list = append(list, size)
	}
	return list
}

func TestEncodedChunkShapes(t *testing.T) {
	cases := []struct {
		name, shape, shapes, encoded string
		codec                        []int64
	}{
		{"example of the proposal", "[1100]", "[[[200,2],150,[200,2],150]]", "[200]", []int64{200, 200, 200, 200, 200, 200}},
		{"lists", "[15]", "[[5,10]]", "[[6,12]]", []int64{6, 12}},
		{"integers", "[12]", "[5]", "[8]", []int64{8, 8, 8}},
		{"equal integers", "[12]", "[5]", "[5]", []int64{5, 5, 5}},
		{"integer and list", "[12]", "[5]", "[[[5,2],7]]", []int64{5, 5, 7}},
		{"no extent", "[0]", "[5]", "[8]", nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			doc := rectilinear(c.shape, c.shapes, `,"encoded_chunk_shapes":`+c.encoded)
			a, err := ParseArray([]byte(doc))
			if err != nil {
				t.Fatal(err)
			}
			g, err := a.Grid()
			if err != nil {
				t.Fatal(err)
			}
			if got := codecSizes(g); !reflect.DeepEqual(got, c.codec) {
				t.Errorf("codec sizes %v, not %v", got, c.codec)
			}
			if got, err := a.Encode(Compact); err != nil || string(got) != doc {
				t.Errorf("written as %s (%v), not %s", got, err, doc)
			}
		})
	}
}

func mustDim(d grid.Dimension, err error) grid.Dimension {
	if err != nil {
		panic(err)
	}
	return d
}

func TestDescribeGrid(t *testing.T) {
	fixed := mustDim(grid.NewFixed(10, 25))
	varying := mustDim(grid.RunLength(grid.Times(10, 2), grid.Times(5, 1)).Bind(25))
	padded := mustDim(grid.RunLength(grid.Run{Edge: grid.Edge{Codec: 10, Data: 7}, Count: 3}).Bind(20))
	pattern := mustDim(grid.Pattern(grid.Compress(31, 28, 31)...).Bind(200))
	vast := mustDim(grid.Pattern(grid.Compress(1, 2)...).Bind(9e18))
	none := mustDim(grid.NewFixed(10, 0))
	cases := []struct {
		name string
		dim  grid.Dimension
		form GridForm
		want string // configuration; "" for an error
	}{
		{"regular", fixed, AsRegular, `{"chunk_shape":[10]}`},
		{"regular as rectilinear", fixed, AsRectilinear, `{"kind":"inline","chunk_shapes":[[[10,3]]]}`},
		{"regular as encoded", fixed, AsEncoded, `{"kind":"inline","chunk_shapes":[[[10,3]]],"encoded_chunk_shapes":[[[10,3]]]}`},
		{"no extent", none, AsRegular, `{"chunk_shape":[10]}`},
		{"no extent as rectilinear", none, AsRectilinear, `{"kind":"inline","chunk_shapes":[[10]]}`},
		{"chunks of nothing as rectilinear", mustDim(grid.NewFixed(0, 0)), AsRectilinear, ""},
		{"varying", varying, AsRectilinear, `{"kind":"inline","chunk_shapes":[[[10,2],5]]}`},
		{"varying as regular", varying, AsRegular, ""},
		{"pattern", pattern, AsRectilinear, `{"kind":"inline","chunk_shapes":[[31,28,[31,2],28,[31,2]]]}`},
		{"vast pattern", vast, AsRectilinear, ""},
		{"padded", padded, AsEncoded, `{"kind":"inline","chunk_shapes":[[[7,3]]],"encoded_chunk_shapes":[[[10,3]]]}`},
		{"padded as rectilinear", padded, AsRectilinear, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			g, err := grid.New(c.dim)
			if err != nil {
				t.Fatal(err)
			}
			described, err := DescribeGrid(g, c.form)
			if c.want == "" {
				if !errors.Is(err, errors.ErrUnsupported) {
					t.Fatalf("%v is not ErrUnsupported", err)
				}
				messages.Check(t, "", err)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			w := &writer{layout: Compact}
			if err := described.write(w, g.Shape()); err != nil {
				t.Fatal(err)
			}
			if !strings.HasSuffix(string(w.out), `"configuration":`+c.want+"}") {
				t.Errorf("written as %s, not %s", w.out, c.want)
			}
			again, err := described.Bind(g.Shape())
			if err != nil || !reflect.DeepEqual(sizes(again), sizes(g)) || !reflect.DeepEqual(codecSizes(again), codecSizes(g)) {
				t.Errorf("bound again: %v %v (%v)", sizes(again), codecSizes(again), err)
			}
		})
	}
}

func TestGridKeepsItsFormWhenResized(t *testing.T) {
	cases := []struct{ name, grid, want string }{
		{"regular", `{"name":"regular","configuration":{"chunk_shape":[2,10]}}`, `{"name":"regular","configuration":{"chunk_shape":[2,10]}}`},
		{"integer and list", `{"name":"rectilinear","configuration":{"kind":"inline","chunk_shapes":[2,[10]]}}`,
			`{"name":"rectilinear","configuration":{"kind":"inline","chunk_shapes":[2,[10]]}}`},
		{"list", `{"name":"rectilinear","configuration":{"kind":"inline","chunk_shapes":[[[2,3]],10]}}`,
			`{"name":"rectilinear","configuration":{"kind":"inline","chunk_shapes":[[[2,4]],10]}}`},
		{"encoded", `{"name":"rectilinear","configuration":{"kind":"inline","chunk_shapes":[2,[10]],"encoded_chunk_shapes":[2,[16]]}}`,
			`{"name":"rectilinear","configuration":{"kind":"inline","chunk_shapes":[2,[10]],"encoded_chunk_shapes":[2,[16]]}}`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			a, err := ParseArray([]byte(with("chunk_grid", c.grid)))
			if err != nil {
				t.Fatal(err)
			}
			g, err := a.Grid()
			if err != nil {
				t.Fatal(err)
			}
			if g, err = g.Resize([]int64{8, 10}); err != nil {
				t.Fatal(err)
			}
			if a.ChunkGrid, err = a.ChunkGrid.WithGrid(g); err != nil {
				t.Fatal(err)
			}
			a.Shape = g.Shape()
			got, err := a.Encode(Compact)
			if want := with("shape", "[8,10]", "chunk_grid", c.want); err != nil || string(got) != want {
				t.Errorf("written as %s (%v), not %s", got, err, want)
			}
		})
	}
}

// TestGridKeepsItsFormWithoutExtent checks that an integer without chunks yet is written
// as an integer, and that its encoded sizes are not written as a list of one.
func TestGridKeepsItsFormWithoutExtent(t *testing.T) {
	for _, more := range []string{"", `,"encoded_chunk_shapes":[5,[[3,2]]]`} {
		doc := rectilinear("[0,4]", "[5,[[2,2]]]", more)
		a, err := ParseArray([]byte(doc))
		if err != nil {
			t.Fatal(err)
		}
		g, err := a.Grid()
		if err != nil {
			t.Fatal(err)
		}
		if a.ChunkGrid, err = a.ChunkGrid.WithGrid(g); err != nil {
			t.Fatal(err)
		}
		if got, err := a.Encode(Compact); err != nil || string(got) != doc {
			t.Errorf("written as %s (%v), not %s", got, err, doc)
		}
	}
}

// TestGridFormCannotHold checks that a grid of several edges is refused as a regular one.
func TestGridFormCannotHold(t *testing.T) {
	g, err := grid.FromSizes([]int64{3, 4}, grid.List(1, 2), grid.Every(4))
	if err != nil {
		t.Fatal(err)
	}
	if c, err := RegularGrid(3, 4).WithGrid(g); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("%v (%v)", c, err)
	}
}

// TestGridTakesNoTimeByTheCount checks that the time does not depend on the counts.
func TestGridTakesNoTimeByTheCount(t *testing.T) {
	const vast = "9000000000000000000"
	shapes := []string{"[[[1," + vast + "]]]", "[[[" + vast + ",1]]]", "[[[3,3000000000000000000]]]", "[1]", "[[[1,4500000000000000000],[1,4500000000000000000]]]"}
	encoded := append([]string{""}, shapes...)
	start := system.ProcessorTime(t)
	for _, extent := range []string{"0", "1", "9", vast} {
		for _, s := range shapes {
			for _, e := range encoded {
				more := ""
				if e != "" {
					more = `,"encoded_chunk_shapes":` + e
				}
				a, err := ParseArray([]byte(rectilinear("["+extent+"]", s, more)))
				if err != nil {
					continue
				}
				if _, err := a.Encode(Indented); err != nil {
					t.Error(fmt.Errorf("%s %s: %w", s, e, err))
				}
			}
		}
	}
	if took := system.ProcessorTime(t) - start; took > time.Minute {
		t.Errorf("took %v", took)
	}
}
