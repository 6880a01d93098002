package manifest

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"testing"

	"varve/fixtures/soak"
)

// TestWritePlacement checks that writePlacement writes the same bytes as encoding/json.
func TestWritePlacement(t *testing.T) {
	seed := soak.Seed(t)
	rnd := rand.New(rand.NewPCG(seed, 0))
	text := func() string {
		all := []string{"", "/t", "/ü", "/a b", `/"q"\`, "/<&>", "/\x01", "/g/lat", "\u2028"}
		return all[rnd.IntN(len(all))]
	}
	texts := func() (list []string) {
		for range rnd.IntN(4) {
			list = append(list, text())
		}
		return list
	}
	for range 2000 {
		a := &Array{Placement: text(), Variables: texts(), Dims: texts(), Reading: Reading(text()),
			Chunks: Counts{rnd.Int64N(9), rnd.Int64(), 0, -1, rnd.Int64N(2)}}
		if rnd.IntN(2) == 0 {
			a.Renamed = map[string]string{text(): text(), "/x": text()}
			a.Unnamed = texts()
			a.Calibrated = rnd.IntN(2) == 0
			a.Pieces = []Piece{{Origin: []int64{1}, Shape: []int64{2}, Values: text()}}
			a.Patches = make([]Patched, rnd.IntN(3))
		}
		w := &documentWriter{b: []byte("{")}
		w.writePlacement(a)
		var want bytes.Buffer
		e := json.NewEncoder(&want)
		e.SetEscapeHTML(false)
		err := e.Encode(placementFields{
			Placement: a.Placement, Variables: a.Variables, Dims: a.Dims, Renamed: a.Renamed, Unnamed: a.Unnamed, Reading: a.Reading, Calibrated: a.Calibrated, Chunks: a.Chunks,
			Pieces:  convert(a.Pieces, func(p Piece) pieceDocument { return pieceDocument(p) }),
			Patches: convert(a.Patches, func(p Patched) patchedDocument { return patchedDocument(p) }),
		})
		if got := "{" + string(w.b[2:]) + "\n"; err != nil || w.err != nil || got != want.String() {
			t.Fatalf("seed %d: %s, want %s (%v, %v)", seed, got, want.String(), w.err, err)
		}
	}
}
