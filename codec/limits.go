package codec

import (
	"errors"
	"fmt"
	"math"

	"varve/codec/internal/corrupt"
)

// What a chunk may take. Whoever holds one in memory asks here, whatever it is read or made for.
const (
	// maxChunk bounds the bytes of all elements of a chunk, and an eighth of it their number;
	// and the bytes that one is stored in.
	maxChunk = 4 << 30

	// maxUnsized is up to where a shape is taken at its word, whatever is stored. It also bounds
	// what the compressors of a chunk may produce together where the size of the elements does
	// not say how much it should be: text, and compressors of compressed bytes.
	maxUnsized = 512 << 20

	// maxRatio is more than any compressor in use makes of stored bytes, but for a few that
	// have a word for a chunk of one value. Zstd comes to 32768.
	maxRatio = 1 << 16

	// spareChunk is up to where nobody asks how much of a chunk is beyond its array, and
	// spareParts how many times as much it may be from there on.
	spareChunk = 64 << 20
	spareParts = 16

	// varHeader is what an element of varying length takes besides its bytes.
	varHeader = 24
)

// Room is how many bytes elements take in memory, the bytes of those of varying length not counted,
// or math.MaxInt64 if it is out of range.
func (f Form) Room() int64 {
	n, size := int64(f.Count()), int64(f.Bytes())
	switch {
	case n < 0 || size < 0:
		return math.MaxInt64
	case f.Type.Varies():
		return varHeader * min(n, math.MaxInt64/varHeader)
	}
	return size
}

// CheckSize reports elements that are too many to be held all at once. Who makes room for
// a whole chunk asks before: its shape is a document's word alone, whatever is stored.
func (f Form) CheckSize() error {
	if n := f.Bytes(); n < 0 || n > maxChunk || f.Count() > maxChunk/8 {
		return fmt.Errorf("a chunk of shape %v of %v, more than %d GiB: %w", f.Shape, f.Type, maxChunk>>30, errors.ErrUnsupported)
	}
	return nil
}

// CheckStored reports stored bytes of a chunk that are too many to be held all at once.
func CheckStored(stored int64) error {
	if stored < 0 || stored > maxChunk {
		return fmt.Errorf("a chunk is stored in %d bytes, more than %d GiB: %w", stored, maxChunk>>30, errors.ErrUnsupported)
	}
	return nil
}

// CheckGrowth reports elements that take far more than the bytes that they are stored in can justify.
// They are ErrCorrupt.
func (f Form) CheckGrowth(stored int64) error {
	need := f.Room()
	if need > maxUnsized && need/maxRatio > stored {
		return corrupt.Errorf("a chunk of shape %v of %v is stored in %d bytes, from which no codec makes so much", f.Shape, f.Type, stored)
	}
	return nil
}

// CheckSpare reports elements that take much, and are nearly all beyond the array that they are a chunk
// of, which takes so many bytes: nobody writes those for what is in them.
func (f Form) CheckSpare(array int64) error {
	if need := f.Room(); need > spareChunk && need/spareParts > array {
		return fmt.Errorf("a chunk of shape %v of %v takes %d bytes, and all of its array %d; write it anew with shorter chunks: %w", f.Shape, f.Type, need, array, errors.ErrUnsupported)
	}
	return nil
}
