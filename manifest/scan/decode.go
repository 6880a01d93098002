package scan

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"

	"varve/codec"
	"varve/grid"
	"varve/manifest"
	"varve/readers"
	"varve/readers/source"
)

// decoder reads the values of a variable from its storage and refs. Unlike the reader, it can also read values
// that are in other sources.
type decoder struct {
	*opened
	v     *manifest.Variable
	f     *found
	parts []manifest.Part // of the variable; files are indices of f.hidden
	open  map[int32]*source.Source
	out   codec.Elems
	buf   []byte
}

// decode returns all values of a variable whose first ref is row first of f.
func (o *opened) decode(v *manifest.Variable, f *found, first int, parts []manifest.Part) (codec.Elems, error) {
	form := codec.Form{Type: v.Type, Shape: v.Shape, Fill: v.Fill.Value}
	if form.Bytes() < 0 || int64(form.Bytes()) > o.ValueBytes || int64(form.Count()) > o.ValueBytes {
		return codec.Elems{}, tooLargeFor(fmt.Errorf("values of shape %v need more than %d bytes, the limit for one variable: %w", v.Shape, o.ValueBytes, errors.ErrUnsupported))
	}
	d := decoder{opened: o, v: v, f: f, parts: parts, out: codec.NewElems(form)}
	return d.out, d.close(d.read(first, form))
}

// close closes the other sources that were opened.
func (d *decoder) close(err error) error {
	for _, src := range d.open {
		err = errors.Join(err, src.Close())
	}
	return err
}

func (d *decoder) read(first int, form codec.Form) error {
	switch d.v.Storage.Layout {
	case manifest.Strided, manifest.Inline:
		return d.readWhole(first)
	}
	d.out.SetFill(form)
	switch d.v.Storage.Layout {
	case manifest.Chunked:
		return d.readChunks(first)
	case manifest.Parted:
		return d.readParts()
	}
	return nil
}

// ref returns the ref in a row.
func (d *decoder) ref(row int) manifest.Ref {
	rows := d.f.refs
	out := rows.At(row)
	return out
}

// bytes returns the stored bytes of a ref, valid until the next call.
func (d *decoder) bytes(ref manifest.Ref) ([]byte, error) {
	if row, ok := ref.Inline(); ok {
		return d.f.inline[row], nil
	}
	if err := codec.CheckStored(ref.Size); err != nil {
		return nil, err
	}
	src, err := d.source(ref.Other)
	if err != nil {
		return nil, err
	}
	if ref.Offset > src.Size() || ref.Size > src.Size()-ref.Offset {
		return nil, readers.Corruptf("%d bytes at offset %d of %s, which has %d", ref.Size, ref.Offset, src.Name(), src.Size())
	}
	if d.v.Type.Varies() { // decoded elements share memory with their input
		d.buf = nil
	}
	if int64(cap(d.buf)) < ref.Size {
		d.buf = make([]byte, ref.Size)
	}
	b := d.buf[:ref.Size]
	_, err = src.ReadAt(d.ctx, b, ref.Offset)
	return b, err
}

// source returns the source of a ref; other is its number, or 0 for the source itself.
func (d *decoder) source(other int32) (*source.Source, error) {
	if other == 0 {
		return d.src, nil
	}
	if src := d.open[other]; src != nil {
		return src, nil
	}
	if len(d.open) >= maxOpen {
		for k, src := range d.open {
			if err := src.Close(); err != nil {
				return nil, err
			}
			delete(d.open, k)
		}
	}
	id := d.f.others[other-1]
	src, err := d.openNamed(d.ctx, id.URL)
	if err != nil {
		return nil, err
	}
	if d.open == nil {
		d.open = map[int32]*source.Source{}
	}
	d.open[other] = src
	return src, nil
}

