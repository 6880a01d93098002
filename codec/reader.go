package codec

import (
	"cmp"
	"context"
	"fmt"
	"slices"
)

// Range is a range of bytes of a stored chunk.
type Range struct{ Offset, Length int64 }

// End returns one past the last byte.
func (r Range) End() int64 { return r.Offset + r.Length }

// Reader reads parts of one stored chunk, in memory, in a file or on a server.
//
// DecodeRegion calls ReadRanges once for each level: for a shard's index, then for all
// needed inner chunks. It joins ranges that are close together.
type Reader interface {
	// Size returns the length of the stored chunk.
	Size() int64
	// ReadRanges sets out[i] to the bytes of ranges[i]. The ranges are in order, not
	// empty, do not overlap and are within Size. The reader may fetch them in parallel
	// and join them further. The caller does not write to the bytes. They must not change
	// afterwards: decoded elements of varying length alias them.
	ReadRanges(ctx context.Context, ranges []Range, out [][]byte) error
}

// Memory is a stored chunk in memory. Reading it copies nothing.
type Memory []byte

// Size implements Reader.
func (m Memory) Size() int64 { return int64(len(m)) }

// ReadRanges implements Reader.
func (m Memory) ReadRanges(_ context.Context, ranges []Range, out [][]byte) error {
	for i, r := range ranges {
		if r.Offset < 0 || r.Length < 0 || r.Offset > m.Size()-r.Length {
			return fmt.Errorf("%d bytes from offset %d on: there are %d", r.Length, r.Offset, len(m))
		}
		out[i] = m[r.Offset:r.End():r.End()]
	}
	return nil
}

const (
	// maxReadGap is the largest gap in bytes that is read to join two ranges. Reading it
	// takes less time than a request, on any storage; a Reader whose requests cost more
	// should join more.
	maxReadGap = 32 << 10
	// maxRead is the longest range made by joining, so that a Reader can fetch several in
	// parallel. Overlapping ranges are always joined: the total is at most the stored
	// size.
	maxRead = 16 << 20
)

// fetch reads ranges, which may be in any order, overlap and be empty.
func fetch(ctx context.Context, r Reader, wants []Range) ([][]byte, error) {
	order := make([]int, len(wants))
	for i := range order {
		order[i] = i
	}
	byOffset := func(i, j int) int { return cmp.Compare(wants[i].Offset, wants[j].Offset) }
	if !slices.IsSortedFunc(order, byOffset) {
		slices.SortFunc(order, byOffset)
	}
	var blocks []Range
	in := make([]int, len(wants)) // which block
	for _, i := range order {
		if wants[i].Length > 0 {
			blocks = appendJoined(blocks, wants[i])
		}
		in[i] = len(blocks) - 1
	}
	read := make([][]byte, len(blocks))
	if len(blocks) > 0 {
		if err := readRanges(ctx, r, blocks, read); err != nil {
			return nil, err
		}
	}
	got := make([][]byte, len(wants))
	for i, w := range wants {
		if w.Length > 0 {
			from := w.Offset - blocks[in[i]].Offset
			got[i] = read[in[i]][from : from+w.Length : from+w.Length]
		}
	}
	return got, nil
}

// appendJoined appends a range that begins at or after the last one, joined with it if
// they are close.
func appendJoined(blocks []Range, w Range) []Range {
	if len(blocks) > 0 {
		last := &blocks[len(blocks)-1]
		end := max(last.End(), w.End())
		near := w.Offset-last.End() <= maxReadGap && end-last.Offset <= maxRead
		if near || w.Offset < last.End() {
			last.Length = end - last.Offset
			return blocks
		}
	}
	return append(blocks, w)
}

func readRanges(ctx context.Context, r Reader, blocks []Range, read [][]byte) error {
	if err := r.ReadRanges(ctx, blocks, read); err != nil {
		return err
	}
	for i, b := range blocks {
		if int64(len(read[i])) != b.Length {
			return fmt.Errorf("the reader returned %d bytes for %d at offset %d", len(read[i]), b.Length, b.Offset)
		}
	}
	return nil
}
