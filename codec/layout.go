package codec

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"varve/grid"
)

// Layout is the declared division of an array into chunks, of each chunk into inner
// chunks, and so on. It has no extent: chunks at the end of the array and inner chunks at
// the end of a shard are whole.
//
// A Layout is canonical: equal edges along an axis are one size that repeats, however the
// document declares them, and all axes are those of the array, also inside a shard after
// a transpose. Two equal divisions have equal layouts.
//
// It follows the ChunkLayout of zarr-python's pull request 4040.
type Layout struct {
	Chunks []grid.Sizes
	Inner  *Layout // the division of one chunk; nil if it has no inner chunks

	// Index is the storage of the index of inner chunks; nil for the recommended one, and
	// for a level without inner chunks. It is no part of the division: Equal ignores it.
	Index *IndexStorage
}

// IndexStorage is the storage of the index of a shard.
type IndexStorage struct {
	Codecs []Spec
	First  bool // the index is at the start of the shard, not at its end
}

// DeclaredLayout returns the layout of an array from its chunk grid g and the sharding
// codecs of p, the pipeline of any of its chunks.
func DeclaredLayout(g *grid.Grid, p *Pipeline) (*Layout, error) {
	if g.Rank() != len(p.Form().Shape) {
		return nil, fmt.Errorf("grid has %d axes, the codecs %d", g.Rank(), len(p.Form().Shape))
	}
	l := &Layout{Chunks: make([]grid.Sizes, g.Rank())}
	l.Inner, l.Index = p.innerLayout()
	for axis := range l.Chunks {
		var err error
		if l.Chunks[axis], err = canonicalSizes(g.Dim(axis)); err != nil {
			return nil, fmt.Errorf("axis %d: %w", axis, err)
		}
	}
	return l, nil
}

// canonicalSizes returns the edges of a dimension, as one size if all are equal.
func canonicalSizes(d grid.Dimension) (grid.Sizes, error) {
	if size, ok := d.IsRegular(); ok {
		return grid.Every(size), nil
	}
	if t, ok := d.(*grid.Tiled); ok {
		v, err := t.Varying() // a document can only list a pattern
		if err != nil {
			return grid.Sizes{}, err
		}
		d = v
	}
	return grid.RunLength(slices.Collect(d.Runs())...), nil
}

// innerLayout returns the layout of a chunk and the storage of its index, or nil if it has
// no inner chunks. If an array codec mixes elements before the sharding, the axes are
// those of its output.
func (p *Pipeline) innerLayout() (*Layout, *IndexStorage) {
	s, ok := p.toBytes.(*sharding)
	if !ok {
		return nil, nil
	}
	index := &IndexStorage{Codecs: s.indexCodecs, First: s.isIndexFirst}
	inner, innerIndex := s.wholeInner.innerLayout()
	shape := s.chunkShape
	if p.keepsRegions() {
		shape = p.innerShape(s)
	}
	l := regularLayout(shape, inner)
	l.Index = innerIndex
	if p.keepsRegions() {
		l = l.permute(p.axes())
	}
	return l, index
}

// regularLayout returns the layout of chunks of one shape.
func regularLayout(shape []int64, inner *Layout) *Layout {
	l := &Layout{Inner: inner}
	for _, n := range shape {
		l.Chunks = append(l.Chunks, grid.Every(n))
	}
	return l
}

// permute converts the layouts within l from the axes of a shard to those of its chunk.
func (l *Layout) permute(axes []int) *Layout {
	for in := l.Inner; in != nil; in = in.Inner {
		chunks := make([]grid.Sizes, len(in.Chunks))
		for k, axis := range axes {
			chunks[axis] = in.Chunks[k]
		}
		in.Chunks = chunks
	}
	return l
}

// NDim returns the number of axes.
func (l *Layout) NDim() int { return len(l.Chunks) }