// readWhole reads values that are stored contiguously or in records.
func (d *decoder) readWhole(row int) error {
	p, err := d.shared.pipelines.New(d.v.Storage.Codecs, codec.Form{Type: d.v.Type, Shape: d.v.Shape})
	if err != nil {
		return err
	}
	ref, stride := d.ref(row), d.v.Storage.Stride
	if stride == 0 {
		b, err := d.bytes(ref)
		if err != nil {
			return err
		}
		return p.Decode(d.out, b)
	}
	n := d.v.Shape[0]
	stored, err := d.records(make([]byte, 0, ref.Size), ref, n, ref.Size/n, stride)
	if err != nil {
		return err
	}
	return p.Decode(d.out, stored)
}

// mostGap is the largest distance between records, in bytes, at which the gaps are read too.
const mostGap = 4 << 10

// records appends n records of the given size, which are stride bytes apart.
func (d *decoder) records(dst []byte, ref manifest.Ref, n, size, stride int64) ([]byte, error) {
	for n > 0 {
		some := int64(1)
		if stride <= mostGap {
			some = min(n, max(blockBytes/stride, 1))
		}
		b, err := d.bytes(manifest.Ref{Offset: ref.Offset, Size: (some-1)*stride + size, Other: ref.Other})
		if err != nil {
			return nil, err
		}
		for i := range some {
			dst = append(dst, b[i*stride:][:size]...)
		}
		ref.Offset, n = ref.Offset+some*stride, n-some
	}
	return dst, nil
}

func (d *decoder) readChunks(first int) error {
	return d.eachChunk(first, func(c *grid.Chunk, elems codec.Elems, stored bool) error {
		if !stored {
			return nil
		}
		return d.copyBox(elems, c.Codec, grid.Region{Origin: make([]int64, len(c.Origin)), Shape: c.Shape}, c.Origin)
	})
}

// eachChunk calls visit with all chunks in C order; their refs begin at row first. elems is valid until the
// next call and empty if the chunk is not stored.
func (d *decoder) eachChunk(first int, visit func(c *grid.Chunk, elems codec.Elems, stored bool) error) error {
	g, err := d.v.Grid()
	if err != nil {
		return err
	}
	coords := make([]int64, g.Rank())
	var p *codec.Pipeline
	var chunk codec.Elems
	for i := range g.Chunks() {
		ref := d.ref(first + int(i))
		g.Coords(i, coords)
		c, _ := g.Chunk(coords)
		if !ref.Stored() {
			if err := visit(&c, codec.Elems{}, false); err != nil {
				return err
			}
			continue
		}
		if p, err = d.pipeline(p, c.Codec, ref.Size); err != nil {
			return err
		}
		if chunk.Fixed == nil && chunk.Var == nil || len(chunk.Fixed) != p.Form().Bytes() {
			chunk = codec.NewElems(p.Form())
		}
		if err := d.decodeChunk(p, &c, ref, chunk); err != nil {
			return fmt.Errorf("chunk %v: %w", coords, err)
		}
		if err := visit(&c, chunk, true); err != nil {
			return err
		}
	}
	return nil
}

// pipeline returns a pipeline for chunks of a shape, reusing the last one if possible.
func (d *decoder) pipeline(last *codec.Pipeline, shape []int64, stored int64) (*codec.Pipeline, error) {
	form := codec.Form{Type: d.v.Type, Shape: shape, Fill: d.v.Fill.Value}
	all := codec.Form{Type: d.v.Type, Shape: d.v.Shape}.MemorySize()
	// Check the limits before allocating memory: a damaged header may declare huge chunks.
	if err := cmp.Or(form.CheckSize(), form.CheckSpare(all), form.CheckGrowth(stored)); err != nil {
		return nil, err
	}
	if last != nil && slices.Equal(last.Form().Shape, shape) {
		return last, nil
	}
	return d.shared.pipelines.New(d.v.Storage.Codecs, form)
}

