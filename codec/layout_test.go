package codec

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"varve/grid"
)

// layoutGrid returns a grid with an extent of 120 along all axes.
func layoutGrid(t *testing.T, sizes ...grid.Sizes) *grid.Grid {
	t.Helper()
	g, err := grid.FromSizes(slices.Repeat([]int64{120}, len(sizes)), sizes...)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func layoutPipeline(t *testing.T, g *grid.Grid, list string) *Pipeline {
	t.Helper()
	return mustNew(t, "["+list+"]", Form{Type: int16Type, Shape: firstChunk(g)})
}

func TestDeclaredLayout(t *testing.T) {
	every := layoutGrid(t, grid.Every(60), grid.Every(40))
	for _, tt := range []struct {
		name   string
		g      *grid.Grid
		list   string
		want   string
		levels int
		plain  bool // regular
	}{
		{"regular", every, littleBytes, "(60, 40)", 1, true},
		{"a list of equal edges", layoutGrid(t, grid.List(60, 60), grid.RunLength(grid.Times(40, 3))), littleBytes, "(60, 40)", 1, true},
		{"one edge", layoutGrid(t, grid.List(120), grid.Every(120)), littleBytes, "(120, 120)", 1, true},
		{"edges past the extent", layoutGrid(t, grid.List(60, 60, 60), grid.Every(40)), littleBytes, "(60, 40)", 1, true},
		{"rectilinear", layoutGrid(t, grid.List(60, 40, 20), grid.Every(40)), littleBytes, "([60,40,20], 40)", 1, false},
		{"runs that could be joined", layoutGrid(t, grid.RunLength(grid.Times(30, 1), grid.Times(30, 2), grid.Times(10, 3)), grid.Every(40)), littleBytes, "([30×3,10×3], 40)", 1, false},
		{"a pattern", layoutGrid(t, grid.Pattern(grid.Times(20, 1), grid.Times(10, 2)), grid.Every(40)), littleBytes, "([20,10×2,20,10×2,20,10×2], 40)", 1, false},
		{"a pattern of one size", layoutGrid(t, grid.Pattern(grid.Times(20, 1)), grid.Every(40)), littleBytes, "(20, 40)", 1, true},
		{"the beginning of a pattern", layoutGrid(t, grid.Pattern(grid.Times(60, 2), grid.Times(7, 1)), grid.Every(40)), littleBytes, "(60, 40)", 1, true},
		{"padded", layoutGrid(t, grid.RunLength(grid.Run{Edge: grid.Edge{Codec: 50, Data: 40}, Count: 3}), grid.Every(40)), littleBytes, "([40/50×3], 40)", 1, false},
		{"sharded", every, shards("[20,10]", littleBytes), "(60, 40) > (20, 10)", 2, true},
		{"sharded and compressed", every, shards("[20,10]", littleBytes) + `,{"name":"gzip"}`, "(60, 40) > (20, 10)", 2, true},
		{"nested", every, shards("[20,10]", shards("[5,10]", littleBytes)), "(60, 40) > (20, 10) > (5, 10)", 3, true},
		{"transposed", every, `{"name":"transpose","configuration":{"order":[1,0]}},` + shards("[20,10]", shards("[5,10]", littleBytes)), "(60, 40) > (10, 20) > (10, 5)", 3, true},
		{"transposed in a shard", every, shards("[20,10]", `{"name":"transpose","configuration":{"order":[1,0]}},`+shards("[5,10]", littleBytes)), "(60, 40) > (20, 10) > (10, 5)", 3, true},
	} {
		p := layoutPipeline(t, tt.g, tt.list)
		l, err := DeclaredLayout(tt.g, p)
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		if l.String() != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, l, tt.want)
		}
		if len(l.Levels()) != tt.levels || l.IsSharded() != (tt.levels > 1) || l.IsRegular() != tt.plain || l.NDim() != 2 {
			t.Errorf("%s: %d levels, sharded %v, regular %v, %d axes", tt.name, len(l.Levels()), l.IsSharded(), l.IsRegular(), l.NDim())
		}
		if tt.g.IsRegular() != l.IsRegular() {
			t.Errorf("%s: the grid is regular: %v, the layout: %v", tt.name, tt.g.IsRegular(), l.IsRegular())
		}
		if l.Innermost() != l.Levels()[tt.levels-1] {
			t.Errorf("%s: innermost is %v", tt.name, l.Innermost())
		}
	}
}

