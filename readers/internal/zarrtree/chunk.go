package zarrtree

import (
	"context"
	"errors"
	"fmt"
	"math"

	"varve/codec"
	"varve/readers"
	"varve/readers/source"
)

// chunk is one stored chunk whose parts can be read. It implements codec.Reader.
type chunk struct {
	inline []byte // the bytes; nil: they are in src
	src    *source.Source
	offset int64
	size   int64
}

// Size returns the size of the stored chunk.
func (c *chunk) Size() int64 { return c.size }

// ReadRanges reads parts of the chunk.
func (c *chunk) ReadRanges(ctx context.Context, ranges []codec.Range, out [][]byte) error {
	if c.src == nil {
		return codec.Memory(c.inline).ReadRanges(ctx, ranges, out)
	}
	for i, r := range ranges {
		out[i] = make([]byte, r.Length)
		if _, err := c.src.ReadAt(ctx, out[i], c.offset+r.Offset); err != nil {
			return err
		}
	}
	return nil
}

// opener opens the chunks of one array, and keeps the last source open.
type opener struct {
	tree *Tree
	name string
	src  *source.Source
}

func (o *opener) Close() error {
	if o.src == nil {
		return nil
	}
	err := o.src.Close()
	o.src = nil
	return err
}

func (o *opener) open(ctx context.Context, r *readers.Ref) (*chunk, error) {
	if r.Other == nil {
		return section(o.tree.Source, r)
	}
	if r.Other.Inline != nil {
		return &chunk{inline: r.Other.Inline, size: int64(len(r.Other.Inline))}, nil
	}
	if o.src == nil || o.name != r.Other.Source {
		if err := o.Close(); err != nil {
			return nil, err
		}
		src, err := o.tree.Chunks.Open(ctx, r.Other)
		if err != nil {
			return nil, err
		}
		o.src, o.name = src, r.Other.Source
	}
	return section(o.src, r)
}

// section returns the part of a source that a ref points to.
func section(src *source.Source, r *readers.Ref) (*chunk, error) {
	c := &chunk{src: src, offset: r.Offset, size: int64(min(r.Size, math.MaxInt64))}
	if r.Size == readers.WholeSource {
		c.size = src.Size() - r.Offset
	}
	// The ref may come from an index that is older than its source.
	if r.Offset < 0 || r.Offset > src.Size() || c.size < 0 || c.size > src.Size()-r.Offset {
		return nil, fmt.Errorf("chunk %v: %w", r.Index,
			errors.Join(&source.RangeError{Source: src.Name(), Offset: r.Offset, Length: c.size, Size: src.Size()}, readers.ErrCorrupt))
	}
	return c, nil
}
