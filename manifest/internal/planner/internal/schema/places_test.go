package schema

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestPlaces: places finds the first index of each name, before and after it builds an index.
func TestPlaces(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var p places
	var list []string
	for len(list) < 3*longList {
		list = append(list, fmt.Sprint(r.IntN(2*longList)))
		for range 4 {
			name := fmt.Sprint(r.IntN(2 * longList))
			if got, want := p.find(len(list), name, func(i int) string { return list[i] }), slices.Index(list, name); got != want {
				t.Fatalf("the index of %s among %d names is %d, want %d", name, len(list), got, want)
			}
		}
	}
}
