package store

import (
	"errors"
	"fmt"

	"varve/codec"
	"varve/manifest"
)

const (
	// chunksPerRef is the largest number of declared chunks that a stored one may be divided into, on average. Chunks
	// that are re-encoded may be smaller than the stored ones.
	chunksPerRef = 4096
	// leastChunks is the number of declared chunks that any manifest may have.
	leastChunks = 1 << 20
	// missingPerRef and leastMissing limit the missing chunks that CheckListed accepts.
	missingPerRef = 4096
	leastMissing  = 16 << 20
)

// stored returns the number of chunks and values that the manifest has.
func (s *Store) stored() int64 {
	n := s.snapshot.Rows(manifest.Refs)
	for i := range s.snapshot.Arrays {
		n += int64(len(s.snapshot.Arrays[i].Pieces))
	}
	return min(n, 1<<40)
}

// MaxChunks returns the largest number of chunks with values that arrays of this manifest can have. A shape is a number in
// the snapshot, and costs nothing, so work for each chunk has to end there: more chunks are an ErrCorrupt.
func (s *Store) MaxChunks() int64 { return leastChunks + chunksPerRef*s.stored() }

// ErrManyChunks is the error of an array with more chunks than MaxChunks.
var ErrManyChunks = fmt.Errorf("%w: the array has far more chunks than the manifest has references", codec.ErrCorrupt)

// CheckListed returns an error if an array has so many chunks, stored or missing, that they cannot be listed one by one.
func (s *Store) CheckListed() error {
	most := leastMissing + missingPerRef*s.stored()
	for _, a := range s.arrays {
		if n := a.grid.Chunks(); n > most {
			return fmt.Errorf("%s: the array has %d chunks, and at most %d can be listed, because the manifest has few references: %w", a.Path(), n, most, errors.ErrUnsupported)
		}
	}
	return nil
}
