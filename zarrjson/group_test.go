package zarrjson

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestGroupKeepsWhatItCannotKnow(t *testing.T) {
	cases := map[string]string{
		"empty":        `{"attributes":{},"zarr_format":3,"node_type":"group"}`,
		"extra field":  `{"attributes":{"a":1.0},"zarr_format":3,"node_type":"group","acme":{"must_understand":false,"x":1.0}}`,
		"consolidated": `{"attributes":{},"zarr_format":3,"consolidated_metadata":{"kind":"inline","must_understand":false,"metadata":{"z":` + with() + `,"a":{"attributes":{},"zarr_format":3,"consolidated_metadata":{"kind":"inline","must_understand":false,"metadata":{}},"node_type":"group"},"a/b":` + with() + `}},"node_type":"group"}`,
	}
	for name, doc := range cases {
		t.Run(name, func(t *testing.T) {
			g, err := ParseGroup([]byte(doc))
			if err != nil {
				t.Fatal(err)
			}
			got, err := g.Encode(Compact)
			if err != nil || string(got) != doc {
				t.Errorf("written as\n%s (%v), not\n%s", got, err, doc)
			}
		})
	}
}

func TestGroupRefuses(t *testing.T) {
	group := func(field string) string { return `{"zarr_format":3,"node_type":"group",` + field + `}` }
	members := func(m string) string {
		return group(`"consolidated_metadata":{"kind":"inline","must_understand":false,"metadata":{` + m + `}}`)
	}
	const metadata = "consolidated_metadata.metadata"
	no := errors.ErrUnsupported
	cases := []refusal{
		{"an array", with(), "node_type", corrupt},
		{"unknown field", group(`"acme":{}`), "acme", no},
		{"array fields", group(`"shape":[1]`), "shape", no},
		{"no kind", group(`"consolidated_metadata":{"metadata":{}}`), "consolidated_metadata.kind", corrupt},
		{"another kind", group(`"consolidated_metadata":{"kind":"share","metadata":{}}`), "consolidated_metadata.kind", corrupt},
		{"to be understood", group(`"consolidated_metadata":{"kind":"inline","must_understand":true,"metadata":{}}`), "consolidated_metadata.must_understand", corrupt},
		{"no metadata", group(`"consolidated_metadata":{"kind":"inline"}`), metadata, corrupt},
		{"wrong member", members(`"x":` + with("shape", "[1,-1]")), metadata + "[x].shape[1]", corrupt},
		{"member that does not fit", members(`"x":` + with("shape", "[1]")), metadata + "[x].chunk_grid.configuration.chunk_shape", corrupt},
		{"member of format 2", members(`"x":` + withV2()), metadata + "[x].zarr_format", corrupt},
		{"member of a draft", members(`"x":{"zarr_format":"https://purl.org/zarr/spec/protocol/core/3.0"}`), metadata + "[x].zarr_format", errors.ErrUnsupported},
		{"member of neither kind nor format", members(`"x":{}`), metadata + "[x].node_type", corrupt},
		{"member of an unknown kind", members(`"x":{"node_type":"link"}`), metadata + "[x].node_type", corrupt},
		{"member that is text", members(`"x":"y"`), metadata + "[x]", corrupt},
		{"path up", members(`"../x":` + with()), metadata + "[../x]", corrupt},
		{"path from the root", members(`"/x":` + with()), metadata + "[/x]", corrupt},
		{"empty path", members(`"":` + with()), metadata + "[]", corrupt},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			g, err := ParseGroup([]byte(c.doc))
			c.check(t, g == nil, err)
		})
	}
}

func TestParseNode(t *testing.T) {
	if n, err := ParseNode([]byte(with())); err != nil || n.Array == nil || n.Group != nil {
		t.Errorf("%+v, %v", n, err)
	}
	if n, err := ParseNode([]byte(`{"zarr_format":3,"node_type":"group"}`)); err != nil || n.Group == nil || n.Array != nil {
		t.Errorf("%+v, %v", n, err)
	}
	if n, err := ParseNode([]byte(with("codecs", "{}"))); err == nil || n != (Node{}) {
		t.Errorf("%+v, %v", n, err)
	}
}

func TestConsolidatedSort(t *testing.T) {
	c := &Consolidated{}
	for _, path := range []string{"b/a", "B", "a", "a/x/y", "A/z", "c"} {
		c.Members = append(c.Members, Member{Path: path, Node: Node{Group: &Group{}}})
	}
	c.Sort()
	var got []string
	for _, m := range c.Members {
		got = append(got, m.Path)
	}
	if want := []string{"a", "B", "c", "A/z", "b/a", "a/x/y"}; !slices.Equal(got, want) {
		t.Errorf("%v, not %v", got, want)
	}
}

// TestMembersAreEither checks that a node with both documents, or none, is not written.
func TestMembersAreEither(t *testing.T) {
	a, err := ParseArray([]byte(with()))
	if err != nil {
		t.Fatal(err)
	}
	for name, n := range map[string]Node{"both": {Group: &Group{}, Array: a}, "none": {}} {
		g := &Group{Consolidated: &Consolidated{Members: []Member{{"x", n}}}}
		if doc, err := g.Encode(Compact); err == nil {
			t.Errorf("%s: written as %s", name, doc)
		}
	}
}

