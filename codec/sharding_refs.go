package codec

import (
	"errors"
	"fmt"
	"iter"
	"slices"

	"varve/grid"
)

// Shards describes how the stored chunks of a pipeline consist of inner chunks, each a
// byte range with its own pipeline, so that they can be listed, fetched and served
// without decoding a shard.
type Shards struct {
	p         *Pipeline
	s         *sharding
	axes      []int      // axis k of the shard is axis axes[k] of the chunk
	innerGrid *grid.Grid // in the chunk's axes
}

// Shards returns the Shards of a pipeline. The error is errors.ErrUnsupported if inner
// chunks are not accessible, and names the responsible codec: one without inner chunks,
// one after it that encodes the whole shard, or one before it that does not map regions
// to regions.
func (p *Pipeline) Shards() (*Shards, error) {
	s, ok := p.toBytes.(*sharding)
	if !ok {
		return nil, fmt.Errorf("codec %q has no inner chunks: %w", p.specs[len(p.arrayCodecs)].Name, errors.ErrUnsupported)
	}
	if len(p.bytesCodecs) > 0 {
		return nil, fmt.Errorf("codec %q encodes whole shards, so no inner chunk can be read alone: %w",
			p.specs[len(p.arrayCodecs)+1].Name, errors.ErrUnsupported)
	}
	for i, c := range p.arrayCodecs {
		if _, ok := c.(regionMapper); !ok {
			return nil, fmt.Errorf("codec %q mixes elements before sharding, so no inner chunk can be read alone: %w",
				p.specs[i].Name, errors.ErrUnsupported)
		}
	}
	sh := &Shards{p: p, s: s, axes: p.axes()}
	var err error
	sh.innerGrid, err = grid.InnerClipped(p.Form().Shape, p.innerShape(s))
	return sh, err
}

// axes returns, for each axis after the array codecs, the axis of the chunk. All array
// codecs must map regions to regions; such codecs permute axes at most.
func (p *Pipeline) axes() []int {
	// Number the axes by the origin of a region and see where the array codecs move the
	// numbers.
	labels := grid.MakeRegion(len(p.Form().Shape))
	for k := range labels.Origin {
		labels.Origin[k] = int64(k)
	}
	axes := make([]int, len(labels.Origin))
	for k, label := range p.encodedRegions(labels)[len(p.arrayCodecs)].Origin {
		axes[k] = int(label)
	}
	return axes
}

// innerShape returns the shape of inner chunks in the chunk's axes.
func (p *Pipeline) innerShape(s *sharding) []int64 {
	shape := make([]int64, len(s.chunkShape))
	for k, axis := range p.axes() {
		shape[axis] = s.chunkShape[k]
	}
	return shape
}

// Grid returns the grid of inner chunks in a chunk.
func (sh *Shards) Grid() *grid.Grid { return sh.innerGrid }

// IndexRange returns the position of the index in a stored chunk of the given size.
func (sh *Shards) IndexRange(size int64) (Range, error) { return sh.s.indexRange(size) }

// IndexSize returns the length of the index, and whether it is at the end of a shard
// instead of its start. A request for the index needs this if the shard's size is
// unknown.
func (sh *Shards) IndexSize() (size int64, atEnd bool) {
	return int64(sh.s.indexSize), !sh.s.isIndexFirst
}

// Index decodes the index of a stored chunk of the given size, and checks every entry.
func (sh *Shards) Index(stored []byte, size int64) (*ShardIndex, error) {
	index, err := sh.s.decodeIndex(new(arena), stored)
	if err != nil {
		return nil, err
	}
	for i := range sh.innerGrid.Chunks() {
		if _, _, err := index.entry(i, size); err != nil {
			return nil, err
		}
	}
	return &ShardIndex{sh, index, size}, nil
}

// Pipeline returns the pipeline that decodes the stored bytes of an inner chunk to its
// elements, in the chunk's axes.
func (sh *Shards) Pipeline(coords []int64) (*Pipeline, error) {
	box, ok := sh.innerGrid.Chunk(coords)
	if !ok {
		return nil, fmt.Errorf("inner chunk %v: %w: there are %v", coords, grid.ErrOutOfBounds, sh.innerGrid.Counts())
	}
	if n := len(sh.p.arrayCodecs); n > 0 {
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

// At returns the position of the inner chunk at the given coordinates, or false if it is
// not stored or there is no such inner chunk.
func (x *ShardIndex) At(coords []int64) (Range, bool) {
	number, ok := x.shards.number(coords)
	if !ok {
		return Range{}, false
	}
	at, ok, err := x.entries.entry(number, x.size)
	return at, ok && err == nil
}

// number returns the number of an inner chunk in the index, in the order of the shard's axes.
func (sh *Shards) number(coords []int64) (number int64, ok bool) {
	if len(coords) != len(sh.axes) {
		return 0, false
	}
	for k, axis := range sh.axes {
		if coords[axis] < 0 || coords[axis] >= sh.s.innerGrid.Counts()[k] {
			return 0, false
		}
		number = number*sh.s.innerGrid.Counts()[k] + coords[axis]
	}
	return number, true
}

// Assemble makes a stored chunk of encoded inner chunks. stored returns the bytes of each, in C order; none if it is not
// stored. If none is stored, Assemble returns nil.
func (sh *Shards) Assemble(stored func(inner *grid.Walker) ([]byte, error)) ([]byte, error) {
	parts, size := map[int64][]byte{}, sh.s.indexSize
	var numbers []int64
	for inner := sh.innerGrid.Walk(); inner.Next(); {
		part, err := stored(inner)
		if err != nil {
			return nil, fmt.Errorf("inner chunk %v: %w", inner.Coords, err)
		}
		if number, ok := sh.number(inner.Coords); ok && len(part) > 0 {
			parts[number], numbers, size = part, append(numbers, number), size+len(part)
		}
	}
	if len(numbers) == 0 {
		return nil, nil
	}
	a := getArena()
	defer a.release()
	w := sh.s.newWriter(a, make([]byte, 0, size))
	for _, number := range numbers {
		if err := w.add(number, func(out []byte) ([]byte, error) { return append(out, parts[number]...), nil }); err != nil {
			return nil, err
		}
	}
	return w.finish()
}

// Stored yields the coordinates and position of every stored inner chunk, in C order.
func (x *ShardIndex) Stored() iter.Seq2[[]int64, Range] {
	return func(yield func([]int64, Range) bool) {
		coords := make([]int64, x.shards.innerGrid.Rank())
		for i := range x.shards.innerGrid.Chunks() {
			x.shards.innerGrid.Coords(i, coords)
			if at, ok := x.At(coords); ok && !yield(slices.Clone(coords), at) {
				return
			}
		}
	}
}
