package zarrtree

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"varve/readers"
	"varve/readers/source"
)

// TestLimits checks the limits of what documents declare: at a limit a node is read, above it is a problem.
func TestLimits(t *testing.T) {
	list := func(n int, item string) string { return strings.TrimSuffix(strings.Repeat(item+",", n), ",") }
	array := func(shape, grid, attributes string) string {
		return fmt.Sprintf(`{"zarr_format":3,"node_type":"array","shape":[%s],"data_type":"uint8","fill_value":0,"chunk_grid":%s,
			"chunk_key_encoding":{"name":"default"},"codecs":[{"name":"bytes"}],"attributes":{%s}}`, shape, grid, attributes)
	}
	regular := func(rank int) string {
		return `{"name":"regular","configuration":{"chunk_shape":[` + list(rank, "1") + `]}}`
	}
	rectilinear := func(n int) string {
		return `{"name":"rectilinear","configuration":{"kind":"inline","chunk_shapes":[[` + list(n/2, "1,2") + `]]}}`
	}
	named := func(n int, value string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `"a%d":%s,`, i, value)
		}
		return strings.TrimSuffix(b.String(), ",")
	}
	for _, c := range []struct {
		name   string
		nodes  []string
		ok     bool
		unread int // attributes with an error
	}{
		{"dimensions", []string{array(list(maxRank, "1"), regular(maxRank), "")}, true, 0},
		{"more dimensions", []string{array(list(maxRank+1, "1"), regular(maxRank+1), "")}, false, 0},
		{"edges", []string{array(fmt.Sprint(maxEdges/2*3), rectilinear(maxEdges), "")}, true, 0},
		{"more edges", []string{array(fmt.Sprint(maxEdges/2*3+3), rectilinear(maxEdges+2), "")}, false, 0},
		{"a long list", []string{array("1", regular(1), `"a":[`+list(maxListed, "1")+`]`)}, true, 0},
		{"a longer list", []string{array("1", regular(1), `"a":[`+list(maxListed+1, "1")+`],"b":1`)}, true, 1},
		{"a longer object", []string{array("1", regular(1), `"a":{`+named(maxListed+1, "1")+`},"b":1`)}, true, 1},
		{"a long text", []string{array("1", regular(1), `"a":"`+list(2*maxListed, "x")+`"`)}, true, 0},
		{"attributes", []string{array("1", regular(1), named(maxAttributes, "1"))}, true, 0},
		{"more attributes in two arrays", []string{array("1", regular(1), named(maxAttributes/2, "1")), array("1", regular(1), named(maxAttributes/2+1, "1"))}, false, 0},
		{"more elements", []string{array("1", regular(1), named(maxElements/maxListed+2, "["+list(maxListed, "1")+"]"))}, false, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			nodes := []Node{{Path: "", Zarr: []byte(`{"zarr_format":3,"node_type":"group"}`)}}
			for i, doc := range c.nodes {
				nodes = append(nodes, Node{Path: fmt.Sprintf("v%d", i), Zarr: []byte(doc)})
			}
			src, err := source.OpenFolder(t.Context(), t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			defer src.Close()
			tree := &Tree{Source: src, Format: "Zarr 3"}
			d := tree.Dataset(nodes)
			if (len(d.Problems) == 0) != c.ok {
				t.Fatalf("problems: %v, want none: %v", d.Problems, c.ok)
			}
			for _, p := range d.Problems {
				var located *readers.Error
				if !errors.Is(p.Err, errors.ErrUnsupported) || !errors.As(p.Err, &located) {
					t.Errorf("the problem is %v", p.Err)
				}
			}
			unread := 0
			for _, v := range d.Root.Variables {
				for _, a := range v.Attributes {
					if a.Err != nil {
						unread++
					}
				}
			}
			if unread != c.unread {
				t.Errorf("%d attributes are not read, want %d", unread, c.unread)
			}
		})
	}
}