// A layout keeps where each shard has its index, and the codecs of the index.
func TestLayoutKeepsIndexes(t *testing.T) {
	const (
		plainIndex = `{"name":"bytes","configuration":{"endian":"big"}}`
		outer      = `{"name":"sharding_indexed","configuration":{"chunk_shape":[20,10],"codecs":[%s],"index_codecs":[%s],"index_location":"start"}}`
		nested     = `{"name":"sharding_indexed","configuration":{"chunk_shape":[5,10],"codecs":[%s],"index_codecs":[%s],"index_location":"end"}}`
	)
	list := fmt.Sprintf(outer, fmt.Sprintf(nested, littleBytes, plainIndex+`,{"name":"crc32c"}`), plainIndex)
	g := layoutGrid(t, grid.Every(60), grid.Every(40))
	l, err := DeclaredLayout(g, layoutPipeline(t, g, list))
	if err != nil {
		t.Fatal(err)
	}
	codecs, err := l.Codecs(specs(t, "["+littleBytes+"]"))
	if err != nil {
		t.Fatal(err)
	}
	form := Form{Type: int16Type, Shape: []int64{60, 40}}
	want := mustNew(t, "["+list+"]", form)
	got, err := New(codecs, form)
	if err != nil || !got.SameDecode(want) {
		t.Errorf("rebuilt as %s (%v), not %s", codecs[0].Config, err, list)
	}
	l.Index, l.Inner.Index = nil, nil
	if codecs, err = l.Codecs(specs(t, "["+littleBytes+"]")); err != nil {
		t.Fatal(err)
	}
	if got, err = New(codecs, form); err != nil || got.SameDecode(want) {
		t.Errorf("without indexes: %v", err)
	}
}

// A layout equals the layout of the chunk grid and codecs made from it.
func TestLayoutToMetadata(t *testing.T) {
	const gzip = littleBytes + `,{"name":"gzip","configuration":{"level":1}}`
	for _, list := range []string{gzip, shards("[20,10]", gzip), shards("[20,10]", shards("[5,10]", gzip))} {
		g := layoutGrid(t, grid.List(60, 40, 20), grid.Every(40))
		l, err := DeclaredLayout(g, layoutPipeline(t, g, list))
		if err != nil {
			t.Fatal(err)
		}
		codecs, err := l.Codecs(specs(t, "["+gzip+"]"))
		if err != nil {
			t.Fatal(err)
		}
		back, err := grid.FromSizes(g.Shape(), l.Chunks...)
		if err != nil {
			t.Fatal(err)
		}
		p, err := New(codecs, Form{Type: int16Type, Shape: firstChunk(back)})
		if err != nil {
			t.Fatal(err)
		}
		again, err := DeclaredLayout(back, p)
		if err != nil {
			t.Fatal(err)
		}
		if !again.Equal(l) {
			t.Errorf("%v became %v", l, again)
		}
	}
	uneven := &Layout{Chunks: []grid.Sizes{grid.Every(10)}, Inner: &Layout{Chunks: []grid.Sizes{grid.List(4, 6)}}}
	if _, err := uneven.Codecs(nil); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("uneven inner chunks: %v", err)
	}
}

