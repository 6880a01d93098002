package codec

import (
	"encoding/binary"
	"fmt"
	"math"

	"varve/codec/internal/corrupt"
)

// noChunk is the offset and length of an inner chunk that is not stored.
const noChunk = 1<<64 - 1

// entryBytes is the size of an index entry in memory.
const entryBytes = 16

// shardIndex is a decoded index: two uint64 for each inner chunk.
type shardIndex []byte

// entry returns the position of an inner chunk in a shard of the given size, or false if
// it is not stored.
func (x shardIndex) entry(number, size int64) (Range, bool, error) {
	e := x[number*entryBytes:]
	offset, length := binary.LittleEndian.Uint64(e), binary.LittleEndian.Uint64(e[8:])
	if offset == noChunk && length == noChunk {
		return Range{}, false, nil
	}
	// Subtract instead of adding: the sum of two hostile uint64 may overflow.
	if offset > uint64(size) || length > uint64(size)-offset {
		return Range{}, false, corrupt.Errorf("index entry %d: %d bytes at offset %d of a shard of %d bytes", number, length, offset, size)
	}
	return Range{int64(offset), int64(length)}, true, nil
}

func (x shardIndex) set(number int64, at Range) {
	binary.LittleEndian.PutUint64(x[number*entryBytes:], uint64(at.Offset))
	binary.LittleEndian.PutUint64(x[number*entryBytes+8:], uint64(at.Length))
}

// clear marks every inner chunk as not stored.
func (x shardIndex) clear() {
	for i := range x {
		x[i] = 0xff
	}
}

// hasEmpty reports whether any inner chunk is not stored.
func (x shardIndex) hasEmpty() bool {
	for i := 0; i < len(x); i += entryBytes {
		if binary.LittleEndian.Uint64(x[i:]) == noChunk {
			return true
		}
	}
	return false
}

// byteBudget is the number of stored bytes that inner chunks may still take together.
type byteBudget int64

// innerBudget returns the budget of all inner chunks of a shard of the given size: the
// shard itself and, since they may share bytes, far more than any encoding of their
// elements takes. Without it, an index could make a reader decode a long shard once for
// each inner chunk. Text may have any length, so it has no limit.
func (s *sharding) innerBudget(size int64) byteBudget {
	const perByte, perElement = 4, 256
	bytes, elements := int64(s.form.Bytes()), int64(s.form.Count())
	if s.form.Type.Varies() || max(bytes, elements) > 1<<52 {
		return math.MaxInt64
	}
	return byteBudget(size + perByte*bytes + perElement*elements)
}

// spend subtracts the bytes of one inner chunk.
func (w *byteBudget) spend(stored Range) error {
	if *w -= byteBudget(stored.Length); *w < 0 {
		return corrupt.Errorf("stored in %d bytes; with the inner chunks before, more bytes than their elements can take", stored.Length)
	}
	return nil
}

// indexRange returns the position of the index in a shard of the given size.
func (s *sharding) indexRange(size int64) (Range, error) {
	n := int64(s.indexSize)
	if size < n {
		return Range{}, corrupt.Errorf("shard of %d bytes is too short for its index of %d", size, n)
	}
	if s.isIndexFirst {
		return Range{0, n}, nil
	}
	return Range{size - n, n}, nil
}

// decodeIndex decodes the bytes of an index. The arena owns the result.
func (s *sharding) decodeIndex(a *arena, stored []byte) (shardIndex, error) {
	index := a.bytes(int(s.innerGrid.Chunks()) * entryBytes)
	if err := s.index.Decode(Elems{Fixed: index}, stored); err != nil {
		return nil, fmt.Errorf("index: %w", err)
	}
	return index, nil
}

// findIndex decodes the index of a whole shard.
func (s *sharding) findIndex(a *arena, shard []byte) (shardIndex, error) {
	at, err := s.indexRange(int64(len(shard)))
	if err != nil {
		return nil, err
	}
	return s.decodeIndex(a, shard[at.Offset:at.Offset+at.Length])
}