// TestMemberTwice checks that a duplicate path is not written, since readers refuse it.
func TestMemberTwice(t *testing.T) {
	twice := Member{"x", Node{Group: &Group{}}}
	g := &Group{Consolidated: &Consolidated{Members: []Member{twice, twice}}}
	var e *Error
	if doc, err := g.Encode(Compact); !errors.As(err, &e) || e.Path != "consolidated_metadata.metadata[x]" || doc != nil {
		t.Errorf("%v: %s", err, doc)
	}
}

func TestGroupToV2(t *testing.T) {
	a, err := ParseArray([]byte(withCodecs("[" + littleBytes + "]")))
	if err != nil {
		t.Fatal(err)
	}
	inner := &Consolidated{Members: []Member{{"x", Node{Array: a}}}}
	of := func(g *Group) *Group {
		return &Group{Consolidated: &Consolidated{Members: []Member{{"g", Node{Group: g}}, {"g/x", Node{Array: a}}}}}
	}
	for _, c := range []struct {
		name string
		g    *Group
		path string // of the error
	}{
		{"members that are not known", &Group{}, "consolidated_metadata"},
		{"a group", of(&Group{}), ""},
		{"a group that lists none", of(&Group{Consolidated: &Consolidated{}}), ""},
		{"a group that lists its own", of(&Group{Consolidated: inner}), "consolidated_metadata.metadata[g]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := c.g.ToV2(V2Options{})
			if c.path != "" {
				var e *Error
				if !errors.As(err, &e) || e.Path != c.path {
					t.Errorf("%v; want an error at %s", err, c.path)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if len(got.Nodes) != 3 || got.Nodes[1].Path != "g" || got.Nodes[1].Array != nil || got.Nodes[2].Array == nil {
				t.Errorf("%+v", got.Nodes)
			}
		})
	}
}

func TestV2GroupDocument(t *testing.T) {
	if got := string(V2Group(Compact)); got != `{"zarr_format":2}` || CheckV2Group([]byte(got)) != nil {
		t.Error(got)
	}
}

func TestNestingIsBounded(t *testing.T) {
	deep := func(n int) string {
		return strings.Repeat("[", n) + strings.Repeat("]", n)
	}
	if _, err := ParseAttributes([]byte(`{"a":` + deep(maxDepth-1) + `}`)); err != nil {
		t.Error(err)
	}
	for _, n := range []int{maxDepth + 1, 10_000_000} {
		if _, err := ParseAttributes([]byte(`{"a":` + deep(n) + `}`)); !errors.Is(err, corrupt) {
			t.Error(err)
		}
	}
}

func TestWriteRefuses(t *testing.T) {
	cases := []struct {
		name  string
		spoil func(*Array)
		path  string
	}{
		{"no data type", func(a *Array) { a.DataType = DataType{} }, "data_type"},
		{"negative shape", func(a *Array) { a.Shape[0] = -1 }, "shape[0]"},
		{"no grid", func(a *Array) { a.ChunkGrid = ChunkGrid{} }, "chunk_grid.name"},
		{"grid of other rank", func(a *Array) { a.ChunkGrid = RegularGrid(1) }, "chunk_grid.configuration.chunk_shape"},
		{"edges in a regular grid", func(a *Array) { a.ChunkGrid.Sizes[0] = rectangle.Sizes[0] }, "chunk_grid.configuration.chunk_shape[0]"},
		{"regular with encoded shapes", func(a *Array) { a.ChunkGrid.Encoded = a.ChunkGrid.Sizes }, "chunk_grid.configuration.encoded_chunk_shapes"},
		{"short fill", func(a *Array) { a.Fill = []byte{0} }, "fill_value"},
		{"no codecs", func(a *Array) { a.Codecs = nil }, "codecs"},
		{"codec of ours", func(a *Array) { a.Codecs[0].Name = "hdf5.lzf" }, "codecs[0].name"},
		{"configuration that is not JSON", func(a *Array) { a.Codecs[0].Config = []byte("{1}") }, "codecs[0]"},
		{"separator", func(a *Array) { a.Keys.Separator = '_' }, "chunk_key_encoding.configuration.separator"},
		{"key style", func(a *Array) { a.Keys.Style = 9 }, "chunk_key_encoding"},
		{"names", func(a *Array) { a.DimensionNames = Names("x") }, "dimension_names"},
		{"extra field of a core name", func(a *Array) { a.Extra = []ExtraField{{"shape", []byte(`{"must_understand":false}`)}} }, "shape"},
		{"extra field to understand", func(a *Array) { a.Extra = []ExtraField{{"x", []byte(`{}`)}} }, "x"},
		{"name that is not UTF-8", func(a *Array) { a.DimensionNames = Names("x", "\xff") }, ""},
		{"extra field twice", func(a *Array) {
			a.Extra = []ExtraField{{"x", []byte(`{"must_understand":false}`)}, {"x", []byte(`{"must_understand":false}`)}}
		}, "x"},
	}
	for _, c := range cases {
		a, err := ParseArray([]byte(with()))
		if err != nil {
			t.Fatal(err)
		}
		c.spoil(a)
		doc, err := a.Encode(Indented)
		var e *Error
		if !errors.As(err, &e) || e.Path != c.path || doc != nil {
			t.Errorf("%s: %v, not of %s; %s", c.name, err, c.path, doc)
		}
	}
}

var rectangle = func() ChunkGrid {
	a, err := ParseArray([]byte(rectilinear("[3]", "[[1,2]]", "")))
	if err != nil {
		panic(err)
	}
	return a.ChunkGrid
}()
