package codec

import (
	"errors"
	"fmt"
	"math"

	"varve/codec/internal/corrupt"
)

// MaxCodecs is the largest number of codecs in a pipeline. No writer comes near it, and many
// functions look at the codecs of a pipeline in pairs.
const MaxCodecs = 64

// The limits of a chunk in memory. All code that holds a whole chunk checks them.
const (
	// maxChunk is the largest size of a chunk in bytes, both of its elements and stored.
	maxChunk = 4 << 30

	// maxUnsized is the largest chunk size in bytes that is accepted however few bytes are
	// stored. It also limits the total output of a chunk's compressors where that size does
	// not follow from the elements: text, and compressors of compressed bytes.
	maxUnsized = 512 << 20

	// maxRatio is above the compression ratio of every codec except a few that store a chunk
	// of one value in a constant size. Zstd reaches 32768.
	maxRatio = 1 << 16

	// Chunks above minSpareSize bytes may be at most maxSpareRatio times as large as their
	// array.
	minSpareSize  = 64 << 20
	maxSpareRatio = 16

	// varElementSize is the size of the slice header of an element of varying length.
	varElementSize = 24
)

// MemorySize returns the size of the elements in memory in bytes, without the bytes of
// elements of varying length. It returns math.MaxInt64 if the size overflows.
func (f Form) MemorySize() int64 {
	n, size := int64(f.Count()), int64(f.Bytes())
	switch {
	case n < 0 || size < 0:
		return math.MaxInt64
	case f.Type.Varies():
		return varElementSize * min(n, math.MaxInt64/varElementSize)
	}
	return size
}

// CheckSize returns an error if a chunk is too large to hold in memory. Call it before
// allocating a whole chunk: the shape is from a document, whatever is stored.
func (f Form) CheckSize() error {
	// Elements of varying length take varElementSize bytes each, and their own bytes.
	if n := f.MemorySize(); n > maxChunk {
		return fmt.Errorf("a chunk of shape %v of %v takes more than %d GiB in memory: %w", f.Shape, f.Type, maxChunk>>30, errors.ErrUnsupported)
	}
	return nil
}

// CheckStored returns an error if a stored chunk is too large to hold in memory.
func CheckStored(stored int64) error {
	if stored < 0 || stored > maxChunk {
		return fmt.Errorf("a chunk is stored in %d bytes, more than %d GiB: %w", stored, maxChunk>>30, errors.ErrUnsupported)
	}
	return nil
}

// CheckGrowth returns an ErrCorrupt if the stored bytes are too few for the chunk's
// elements.
func (f Form) CheckGrowth(stored int64) error {
	need := f.MemorySize()
	if need > maxUnsized && need/maxRatio > stored {
		return corrupt.Errorf("a chunk of shape %v of %v is stored in %d bytes; no codec compresses that well", f.Shape, f.Type, stored)
	}
	return nil
}

// CheckSpare returns an error if a chunk is large and nearly all of it is outside its
// array, whose size in bytes is array. No writer needs such chunks.
func (f Form) CheckSpare(array int64) error {
	if need := f.MemorySize(); need > minSpareSize && need/maxSpareRatio > array {
		return fmt.Errorf("a chunk of shape %v of %v takes %d bytes, but its whole array only %d; write the array again with smaller chunks: %w", f.Shape, f.Type, need, array, errors.ErrUnsupported)
	}
	return nil
}
