package scan

import (
	"cmp"
	"fmt"
	"slices"

	"varve/codec"
	"varve/grid"
	"varve/manifest"
)

// Blocks passes the elements of a variable to do in order, in blocks in memory form. A block is valid until
// the next call. One-dimensional variables are read chunk by chunk without a limit; others are read as a
// whole, up to manifest.MostSummed bytes.
func (l *Later) Blocks(variable int, do func(elements []byte) error) error {
	if known := l.file.Values[variable]; known != nil && !known.Summed {
		return do(known.Data)
	}
	defer l.unbounded()()
	return l.look(variable, func(e *entry) error { return e.eachBlock(do) })
}

// unbounded raises the limit on the size of values to manifest.MostSummed until done is called.
func (l *Later) unbounded() (done func()) {
	own := l.at.Options
	large := *own
	large.ValueBytes = manifest.MostSummed
	l.at.Options = &large
	return func() { l.at.Options = own }
}

// blockBytes is the size of blocks of variables that are stored without chunks.
const blockBytes = 1 << 20

// BlockMemory returns the memory in bytes that Blocks needs for a variable.
func BlockMemory(v *manifest.Variable) int64 {
	form := codec.Form{Type: v.Type, Shape: v.Shape}
	switch {
	case !inBlocks(v):
		return max(int64(form.Bytes()), 0)
	case v.Storage.Layout != manifest.Chunked:
		return 2 * blockBytes
	}
	if g, err := v.Grid(); err == nil && g.Chunks() > 0 {
		c, _ := g.Chunk([]int64{0})
		form.Shape = c.Codec
	}
	return max(2*int64(form.Bytes()), 0)
}

// inBlocks reports whether a variable can be read in blocks.
func inBlocks(v *manifest.Variable) bool {
	if len(v.Shape) != 1 || v.Type.Varies() {
		return false
	}
	s := &v.Storage
	return s.Layout == manifest.Chunked || s.Layout == manifest.Nothing || s.Layout == manifest.Strided && s.Filters == 0
}

func (e *entry) eachBlock(do func([]byte) error) error {
	out := &e.out
	if !inBlocks(out) {
		values, err := e.readValues()
		if err != nil {
			return err
		}
		return do(values.Data)
	}
	b := blocks{decoder: decoder{opened: e.opened, v: out, f: e.found}, do: do}
	switch out.Storage.Layout {
	case manifest.Chunked:
		return b.close(b.chunks())
	case manifest.Strided:
		return b.close(b.pieces())
	}
	return b.fill(out.Shape[0])
}

// blocks passes on the elements of a one-dimensional variable.
type blocks struct {
	decoder
	do func([]byte) error
}

func (b *blocks) chunks() error {
	return b.eachChunk(0, func(c *grid.Chunk, elems codec.Elems, stored bool) error {
		if !stored {
			return b.fill(c.Shape[0])
		}
		return b.do(elems.Fixed[:c.Shape[0]*int64(b.v.Type.Size)])
	})
}

// fill passes on n fill values.
func (b *blocks) fill(n int64) error {
	form := codec.Form{Type: b.v.Type, Shape: []int64{b.most(n)}, Fill: b.v.Fill.Value}
	elems := codec.NewElems(form)
	elems.SetFill(form)
	for n > 0 {
		some := min(n, form.Shape[0])
		if err := b.do(elems.Fixed[:some*int64(b.v.Type.Size)]); err != nil {
			return err
		}
		n -= some
	}
	return nil
}

// most returns the number of elements that fit into a block, at most n.
func (b *blocks) most(n int64) int64 { return min(n, max(blockBytes/int64(b.v.Type.Size), 1)) }

// pieces passes on elements that are stored contiguously or in records.
func (b *blocks) pieces() error {
	size := int64(b.v.Type.Size)
	ref, stride := b.ref(0), cmp.Or(b.v.Storage.Stride, size)
	if _, inline := ref.Inline(); inline || ref.Size != b.v.Shape[0]*size {
		return fmt.Errorf("%d bytes for %d elements: %w", ref.Size, b.v.Shape[0], codec.ErrCorrupt)
	}
	var p *codec.Pipeline
	var stored []byte
	for at := int64(0); at < b.v.Shape[0]; {
		n := b.most(b.v.Shape[0] - at)
		var err error
		if stored, err = b.records(stored[:0], manifest.Ref{Offset: ref.Offset + at*stride, Other: ref.Other}, n, size, stride); err != nil {
			return err
		}
		// Only the last block has another length, so at most two pipelines are made.
		if form := (codec.Form{Type: b.v.Type, Shape: []int64{n}}); p == nil || !slices.Equal(p.Form().Shape, form.Shape) {
			if p, err = b.shared.pipelines.New(b.v.Storage.Codecs, form); err != nil {
				return err
			}
			b.out = codec.NewElems(form)
		}
		if err := p.Decode(b.out, stored); err != nil {
			return err
		}
		if err := b.do(b.out.Fixed); err != nil {
			return err
		}
		at += n
	}
	return nil
}
