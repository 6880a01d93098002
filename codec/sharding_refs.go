package codec

import (
	"errors"
	"fmt"
	"iter"

	"varve/grid"
)

// Shards says how the stored chunks of a pipeline come apart into inner chunks, each of
// them a run of bytes with a pipeline of its own, so that they can be listed, fetched
// and served without decoding a shard.
type Shards struct {
	p    *Pipeline
	s    *sharding
	axes []int      // axis k of the shard is axis axes[k] of the chunk
	cut  *grid.Grid // in the chunk's axes
}

// Shards returns how stored chunks come apart. Where they do not, the error is
// errors.ErrUnsupported and names the codec in the way: one that makes no shards, one
// behind it that hides the inner chunks' bytes, or one in front under which an inner
// chunk is no box of the chunk.
func (p *Pipeline) Shards() (*Shards, error) {
	s, ok := p.toBytes.(*sharding)
	if !ok {
		return nil, fmt.Errorf("codec %q makes no inner chunks: %w", p.specs[len(p.arrays)].Name, errors.ErrUnsupported)
	}
	if len(p.bytes) > 0 {
		return nil, fmt.Errorf("codec %q is applied to whole shards, so that no inner chunk can be read on its own: %w",
			p.specs[len(p.arrays)+1].Name, errors.ErrUnsupported)
	}
	for i, c := range p.arrays {
		if _, ok := c.(regional); !ok {
			return nil, fmt.Errorf("codec %q mixes elements before they are cut into inner chunks, so that none can be read on its own: %w",
				p.specs[i].Name, errors.ErrUnsupported)
		}
	}
	sh := &Shards{p: p, s: s, axes: p.axes()}
	var err error
	sh.cut, err = grid.InnerClipped(p.Form().Shape, p.innerShape(s))
	return sh, err
}

// axes returns which axis of the chunk each axis behind its array codecs is. All of
// these are regional, and such codecs at most permute axes.
func (p *Pipeline) axes() []int {
	labels := grid.MakeRegion(len(p.Form().Shape))
	for k := range labels.Origin {
		labels.Origin[k] = int64(k)
	}
	axes := make([]int, len(labels.Origin))
	for k, label := range p.encodedRegions(labels)[len(p.arrays)].Origin {
		axes[k] = int(label)
	}
	return axes
}

// innerShape is the shape of inner chunks in the chunk's axes.
func (p *Pipeline) innerShape(s *sharding) []int64 {
	shape := make([]int64, len(s.chunkShape))
	for k, axis := range p.axes() {
		shape[axis] = s.chunkShape[k]
	}
	return shape
}

// Grid is how the chunk is cut into inner chunks.
func (sh *Shards) Grid() *grid.Grid { return sh.cut }

// IndexRange is where the index is in a stored chunk of a size.
func (sh *Shards) IndexRange(size int64) (Range, error) { return sh.s.indexRange(size) }

// IndexSize is the length of the index, and whether it is the last bytes of a shard
// and not the first: what a request needs that does not know the shard's size.
func (sh *Shards) IndexSize() (size int64, atEnd bool) {
	return int64(sh.s.indexSize), !sh.s.atStart
}

// Index decodes the index of a stored chunk of a size. Every entry of it is checked.
func (sh *Shards) Index(stored []byte, size int64) (*ShardIndex, error) {
	index, err := sh.s.decodeIndex(new(arena), stored)
	if err != nil {
		return nil, err
	}
	for i := range sh.cut.Chunks() {
		if _, _, err := index.entry(i, size); err != nil {
			return nil, err
		}
	}
	return &ShardIndex{sh, index, size}, nil
}

// Pipeline returns the pipeline that decodes the stored bytes of an inner chunk to its
// elements, in the chunk's axes.
func (sh *Shards) Pipeline(coords []int64) (*Pipeline, error) {
	box, ok := sh.cut.Chunk(coords)
	if !ok {
		return nil, fmt.Errorf("inner chunk %v: %w: there are %v", coords, grid.ErrOutOfBounds, sh.cut.Counts())
	}
	if n := len(sh.p.arrays); n > 0 {
		form := sh.p.Form()
		form.Shape = box.Shape
		return New(append(sh.p.Specs()[:n:n], sh.s.codecs...), form)
	}
	return sh.s.pipeline(box.Shape)
}

// ShardIndex is the decoded index of one shard.
type ShardIndex struct {
	shards  *Shards
	entries shardIndex
	size    int64
}

// At is where the inner chunk at some coordinates is stored, or false if it is not, or
// is none at all.
func (x *ShardIndex) At(coords []int64) (Range, bool) {
	if len(coords) != len(x.shards.axes) {
		return Range{}, false
	}
	number := int64(0)
	for k, axis := range x.shards.axes { // in the order of the shard's axes
		if coords[axis] < 0 || coords[axis] >= x.shards.s.cut.Counts()[k] {
			return Range{}, false
		}
		number = number*x.shards.s.cut.Counts()[k] + coords[axis]
	}
	at, ok, err := x.entries.entry(number, x.size)
	return at, ok && err == nil
}

// Stored yields the coordinates of every inner chunk that is stored, in C order, and
// where it is. The coordinates are overwritten by the next.
func (x *ShardIndex) Stored() iter.Seq2[[]int64, Range] {
	return func(yield func([]int64, Range) bool) {
		coords := make([]int64, x.shards.cut.Rank())
		for i := range x.shards.cut.Chunks() {
			x.shards.cut.Coords(i, coords)
			if at, ok := x.At(coords); ok && !yield(coords, at) {
				return
			}
		}
	}
}
