package manifest_test

import (
	"slices"
	"testing"

	"varve/manifest"
)

// TestSharedVariables checks that headers share equal variables, including variables of the first header.
func TestSharedVariables(t *testing.T) {
	header := func(paths ...string) *manifest.Header {
		h := &manifest.Header{}
		for _, p := range paths {
			h.Variables = append(h.Variables, &manifest.Variable{Path: p})
		}
		return h
	}
	first, second, third := header("/a", "/b"), header("/a", "/c"), header("/c", "/b", "/d")
	own := slices.Concat(first.Variables, second.Variables[1:], third.Variables[2:])
	var shared manifest.SharedVariables
	for _, h := range []*manifest.Header{{}, first, second, third} {
		shared.Share(h)
	}
	a, b, c, d := own[0], own[1], own[2], own[3]
	for i, want := range [][]*manifest.Variable{{a, b}, {a, c}, {c, b, d}} {
		if got := []*manifest.Header{first, second, third}[i].Variables; !slices.Equal(got, want) {
			t.Errorf("header %d: got %v, want %v", i+1, got, want)
		}
	}
}
