package codec

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"varve/fixtures/venv"
	"varve/grid"
)

// TestInteropShards lets zarr-python and zarrs read shards that varve wrote: arrays that they
// wrote themselves, encoded as whole chunks and assembled from regions.
func TestInteropShards(t *testing.T) {
	venv.Python(t, "zarr-python")
	dir := t.TempDir()
	writeShardStores(t, dir)
	venv.Run(t, "zarr-python", filepath.Join("testdata", "sharding", "check.py"), dir)
}

// writeShardStores writes every array of testdata/sharding to another folder.
func writeShardStores(t *testing.T, dir string) {
	t.Helper()
	for _, from := range storeCases(t) {
		name := filepath.Base(from)[len("zarr_"):]
		if filepath.Base(from)[:5] == "zarrs" {
			continue // the same documents
		}
		raw, err := os.ReadFile(filepath.Join(from, "zarr.json"))
		if err != nil {
			t.Fatal(err)
		}
		for _, how := range []string{"whole", "regions"} {
			s := openStore(t, from)
			s.dir = filepath.Join(dir, name+"_"+how)
			elems := storeValues(t, name, s.all)
			if how == "whole" {
				s.writeWhole(t, elems)
			} else {
				s.writeRegions(t, elems)
			}
			s.writeFile(t, filepath.Join(s.dir, "zarr.json"), raw)
			s.writeValues(t, elems)
		}
	}
}

func (s *store) writeFile(t *testing.T, name string, content []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, content, 0o644); err != nil {
		t.Fatal(err)
	}
}

func (s *store) writeValues(t *testing.T, elems Elems) {
	t.Helper()
	if !s.form.Type.Varies() {
		s.writeFile(t, filepath.Join(s.dir, "values.bin"), elems.Fixed)
		return
	}
	var words []string
	for _, e := range elems.Var {
		words = append(words, string(e))
	}
	raw, err := json.Marshal(words)
	if err != nil {
		t.Fatal(err)
	}
	s.writeFile(t, filepath.Join(s.dir, "values.json"), raw)
}

// writeWhole encodes whole chunks. Elements past the array's end have the fill value.
func (s *store) writeWhole(t *testing.T, elems Elems) {
	t.Helper()
	all := windowOf(elems, s.all)
	for w := s.grid.Walk(); w.Next(); {
		p := s.pipeline(t, w.Codec)
		chunk := windowOf(NewElems(p.Form()), p.Form())
		chunk.SetFill(p.Form())
		chunk.region = grid.Region{Origin: w.Origin, Shape: w.Codec}
		if err := chunk.copyFrom(all, w.Region); err != nil {
			t.Fatal(err)
		}
		if p.Form().IsFill(chunk.Elems) {
			continue
		}
		stored, err := p.Encode(nil, chunk.Elems)
		if err != nil {
			t.Fatal(err)
		}
		s.writeFile(t, s.chunkFile(w.Coords), stored)
	}
}

// writeRegions assembles every chunk from regions. Some regions have other elements at first,
// which are overwritten.
func (s *store) writeRegions(t *testing.T, elems Elems) {
	t.Helper()
	rng := rand.New(rand.NewPCG(5, 5))
	all := windowOf(elems, s.all)
	for w := s.grid.Walk(); w.Next(); {
		p := s.pipeline(t, w.Codec)
		var stored []byte
		replace := func(r grid.Region, from window) {
			form := p.Form()
			form.Shape = r.Shape
			src, err := from.extract(r, &scratch{a: new(arena)}, form)
			if err != nil {
				t.Fatal(err)
			}
			r = r.Clone()
			r.Shift(w.Origin)
			if stored, err = p.EncodeRegion(nil, stored, r, src); err != nil {
				t.Fatal(fmt.Errorf("chunk %v: %w", w.Coords, err))
			}
		}
		for range 5 {
			r := randomRegion(rng, w.Region.Shape)
			r.Shift(negated(w.Origin))
			noise := window{NewElems(Form{s.form.Type, r.Shape, nil}), r, s.form.Type.unit()}
			putRandom(rng, noise, r)
			replace(r, noise)
		}
		half := w.Region.Clone()
		half.Shape[0] -= half.Shape[0] / 3
		replace(half, all)
		rest := w.Region.Clone()
		rest.Origin[0], rest.Shape[0] = half.End(0), rest.Shape[0]-half.Shape[0]
		replace(rest, all)
		if len(stored) > 0 {
			s.writeFile(t, s.chunkFile(w.Coords), stored)
		}
	}
}

func negated(s []int64) []int64 {
	out := make([]int64, len(s))
	for i, n := range s {
		out[i] = -n
	}
	return out
}
