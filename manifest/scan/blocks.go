package scan

import (
	"bytes"
	"fmt"
	"slices"

	"varve/codec"
	"varve/manifest"
	"varve/readers"
)

// Blocks hands on the elements of a variable in their order, some at a time, in memory form and
// valid until the next. Those of one dimension are read chunk by chunk, however many they are;
// others as a whole, up to manifest.MostSummed bytes.
func (l *Later) Blocks(variable int, do func(elements []byte) error) error {
	if known := l.file.Values[variable]; known != nil && !known.Summed {
		return do(known.Data)
	}
	defer l.unbounded()()
	return l.look(variable, func(out *manifest.Variable, v *readers.Variable) error { return l.r.eachBlock(out, v, do) })
}

// unbounded has more bytes read than others may be kept of, until what it returns is called.
func (l *Later) unbounded() (done func()) {
	own := l.r.Options
	large := *own
	large.ValueBytes = manifest.MostSummed
	l.r.Options = &large
	return func() { l.r.Options = own }
}

// Size of what is handed on at a time of what is stored without chunks.
const blockBytes = 1 << 20

// mostGap is how far records may lie apart that are read with what is between them.
const mostGap = 4 << 10

// BlockMemory is how many bytes it takes to hand on the elements of a variable.
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

// inBlocks reports whether a variable can be read some elements at a time.
func inBlocks(v *manifest.Variable) bool {
	if len(v.Shape) != 1 || v.Type.Varies() {
		return false
	}
	s := &v.Storage
	return s.Layout == manifest.Chunked || s.Layout == manifest.Nothing || s.Layout == manifest.Strided && s.Filters == 0
}

func (r *reading) eachBlock(out *manifest.Variable, v *readers.Variable, do func([]byte) error) error {
	if !inBlocks(out) {
		values, err := r.readValues(out, v, 0)
		if err != nil {
			return err
		}
		return do(values.Data)
	}
	b := blocks{decoder: decoder{reading: r, v: out, f: r.out}, do: do}
	switch out.Storage.Layout {
	case manifest.Chunked:
		return b.close(b.chunks())
	case manifest.Strided:
		return b.close(b.pieces())
	}
	return b.fill(out.Shape[0])
}

// blocks hands on the elements of a variable of one dimension.
type blocks struct {
	decoder
	do func([]byte) error
}

func (b *blocks) chunks() error {
	g, err := b.v.Grid()
	if err != nil {
		return err
	}
	var p *codec.Pipeline
	var chunk codec.Elems
	for i := range g.Chunks() {
		c, _ := g.Chunk([]int64{i})
		ref := b.ref(int(i))
		if !ref.Stored() {
			if err := b.fill(c.Shape[0]); err != nil {
				return err
			}
			continue
		}
		if p, err = b.pipeline(p, c.Codec, ref.Size); err != nil {
			return err
		}
		if chunk.Fixed == nil || len(chunk.Fixed) != p.Form().Bytes() {
			chunk = codec.NewElems(p.Form())
		}
		if err := b.decodeChunk(p, &c, ref, chunk); err != nil {
			return fmt.Errorf("chunk [%d]: %w", i, err)
		}
		if err := b.do(chunk.Fixed[:c.Shape[0]*int64(b.v.Type.Size)]); err != nil {
			return err
		}
	}
	return nil
}

// fill hands on elements that nobody wrote.
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

// most is how many of some elements are handed on at a time.
func (b *blocks) most(n int64) int64 { return min(n, max(blockBytes/int64(b.v.Type.Size), 1)) }

// pieces hands on what lies in one piece, or in records at a distance.
func (b *blocks) pieces() error {
	size := int64(b.v.Type.Size)
	ref := b.ref(0)
	stride := b.v.Storage.Stride
	if stride == 0 {
		stride = size
	}
	if _, inline := ref.Inline(); inline || ref.Size != b.v.Shape[0]*size {
		return fmt.Errorf("%d bytes for %d elements: %w", ref.Size, b.v.Shape[0], codec.ErrCorrupt)
	}
	var p *codec.Pipeline
	for at := int64(0); at < b.v.Shape[0]; {
		n := b.most(b.v.Shape[0] - at)
		if stride > size && stride <= mostGap {
			n = min(n, max(blockBytes/stride, 1))
		}
		stored, err := b.records(manifest.Ref{Offset: ref.Offset + at*stride, Other: ref.Other}, n, size, stride)
		if err != nil {
			return err
		}
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

// records reads n records that lie at a distance from a place on.
func (b *blocks) records(ref manifest.Ref, n, size, stride int64) ([]byte, error) {
	if stride <= mostGap {
		ref.Size = (n-1)*stride + size
		near, err := b.bytes(ref)
		if err != nil || stride == size {
			return near, err
		}
		for i := int64(1); i < n; i++ {
			copy(near[i*size:(i+1)*size], near[i*stride:])
		}
		return near[:n*size], nil
	}
	var out bytes.Buffer
	for range n {
		ref.Size = size
		one, err := b.bytes(ref)
		if err != nil {
			return nil, err
		}
		out.Write(one)
		ref.Offset += stride
	}
	return out.Bytes(), nil
}
