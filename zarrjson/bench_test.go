package zarrjson

import (
	"fmt"
	"strings"
	"testing"
)

// benchArray is a document in the layout of zarr-python.
func benchArray(b *testing.B) []byte {
	b.Helper()
	a, err := ParseArray([]byte(rectilinear("[365,10]", "[[31,28,31,30,31,30,31,31,30,31,30,31],[[5,2]]]", "")))
	if err != nil {
		b.Fatal(err)
	}
	for i := range 10 {
		if err := a.Attributes.Set(fmt.Sprintf("attribute %d", i), []byte(`"a value of some length"`)); err != nil {
			b.Fatal(err)
		}
	}
	doc, err := a.Encode(Indented)
	if err != nil {
		b.Fatal(err)
	}
	return doc
}

func BenchmarkParseArray(b *testing.B) {
	doc := benchArray(b)
	b.SetBytes(int64(len(doc)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParseArray(doc); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncodeArray(b *testing.B) {
	doc := benchArray(b)
	a, err := ParseArray(doc)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(doc)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := a.Encode(Indented); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParseConsolidated(b *testing.B) {
	a, err := ParseArray(benchArray(b))
	if err != nil {
		b.Fatal(err)
	}
	g := &Group{Consolidated: &Consolidated{}}
	for i := range 1000 {
		g.Consolidated.Members = append(g.Consolidated.Members, Member{fmt.Sprintf("x%d", i), Node{Array: a}})
	}
	doc, err := g.Encode(Indented)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(doc)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParseGroup(doc); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkParseRuns reads a million edges; no two neighbours are equal.
func BenchmarkParseRuns(b *testing.B) {
	doc := []byte(rectilinear("[3000000]", "[["+strings.Repeat("2,4,", 499_999)+"2,4]]", ""))
	b.SetBytes(int64(len(doc)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParseArray(doc); err != nil {
			b.Fatal(err)
		}
	}
}
