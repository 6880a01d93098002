package present

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"golang.org/x/sync/errgroup"

	"varve/codec"
	"varve/grid"
)

const (
	// blockBytes is the default of Selection.BlockBytes. Two blocks are in memory, because the next block is read while
	// one is used.
	blockBytes = 32 << 20
	// deepest is how many times larger a block may be to contain whole chunks, so that chunks are not decoded
	// again for each row.
	deepest = 8
)

// Blocks divides a selection into parts that are consecutive in C order. A part has at most the given number
// of elements, or up to eight times more if that is needed to contain whole chunks. Where possible, parts end
// where chunks end.
func (s *Selection) Blocks(most int64) iter.Seq[*Selection] {
	return func(yield func(*Selection) bool) { s.blocks(0, most, yield) }
}

// blocks divides along an axis or, if one index of it is too much, along later axes.
func (s *Selection) blocks(axis int, most int64, yield func(*Selection) bool) bool {
	for axis < len(s.Axes) && s.Axes[axis].Len() <= 1 {
		axis++
	}
	if axis == len(s.Axes) || s.Count() <= most {
		return yield(s)
	}
	x := s.Axes[axis]
	row := s.Count() / x.Len()
	rows := s.deep(axis, max(most/row, 1), most*deepest/row)
	for at := int64(0); at < x.Len(); {
		block := &Selection{Array: s.Array, Axes: append([]Axis(nil), s.Axes...)}
		n := s.cut(axis, at, rows)
		block.Axes[axis] = x.part(at, n)
		at += n
		more := false
		if row > most {
			more = block.blocks(axis+1, most, yield)
		} else {
			more = yield(block)
		}
		if !more {
			return false
		}
	}
	return true
}

// divide calls do with parts of a selection, and whether anything may be stored near their elements. It halves the selection as
// long as it has more than vast elements and something is stored.
func (s *Selection) divide(ctx context.Context, vast int64, do func(part *Selection, isStored bool) error) error {
	n := s.Count()
	if n <= vast {
		return do(s, true)
	}
	isStored, err := s.Array.HasStored(ctx, s.bounds())
	if err != nil {
		return err
	}
	longest := 0
	for axis, x := range s.Axes {
		if x.Len() > s.Axes[longest].Len() {
			longest = axis
		}
	}
	x := s.Axes[longest]
	if !isStored || x.Len() < 2 {
		return do(s, isStored)
	}
	half := x.Len() / 2
	for _, part := range []Axis{x.part(0, half), x.part(half, x.Len()-half)} {
		sub := &Selection{Array: s.Array, Axes: slices.Clone(s.Axes)}
		sub.Axes[longest] = part
		if err := sub.divide(ctx, vast, do); err != nil {
			return err
		}
	}
	return nil
}

// bounds returns the smallest region that contains the selection, which is not empty.
func (s *Selection) bounds() grid.Region {
	r := grid.MakeRegion(len(s.Axes))
	for k, x := range s.Axes {
		first, last := x.At(0), x.At(x.Len()-1)
		if x.List != nil {
			first, last = slices.Min(x.List), slices.Max(x.List)
		}
		r.Origin[k] = min(first, last)
		r.Shape[k] = max(first, last) - r.Origin[k] + 1
	}
	return r
}

// deep returns how many indices a block has along an axis: rows, or the length of a chunk if that is larger
// and at most room.
func (s *Selection) deep(axis int, rows, room int64) int64 {
	x, d := s.Axes[axis], s.Array.Grid().Dim(axis)
	if chunk, err := d.Find(x.At(0)); err == nil && x.List == nil {
		size, _ := d.CodecSize(chunk)
		if depth := int64(uint64(size-1)/magnitude(x.Step)) + 1; depth > rows && depth <= room {
			rows = depth
		}
	}
	return min(rows, x.Len())
}

// magnitude returns a step without its sign.
func magnitude(step int64) uint64 {
	if step < 0 {
		return -uint64(step)
	}
	return uint64(step)
}

// cut returns the number of positions of a block that begins at a position: at most rows, and fewer if that
// ends the block at the end of a chunk. Lists are not cut at chunks.
func (s *Selection) cut(axis int, at, rows int64) int64 {
	x := s.Axes[axis]
	if rows >= x.Len()-at || x.List != nil {
		return min(rows, x.Len()-at)
	}
	d := s.Array.Grid().Dim(axis)
	first, next := x.At(at), x.At(at+rows)
	chunk, err := d.Find(next)
	if err != nil {
		return rows
	}
	begin, end, _ := grid.Bounds(d, chunk)
	switch {
	case x.Step > 0 && begin > first:
		return (begin-first-1)/x.Step + 1
	case x.Step < 0 && end <= first:
		return int64(uint64(first-end)/magnitude(x.Step)) + 1
	}
	return rows
}

// Each passes a selection to look in blocks, in C order. Elements are valid until look returns. A selection of one block
// is read at once; of a larger one, the next block is read while look has one.
func (s *Selection) Each(ctx context.Context, look func(codec.Elems) error) error {
	if s.Count() <= s.blockElements() {
		elems, err := s.read(ctx, codec.Elems{})
		if err != nil {
			return err
		}
		if err := look(elems); err != nil {
			return err
		}
		if s.Progress != nil {
			s.Progress(s.Count(), s.Count())
		}
		return nil
	}
	group, ctx := errgroup.WithContext(ctx)
	full, free := make(chan codec.Elems), make(chan codec.Elems, 2)
	free <- codec.Elems{}
	free <- codec.Elems{}
	group.Go(func() error {
		defer close(full)
		for block := range s.Blocks(s.blockElements()) {
			elems, err := block.read(ctx, <-free)
			if err != nil {
				return err
			}
			select {
			case full <- elems:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	})
	group.Go(func() error {
		done := int64(0)
		for elems := range full {
			if err := look(elems); err != nil {
				return err
			}
			if done += s.counted(elems); s.Progress != nil {
				s.Progress(done, s.Count())
			}
			free <- elems
		}
		return nil
	})
	return group.Wait()
}

// counted returns the number of elements of a block.
func (s *Selection) counted(block codec.Elems) int64 {
	if typ := s.form().Type; !typ.Varies() {
		return int64(len(block.Fixed) / max(typ.Size, 1))
	}
	return int64(len(block.Var))
}

// listElements is the largest number of elements of a block that is read by lists of indices. Reading by list
// needs memory for several numbers per index.
const listElements = 1 << 20

// blockElements returns how many elements a block has. A string counts as its header and a few bytes.
func (s *Selection) blockElements() int64 {
	size := cmp.Or(s.BlockBytes, blockBytes)
	if slices.ContainsFunc(s.Axes, Axis.isList) {
		return min(s.elementsIn(size), listElements)
	}
	return s.elementsIn(size)
}

func (s *Selection) elementsIn(bytes int64) int64 {
	if size := s.form().Type.Size; size > 0 {
		return max(bytes/int64(size), 1)
	}
	return bytes / 64
}

func (s *Selection) form() codec.Form { return s.Array.Schema().Form(s.Shape()) }

// read reads the selection into the memory of room if it is large enough, and else into new memory.
func (s *Selection) read(ctx context.Context, room codec.Elems) (codec.Elems, error) {
	form := s.form()
	if n := form.Bytes(); form.Type.Varies() {
		room = codec.NewElems(form)
	} else if n <= cap(room.Fixed) {
		room.Fixed = room.Fixed[:n]
	} else {
		room.Fixed = make([]byte, n)
	}
	ix, err := s.Indexer()
	if err != nil {
		return room, err
	}
	return room, s.Array.Read(ctx, ix, room)
}