// IsRegular reports whether all chunks of this level have one shape. For the chunks of an
// array it agrees with [grid.Grid.IsRegular].
func (l *Layout) IsRegular() bool {
	_, ok := l.ChunkShape()
	return ok
}

// ChunkShape returns the shape of all chunks of this level, or false if they differ.
func (l *Layout) ChunkShape() ([]int64, bool) {
	shape := make([]int64, len(l.Chunks))
	for axis, sizes := range l.Chunks {
		var ok bool
		if shape[axis], ok = sizes.RegularSize(); !ok {
			return nil, false
		}
	}
	return shape, true
}

// IsSharded reports whether chunks have inner chunks.
func (l *Layout) IsSharded() bool { return l.Inner != nil }

// Levels returns the layout and those within it, the outermost first.
func (l *Layout) Levels() []*Layout {
	var levels []*Layout
	for ; l != nil; l = l.Inner {
		levels = append(levels, l)
	}
	return levels
}

// Innermost returns the last level.
func (l *Layout) Innermost() *Layout {
	for l.Inner != nil {
		l = l.Inner
	}
	return l
}

// Equal reports whether two layouts are equal on all levels.
func (l *Layout) Equal(m *Layout) bool {
	for l != nil && m != nil {
		if !slices.EqualFunc(l.Chunks, m.Chunks, equalSizes) {
			return false
		}
		l, m = l.Inner, m.Inner
	}
	return l == m
}

func equalSizes(a, b grid.Sizes) bool {
	m, aRepeats := a.RegularSize()
	n, bRepeats := b.RegularSize()
	return aRepeats == bRepeats && m == n && slices.Equal(a.Runs(), b.Runs())
}

// String formats the sizes of each level, as in ([10×3,5], 100) > (5, 10).
func (l *Layout) String() string {
	var levels []string
	for _, level := range l.Levels() {
		var axes []string
		for _, sizes := range level.Chunks {
			axes = append(axes, sizesString(sizes))
		}
		levels = append(levels, "("+strings.Join(axes, ", ")+")")
	}
	return strings.Join(levels, " > ")
}

func sizesString(s grid.Sizes) string {
	if n, ok := s.RegularSize(); ok {
		return fmt.Sprint(n)
	}
	var runs []string
	for _, run := range s.Runs() {
		text := fmt.Sprint(run.Data)
		if run.Codec != run.Data {
			text += fmt.Sprintf("/%d", run.Codec)
		}
		if run.Count > 1 {
			text += fmt.Sprintf("×%d", run.Count)
		}
		runs = append(runs, text)
	}
	return "[" + strings.Join(runs, ",") + "]"
}

// Codecs returns the codecs of the levels within l, and codecs for the innermost chunks.
// Shards keep the codecs and the location of their index. The chunk grid is l.Chunks: see
// [grid.FromSizes].
func (l *Layout) Codecs(codecs []Spec) ([]Spec, error) {
	if l.Inner == nil {
		return codecs, nil
	}
	shape, ok := l.Inner.ChunkShape()
	if !ok {
		return nil, fmt.Errorf("inner chunks %v: all inner chunks of a shard must have one shape: %w", l.Inner, errors.ErrUnsupported)
	}
	inner, err := l.Inner.Codecs(codecs)
	if err != nil {
		return nil, err
	}
	spec, err := l.Index.shards(shape, inner).Spec()
	if err != nil {
		return nil, err
	}
	return []Spec{spec}, nil
}

// shards returns shards of chunks of a shape and codecs, with this index.
func (x *IndexStorage) shards(shape []int64, codecs []Spec) *ShardingConfig {
	s := &ShardingConfig{ChunkShape: shape, Codecs: codecs}
	if x != nil {
		s.IndexCodecs = x.Codecs
	}
	if x != nil && x.First {
		s.IndexLocation = "start"
	}
	return s
}

// IndexCodecs returns the codecs that the specification recommends for the index of a shard.
func IndexCodecs() []Spec {
	return []Spec{InOrder(LittleEndian), {Name: "crc32c"}}
}
