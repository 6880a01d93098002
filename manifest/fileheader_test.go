package manifest_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"varve/codec"
	"varve/manifest"
)

// randomHeader returns a header of one of a few forms, with random values of attributes.
func randomHeader(rng *rand.Rand) *manifest.Header {
	h := &manifest.Header{Dimensions: []manifest.Dimension{{Path: "/x", Length: 1 + rng.Int64N(2)}}}
	for i := range 1 + rng.IntN(5) {
		v := &manifest.Variable{Path: fmt.Sprint("/v", i), Dims: []string{"/x"}, Shape: []int64{h.Dimensions[0].Length}, Type: codec.Type{Kind: codec.Float, Size: 4}}
		v.Attributes = append(v.Attributes,
			manifest.Attribute{Name: "long_name", Type: codec.Type{Kind: codec.String}, Texts: []string{"the same in all files"}, Scalar: true},
			manifest.Attribute{Name: "texts", Type: codec.Type{Kind: codec.String}},
			manifest.Attribute{Name: "numbers", Type: codec.Type{Kind: codec.Float, Size: 8}},
			manifest.Attribute{Name: "object", JSON: fmt.Sprintf(`{"a":%d}`, rng.IntN(3))},
			manifest.Attribute{Name: "unreadable", Unreadable: "the reason"})
		for range rng.IntN(3) {
			v.Attributes[1].Texts = append(v.Attributes[1].Texts, fmt.Sprint(rng.IntN(3)*1000))
			v.Attributes[2].Data = binary.LittleEndian.AppendUint64(v.Attributes[2].Data, math.Float64bits(rng.Float64()))
		}
		h.Variables = append(h.Variables, v)
	}
	h.SetID()
	return h
}

// TestFileHeaders: a FileHeader has the content of its header, however many headers share their memory.
func TestFileHeaders(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	shared := manifest.NewShared()
	bases := map[*manifest.Header]bool{}
	for range 500 {
		h := randomHeader(rng)
		want := *h
		want.Variables = slices.Clone(h.Variables)
		for i, v := range h.Variables {
			want.Variables[i] = new(*v)
			want.Variables[i].Attributes = slices.Clone(v.Attributes)
		}
		got := shared.Header(h, nil)
		bases[got.Base()] = true
		if expanded := got.Expand(); !reflect.DeepEqual(expanded, &want) {
			t.Fatalf("got  %+v\nwant %+v", expanded, want)
		}
		for i, v := range want.Variables {
			if one := got.Variable(i); !reflect.DeepEqual(one, v) {
				t.Fatalf("got  %+v\nwant %+v", one, v)
			}
			if isShared := got.Variable(i) == got.Base().Variables[i]; isShared != (got.DifferencesOf(i) == "") {
				t.Fatalf("variable %d has differences %q, but %v is shared", i, got.DifferencesOf(i), isShared)
			}
		}
		if got.Len() != len(want.Variables) || got.Rows() != want.Rows() || got.Find("/v0") != 0 || got.ID != want.ID {
			t.Fatalf("%+v", got)
		}
	}
	// A header has 1 to 5 variables and one of two lengths.
	if len(bases) != 10 {
		t.Errorf("500 headers of 10 forms share %d headers, want 10", len(bases))
	}
}

// TestFileGroups: FileGroups have the content of their attributes, however many share memory.
func TestFileGroups(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	shared := manifest.NewShared()
	for range 200 {
		g := &manifest.GroupAttributes{}
		for i, v := range randomHeader(rng).Variables {
			g.Groups = append(g.Groups, manifest.Group{Path: fmt.Sprint("/g", i%2), Attributes: v.Attributes})
		}
		g.SetID()
		want := *g
		want.Groups = slices.Clone(g.Groups)
		for i := range want.Groups {
			want.Groups[i].Attributes = slices.Clone(g.Groups[i].Attributes)
		}
		got := shared.Groups(g, nil)
		if !reflect.DeepEqual(got.Expand(), &want) || got.ID != want.ID {
			t.Fatalf("got  %+v\nwant %+v", got.Expand(), want)
		}
	}
}
