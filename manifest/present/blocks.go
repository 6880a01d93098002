package present

import (
	"context"
	"iter"

	"golang.org/x/sync/errgroup"

	"varve/codec"
)

const (
	// blockBytes is about how much of a selection that streams is in memory at a time, twice:
	// one block is looked at while the next is read.
	blockBytes = 32 << 20
	// deepest is how many times that a block may be so that chunks are not decoded again for
	// each of their rows.
	deepest = 8
)

// Blocks cuts a selection into selections that follow one another in C order, of at most
// a number of elements each; more where chunks reach further along the axis that is cut, up to
// eight times that. Cuts are at the edges of chunks where these are near enough.
func (s *Selection) Blocks(most int64) iter.Seq[*Selection] {
	return func(yield func(*Selection) bool) { s.blocks(0, most, yield) }
}

// blocks cuts along an axis or, where one index of that alone is too much, along those behind.
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
	for from := x.From; from < x.To; {
		block := &Selection{Array: s.Array, Axes: append([]Axis(nil), s.Axes...)}
		b := &block.Axes[axis]
		b.From, b.To = from, s.cut(axis, from, rows)
		more := false
		if row > most {
			more = block.blocks(axis+1, most, yield)
		} else {
			more = yield(block)
		}
		if !more {
			return false
		}
		from += b.Len() * x.Step
	}
	return true
}

// deep is how many indices a block takes along an axis: as many as a chunk has, if there is
// room for them.
func (s *Selection) deep(axis int, rows, room int64) int64 {
	x, d := s.Axes[axis], s.Array.Grid().Dim(axis)
	if chunk, err := d.Find(x.From); err == nil {
		if depth := (d.CodecSize(chunk)-1)/x.Step + 1; depth > rows && depth <= room {
			rows = depth
		}
	}
	return min(rows, x.Len())
}

// cut is where a block ends that begins at an index and has at most so many: at the edge of
// a chunk, if there is one.
func (s *Selection) cut(axis int, from, rows int64) int64 {
	x := s.Axes[axis]
	if rows > (x.To-from-1)/x.Step {
		return x.To
	}
	to := from + (rows-1)*x.Step + 1
	d := s.Array.Grid().Dim(axis)
	if chunk, err := d.Find(to); err == nil && d.Offset(chunk) > from {
		return d.Offset(chunk)
	}
	return to
}

// each shows a selection block by block, in C order. Elements are gone when look returns.
func (s *Selection) each(ctx context.Context, look func(codec.Elems) error) error {
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

// counted is how many elements a block holds.
func (s *Selection) counted(block codec.Elems) int64 {
	if typ := s.form().Type; !typ.Varies() {
		return int64(len(block.Fixed) / max(typ.Size, 1))
	}
	return int64(len(block.Var))
}

// blockElements is how many elements a block has. A text counts for its header and a little.
func (s *Selection) blockElements() int64 {
	if size := s.form().Type.Size; size > 0 {
		return max(blockBytes/int64(size), 1)
	}
	return blockBytes / 64
}

func (s *Selection) form() codec.Form { return s.Array.Schema().Form(s.Shape()) }

// read reads the selection into room, or into more of it.
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
