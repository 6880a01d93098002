package mosaic

import (
	"math"

	"varve/manifest"
)

// Range is the indices From to To-1 along an axis.
type Range struct{ From, To int64 }

// Len returns the number of indices.
func (r Range) Len() int64 { return r.To - r.From }

// Cut returns the layout of an array that has only some ranges of each dimension, one after another. dims has the dimensions of l
// first, and then others along which all tiles are as long as their variables. A dimension without ranges is whole.
func (l *Layout) Cut(dims []string, ranges [][]Range) (*Layout, error) {
	a := NewArranger(dims)
	for t := range int32(l.n) {
		tile := manifest.Tile{File: int(l.file(t)), Origin: make([]int64, len(dims)), Start: make([]int64, len(dims)), Shape: make([]int64, len(dims))}
		if err := l.cutTile(t, &tile, 0, ranges, a.Add); err != nil {
			return nil, err
		}
	}
	return a.Layout()
}

// cutTile calls add with each part of a tile. The axes of the part before k are set.
func (l *Layout) cutTile(t int32, part *manifest.Tile, k int, ranges [][]Range, add func(*manifest.Tile) error) error {
	if k == len(ranges) {
		return add(part)
	}
	origin, start, length := int64(0), int64(0), int64(math.MaxInt64)
	if k < len(l.dims) {
		origin, start, length = l.along(t, k)
	}
	if len(ranges[k]) == 0 {
		part.Origin[k], part.Start[k], part.Shape[k] = origin, start, length
		return l.cutTile(t, part, k+1, ranges, add)
	}
	at := int64(0) // where the range begins in the new array
	for _, r := range ranges[k] {
		from, to := max(origin, r.From), r.To
		if length < math.MaxInt64 {
			to = min(to, origin+length)
		}
		if from < to {
			// A tile without its first n elements starts n later, also if it is read backwards: see manifest.Tile.
			part.Origin[k], part.Start[k], part.Shape[k] = at+from-r.From, start+from-origin, to-from
			if err := l.cutTile(t, part, k+1, ranges, add); err != nil {
				return err
			}
		}
		at += r.Len()
	}
	return nil
}
