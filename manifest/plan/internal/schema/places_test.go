package schema

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestPlaces: a list finds the same names after it outgrows a linear search.
func TestPlaces(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var p places
	var list []string
	for len(list) < 3*longList {
		list = append(list, fmt.Sprint(r.IntN(2*longList)))
		for range 4 {
			name := fmt.Sprint(r.IntN(2 * longList))
			if got, want := p.find(len(list), name, func(i int) string { return list[i] }), slices.Index(list, name); got != want {
				t.Fatalf("%s of %d: %d, not %d", name, len(list), got, want)
			}
		}
	}
}
