package verify

import (
	"context"
	"iter"
	"math"
	"math/rand/v2"
	"slices"

	"varve/grid"
	"varve/manifest"
	"varve/manifest/store"
)

// selection selects some of the stored chunks of all arrays, which are numbered.
type selection interface {
	// chunks returns the number of selected chunks.
	chunks() int64
	// take returns the selected ones of n chunks, as distances from the first. Calls must be in the order of the chunks.
	take(first, n int64) iter.Seq[int64]
}

// chunkRange selects the chunks from ≤ i < to.
type chunkRange struct{ from, to int64 }

func newRange(from, to int64) *chunkRange { return &chunkRange{from, to} }

func (r *chunkRange) chunks() int64 { return r.to - r.from }

func (r *chunkRange) take(first, n int64) iter.Seq[int64] {
	return func(yield func(int64) bool) {
		for i := max(r.from, first); i < min(r.to, first+n) && yield(i-first); i++ {
		}
	}
}

// sample selects chunks of all arrays at random: all stored chunks are divided into equally long runs, and one chunk of each
// run is selected. So the sample is spread over the archive, and needs no memory. Equal seeds select equal chunks.
type sample struct {
	all, size int64 // the numbers of stored chunks, and of selected ones
	random    *rand.Rand

	at   int64 // number of the next run
	next int64 // number of the chunk that is selected next; all if there is none
}

// newSample returns a sample of a fraction of the chunks, at least one.
func newSample(all int64, fraction float64, seed uint64) *sample {
	s := &sample{all: all, size: min(int64(math.Ceil(fraction*float64(all))), all), random: rand.New(rand.NewPCG(seed, 0))}
	s.advance()
	return s
}

// advance selects a chunk of the next run.
func (s *sample) advance() {
	if s.at == s.size {
		s.next = s.all
		return
	}
	from, to := s.start(s.at), s.start(s.at+1)
	s.next = from + s.random.Int64N(to-from)
	s.at++
}

// start returns the first chunk of a run. Runs differ by at most one chunk.
func (s *sample) start(run int64) int64 {
	return run*(s.all/s.size) + min(run, s.all%s.size)
}

func (s *sample) chunks() int64 { return s.size }

func (s *sample) take(first, n int64) iter.Seq[int64] {
	return func(yield func(int64) bool) {
		for s.next < first+n && s.next < s.all {
			chosen := s.next - first
			s.advance()
			if !yield(chosen) {
				return
			}
		}
	}
}

// countStored returns the number of chunks of all arrays that are not missing.
func countStored(ctx context.Context, s *store.Store) (n int64, err error) {
	for _, a := range s.Arrays() {
		c, err := a.Count(ctx)
		if err != nil {
			return n, err
		}
		n += c.Verbatim + c.Prefix + c.Reencoded
	}
	return n, nil
}

// selected returns the coordinates of some chunks of a run, given by their distance from its first chunk.
func selected(a *store.Array, run *manifest.Run, distances iter.Seq[int64]) iter.Seq[[]int64] {
	first, _ := a.Grid().Number(run.Coords)
	return func(yield func([]int64) bool) {
		for d := range distances {
			coords := slices.Clone(run.Coords)
			a.Grid().Coords(first+d, coords)
			if !yield(coords) {
				return
			}
		}
	}
}

// everyChunk returns the coordinates of all chunks of a run, one by one. box is the box that the run was listed for.
func everyChunk(run *manifest.Run, box grid.Region) iter.Seq[[]int64] {
	return func(yield func([]int64) bool) {
		at := slices.Clone(run.Coords)
		for range run.Chunks {
			if !yield(slices.Clone(at)) {
				return
			}
			box.Next(at)
		}
	}
}
