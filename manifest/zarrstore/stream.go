package zarrstore

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"varve/codec"
	"varve/grid"
	"varve/readers/source"
)

// Stream appends slices along an axis, for programs that make one slice after another. It collects slices until they
// fill a chunk. So each chunk is encoded and written once; a shard gets the data of all its inner chunks, and then the
// index. To append slices to a shard that is not full, the bytes of its complete inner chunks are copied, not decoded.
//
//	slices    ▏▏▏▏▏▏▏▏▏▏▏▏▏
//	shards    ├──────┼──────┤      written after slice 7, and at Flush
//
// The slices of one chunk are in memory. One goroutine may use a Stream.
type Stream struct {
	array  *Array
	axis   int
	growth []Growth
	end    int64 // of the array along the axis, without the slices in memory
	slices []slice
}

// slice is a part of the array that is not written yet.
type slice struct {
	at, length int64 // along the axis
	elems      codec.Elems
}

// Stream returns a Stream that appends along an axis. The axis grows by the policies that Resize describes.
func (a *Array) Stream(axis int, growth ...Growth) (*Stream, error) {
	shape := a.Shape()
	if axis < 0 || axis >= len(shape) {
		return nil, fmt.Errorf("%s: a stream along axis %d of %d", a.files.Name(""), axis, len(shape))
	}
	return &Stream{array: a, axis: axis, growth: growth, end: shape[axis]}, nil
}

// Append appends length indices of the axis. src has the array's lengths along the other axes, and must not be changed
// until Flush returns.
func (s *Stream) Append(ctx context.Context, length int64, src codec.Elems) error {
	f := s.array.now()
	r := s.region(&f, s.end+s.pending(), length)
	n, err := r.Elements()
	if err == nil && length < 0 {
		err = errors.New("the length is negative")
	}
	if err == nil {
		err = f.checkElements(n, src)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", s.array.files.Name(""), err)
	}
	s.slices = append(s.slices, slice{r.Origin[s.axis], length, src})
	full, err := s.full(&f)
	if err != nil || full == s.end {
		return err
	}
	return s.write(ctx, full)
}

// Flush writes the slices in memory. A later Append continues their chunk.
func (s *Stream) Flush(ctx context.Context) error {
	if s.pending() == 0 {
		return nil
	}
	return s.write(ctx, s.end+s.pending())
}

// pending returns how many indices of the axis are in memory.
func (s *Stream) pending() int64 {
	if len(s.slices) == 0 {
		return 0
	}
	last := s.slices[len(s.slices)-1]
	return last.at + last.length - s.end
}

// region returns a part of the array along the axis.
func (s *Stream) region(f *form, at, length int64) grid.Region {
	r := grid.Region{Origin: make([]int64, f.grid.Rank()), Shape: slices.Clone(f.grid.Shape())}
	r.Origin[s.axis], r.Shape[s.axis] = at, length
	return r
}

// full returns the end of the last chunk that the slices in memory fill, or the end of the array.
func (s *Stream) full(f *form) (int64, error) {
	shape := slices.Clone(f.grid.Shape())
	shape[s.axis] = s.end + s.pending()
	grown, err := f.grow(shape, s.growth)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", s.array.files.Name(""), err)
	}
	d := grown.grid.Dim(s.axis)
	last := d.Chunks() - 1
	codecSize, ok := d.CodecSize(last)
	if !ok {
		return s.end, nil
	}
	at, _ := d.Offset(last)
	if data, _ := d.DataSize(last); data == codecSize {
		at += data
	}
	return max(at, s.end), nil
}

// write appends the slices in memory up to an index of the axis.
func (s *Stream) write(ctx context.Context, to int64) error {
	f := s.array.now()
	if now := f.grid.Shape()[s.axis]; now != s.end {
		return fmt.Errorf("%s: %w: axis %d has the length %d, and had %d", s.array.files.Name(""), source.ErrConflict, s.axis, now, s.end)
	}
	r := s.region(&f, s.end, to-s.end)
	elems := codec.NewElems(f.schema.Form(r.Shape))
	for _, piece := range s.slices {
		from := s.region(&f, piece.at, piece.length)
		shared := grid.MakeRegion(r.Rank())
		if !shared.Intersect(from, r) {
			continue
		}
		p := &part{form: &f, region: shared}
		if err := p.move(elems, r, piece.elems, from); err != nil {
			return err
		}
	}
	if err := s.array.Append(ctx, s.axis, to-s.end, elems, s.growth...); err != nil {
		return err
	}
	s.end = to
	s.slices = slices.DeleteFunc(s.slices, func(piece slice) bool { return piece.at+piece.length <= to })
	return nil
}
