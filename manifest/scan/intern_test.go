package scan

import (
	"fmt"
	"testing"

	"varve/codec"
	"varve/manifest"
)

// TestHeadersShareVariables checks that headers that differ in one variable share the others. This matters if
// the units of the time contain the first date of each file: then each file has another header.
func TestHeadersShareVariables(t *testing.T) {
	text := codec.Type{Kind: codec.String}
	header := func(units string) *manifest.Header {
		return &manifest.Header{Variables: []*manifest.Variable{
			{Path: "/time", Attributes: []manifest.Attribute{{Name: "units", Type: text, Texts: []string{units}}}},
			{Path: "/sst", Dims: []string{"/time"}, Shape: []int64{1}, Attributes: []manifest.Attribute{{Name: "units", Type: text, Texts: []string{"K"}}}},
		}}
	}
	x := newInterner()
	a := x.header(header("days since 2020-01-01"))
	for day := 2; day < 9; day++ {
		units := fmt.Sprintf("days since 2020-01-%02d", day)
		b := x.header(header(units))
		if a == b || a.ID == b.ID {
			t.Fatal("different headers have the same ID")
		}
		if b.Variable(0).Attributes[0].Texts[0] != units {
			t.Errorf("/time has %v, want %s", b.Variable(0).Attributes, units)
		}
		if &a.Variable(1).Attributes[0] != &b.Variable(1).Attributes[0] || &a.Variable(1).Dims[0] != &b.Variable(1).Dims[0] {
			t.Error("/sst is in memory twice")
		}
	}
}