// decodeChunk decodes a stored chunk.
func (d *decoder) decodeChunk(p *codec.Pipeline, c *grid.Chunk, ref manifest.Ref, chunk codec.Elems) error {
	b, err := d.bytes(ref)
	if err != nil {
		return err
	}
	mask := ref.Mask
	// The format stores edge chunks without filters, so all codecs are skipped.
	if d.v.Storage.RawEdges && !slices.Equal(c.Shape, c.Codec) {
		mask = ^uint32(0)
	}
	if mask != 0 {
		p = p.Skip(mask).WithCheck(ref.Mask)
	}
	return p.Decode(chunk, b)
}

// copyBox copies a box of elements to its origin in the variable.
func (d *decoder) copyBox(src codec.Elems, shape []int64, box grid.Region, origin []int64) error {
	to := grid.Region{Origin: origin, Shape: box.Shape}
	from := grid.Whole(shape)
	from.Origin = make([]int64, len(shape))
	for k := range from.Origin {
		from.Origin[k] = origin[k] - box.Origin[k]
	}
	if d.v.Type.Varies() {
		return grid.Copy(grid.Window[[]byte]{Region: grid.Whole(d.v.Shape), Data: d.out.Var}, grid.Window[[]byte]{Region: from, Data: src.Var}, to, 1)
	}
	return grid.Copy(grid.Window[byte]{Region: grid.Whole(d.v.Shape), Data: d.out.Fixed}, grid.Window[byte]{Region: from, Data: src.Fixed}, to, int64(d.v.Type.Size))
}

// readParts reads values that are stored in other files.
func (d *decoder) readParts() error {
	last, values := -1, codec.Elems{}
	for _, part := range d.parts {
		h := d.f.hidden[part.File]
		v := h.file.Header.Variable(0)
		if last != part.File {
			var err error
			if values, err = d.readHidden(h, v); err != nil {
				return err
			}
			last = part.File
		}
		if err := d.copyBox(values, v.Shape, grid.Region{Origin: part.Start, Shape: part.Shape}, part.Origin); err != nil {
			return err
		}
	}
	return nil
}

func (d *decoder) readHidden(h *found, v *manifest.Variable) (codec.Elems, error) {
	src, err := d.openNamed(d.ctx, h.url)
	if err != nil {
		return codec.Elems{}, err
	}
	o := &opened{scanner: d.scanner, ctx: d.ctx, src: src}
	out, err := o.decode(v, h, 0, nil)
	return out, errors.Join(err, src.Close())
}

// readAll reads all values through the reader. It records the versions of the other files that have values.
func (e *entry) readAll() (readers.Value, error) {
	value, err := e.v.ReadAll(e.ctx, uint64(e.ValueBytes))
	if err != nil {
		return value, err
	}
	for _, name := range value.Sources {
		if _, err := e.other(&readers.Other{Source: name}); err != nil {
			return value, err
		}
	}
	return value, nil
}

// readThrough reads all values through the reader, in memory form.
func (e *entry) readThrough() (*manifest.Values, error) {
	if e.tabled != nil {
		return e.tabled, nil
	}
	v, t := e.v, e.out.Type
	value, err := e.readAll()
	if err != nil {
		return nil, err
	}
	if t.Varies() {
		for i, text := range value.Texts {
			value.Texts[i] = bytes.Clone(text)
		}
		return &manifest.Values{Texts: value.Texts}, nil
	}
	if t.Kind == codec.FixedBytes && value.Texts != nil {
		return &manifest.Values{Data: padded(value.Texts, t.Size)}, nil
	}
	data := bytes.Clone(widen(v.Type, t, value.Data))
	if endsAtNUL(v.Type) || endsWithBlanks(v.Type) {
		cutTails(v.Type, data)
	}
	return &manifest.Values{Data: data}, nil
}

// padded returns texts as elements of one size, padded with NULs.
func padded(texts [][]byte, size int) []byte {
	out := make([]byte, len(texts)*size)
	for i, t := range texts {
		copy(out[i*size:(i+1)*size], t)
	}
	return out
}