func TestLayoutEqual(t *testing.T) {
	layout := func(sizes []grid.Sizes, inner *Layout) *Layout { return &Layout{Chunks: sizes, Inner: inner} }
	ten := []grid.Sizes{grid.Every(10)}
	five := layout([]grid.Sizes{grid.Every(5)}, nil)
	for _, tt := range []struct {
		name string
		a, b *Layout
		same bool
	}{
		{"alike", layout(ten, five), layout(ten, five), true},
		{"other size", layout(ten, nil), five, false},
		{"other inner size", layout(ten, five), layout(ten, layout(ten, nil)), false},
		{"one level more", layout(ten, five), layout(ten, nil), false},
		{"one axis more", layout(ten, nil), layout(slices.Repeat(ten, 2), nil), false},
		{"edges", layout([]grid.Sizes{grid.List(1, 2)}, nil), layout([]grid.Sizes{grid.List(1, 2)}, nil), true},
		{"other edges", layout([]grid.Sizes{grid.List(1, 2)}, nil), layout([]grid.Sizes{grid.List(2, 1)}, nil), false},
		{"edges and a size", layout([]grid.Sizes{grid.List(1, 2)}, nil), layout([]grid.Sizes{grid.Every(1)}, nil), false},
		{"nothing", nil, nil, true},
		{"something and nothing", five, nil, false},
	} {
		if tt.a.Equal(tt.b) != tt.same || tt.b.Equal(tt.a) != tt.same {
			t.Errorf("%s: Equal is not %v", tt.name, tt.same)
		}
	}
}

func TestGranularity(t *testing.T) {
	const (
		transposed = `{"name":"transpose","configuration":{"order":[1,0]}},`
		gzip       = `,{"name":"gzip"}`
	)
	g := layoutGrid(t, grid.Every(60), grid.Every(40))
	for _, tt := range []struct {
		name, list string
		want       string
		elements   bool
	}{
		{"raw", littleBytes, "(60, 40)", true},
		{"raw after a transposition", transposed + littleBytes, "(60, 40)", true},
		{"compressed", littleBytes + gzip, "(60, 40)", false},
		{"guarded by a checksum", littleBytes + `,{"name":"crc32c"}`, "(60, 40)", false},
		{"shards of raw chunks", shards("[20,10]", littleBytes), "(60, 40) > (20, 10)", true},
		{"shards of compressed chunks", shards("[20,10]", littleBytes+gzip), "(60, 40) > (20, 10)", false},
		{"a compressed shard", shards("[10,10]", littleBytes) + gzip, "(60, 40)", false},
		{"nested", shards("[20,10]", shards("[5,10]", littleBytes+gzip)), "(60, 40) > (20, 10) > (5, 10)", false},
		{"compressed shards in a shard", shards("[20,10]", shards("[5,10]", littleBytes)+gzip), "(60, 40) > (20, 10)", false},
		{"after transpositions", transposed + shards("[20,10]", transposed+shards("[5,10]", littleBytes)), "(60, 40) > (10, 20) > (5, 10)", true},
	} {
		p := layoutPipeline(t, g, tt.list)
		read, err := ReadGranularity(g, p)
		if err != nil {
			t.Fatal(err)
		}
		if read.String() != tt.want || read.Elements != tt.elements {
			t.Errorf("%s: %v, elements %v; want %v, %v", tt.name, read, read.Elements, tt.want, tt.elements)
		}
		write, err := WriteGranularity(g, p)
		if err != nil {
			t.Fatal(err)
		}
		if write.String() != "(60, 40)" || write.Elements {
			t.Errorf("%s: writes %v, elements %v", tt.name, write, write.Elements)
		}
	}
}

func TestLayoutRefuses(t *testing.T) {
	g := layoutGrid(t, grid.Every(60))
	p := layoutPipeline(t, layoutGrid(t, grid.Every(60), grid.Every(40)), littleBytes)
	if _, err := DeclaredLayout(g, p); err == nil {
		t.Error("a grid of one axis is taken for codecs of two")
	}
	if _, err := ReadGranularity(g, p); err == nil {
		t.Error("ReadGranularity takes it")
	}
	if _, err := WriteGranularity(g, p); err == nil {
		t.Error("WriteGranularity takes it")
	}
	if err := p.CheckGrid(g); err == nil {
		t.Error("CheckGrid takes it")
	}
}
