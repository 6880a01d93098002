package scan_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"varve/codec"
	"varve/grid"
	"varve/manifest"
	"varve/manifest/scan"
)

// archive is the result of a scan. Its methods read values without code of package scan, to check the result.
type archive struct {
	*scan.Result
	*sink
}

func scanAll(names []string, opts scan.Options) (*archive, error) {
	a := &archive{sink: &sink{}}
	opts.Sink = a.sink
	var err error
	a.Result, err = scan.Scan(context.Background(), names, &opts)
	return a, err
}

// read returns all elements of a variable.
func (a *archive) read(f *manifest.File, variable int) (codec.Elems, error) {
	v := f.Header.Variable(variable)
	form := codec.Form{Type: v.Type, Shape: v.Shape, Fill: v.Fill.Value}
	if v.Storage.Layout == manifest.Valued {
		values := f.Values[variable]
		return codec.Elems{Fixed: values.Data, Var: values.Texts}, nil
	}
	out := codec.NewElems(form)
	out.SetFill(form)
	if v.Storage.Layout == manifest.Parted {
		return out, a.readParts(out, f, variable)
	}
	row := f.Row
	for i := range variable {
		row += f.Header.Variable(i).Rows()
	}
	rows := a.refs[row:][:v.Rows()]
	switch v.Storage.Layout {
	case manifest.Nothing:
		return out, nil
	case manifest.Strided:
		return out, a.readStrided(out, f, v, rows[0])
	}
	return out, a.readChunks(out, f, v, rows)
}

func (a *archive) readParts(out codec.Elems, f *manifest.File, variable int) error {
	shape := f.Header.Variable(variable).Shape
	for _, p := range f.Parts[variable] {
		hidden := a.Files[p.File]
		v := hidden.Header.Variable(0)
		if !hidden.Hidden || len(hidden.Header.Expand().Variables) != 1 || v.Path != f.Header.Variable(variable).Path {
			return fmt.Errorf("part of %s is %s of %s", f.Header.Variable(variable).Path, v.Path, hidden.URL)
		}
		src, err := a.read(hidden, 0)
		if err != nil {
			return err
		}
		copyBox(out, shape, p.Origin, src, v.Shape, p.Start, p.Shape, v.Type.Size)
	}
	return nil
}

// copyBox copies a box element by element.
func copyBox(dst codec.Elems, dstShape, origin []int64, src codec.Elems, srcShape, start, shape []int64, size int) {
	n := int64(1)
	for _, k := range shape {
		n *= k
	}
	for i := range n {
		to, from, rest := int64(0), int64(0), i
		at := make([]int64, len(shape))
		for k := len(shape) - 1; k >= 0; k-- {
			at[k], rest = rest%shape[k], rest/shape[k]
		}
		for k := range shape {
			to = to*dstShape[k] + origin[k] + at[k]
			from = from*srcShape[k] + start[k] + at[k]
		}
		if size == 0 {
			dst.Var[to] = src.Var[from]
			continue
		}
		copy(dst.Fixed[to*int64(size):][:size], src.Fixed[from*int64(size):])
	}
}

func (a *archive) bytes(f *manifest.File, r manifest.Ref) ([]byte, error) {
	if row, ok := r.Inline(); ok {
		if int64(len(a.inline[row])) != r.Size {
			return nil, errors.New("size of inline bytes")
		}
		return a.inline[row], nil
	}
	name := f.URL
	if r.Other != 0 {
		name = a.Files[r.Other-1].URL
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	b := make([]byte, r.Size)
	_, err = file.ReadAt(b, r.Offset)
	return b, err
}

func (a *archive) readStrided(out codec.Elems, f *manifest.File, v *manifest.Variable, r manifest.Ref) error {
	p, err := codec.New(v.Storage.Codecs, codec.Form{Type: v.Type, Shape: v.Shape})
	if err != nil {
		return err
	}
	stored := make([]byte, 0, len(out.Fixed))
	if v.Storage.Stride == 0 {
		stored, err = a.bytes(f, r)
	} else {
		row := r
		row.Size = r.Size / v.Shape[0]
		for range v.Shape[0] {
			b, err := a.bytes(f, row)
			if err != nil {
				return err
			}
			stored = append(stored, b...)
			row.Offset += v.Storage.Stride
		}
	}
	if err != nil {
		return err
	}
	return p.Decode(out, stored)
}

func (a *archive) readChunks(out codec.Elems, f *manifest.File, v *manifest.Variable, rows []manifest.Ref) error {
	g, err := v.Grid()
	if err != nil {
		return err
	}
	counts := g.Counts()
	for i, r := range rows {
		if !r.Stored() {
			continue
		}
		coords, rest := make([]int64, len(counts)), int64(i)
		for k := len(counts) - 1; k >= 0; k-- {
			coords[k], rest = rest%counts[k], rest/counts[k]
		}
		c, _ := g.Chunk(coords)
		b, err := a.bytes(f, r)
		if err != nil {
			return err
		}
		if err := readChunk(out, v, c, b, r.Mask); err != nil {
			return fmt.Errorf("chunk %v: %w", coords, err)
		}
	}
	return nil
}

func readChunk(out codec.Elems, v *manifest.Variable, c grid.Chunk, stored []byte, mask uint32) error {
	form := codec.Form{Type: v.Type, Shape: c.Codec}
	p, err := codec.New(v.Storage.Codecs, form)
	if err != nil {
		return err
	}
	if v.Storage.RawEdges && !slices.Equal(c.Shape, c.Codec) {
		mask = 1<<v.Storage.Filters - 1
	}
	elems := codec.NewElems(form)
	if err := p.Skip(mask).Decode(elems, bytes.Clone(stored)); err != nil {
		return err
	}
	copyBox(out, v.Shape, c.Origin, elems, c.Codec, make([]int64, len(c.Codec)), c.Shape, v.Type.Size)
	return nil
}
