package netcdffile

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"unicode/utf8"

	"varve/codec"
	"varve/grid"
	"varve/manifest/store"
)

// texts are the elements of an array of texts, and the heap that has their characters.
type texts struct {
	elements []byte
	heap     heap
	failed   error // why the array cannot be read; then all elements refer to nowhere
}

// maxTexts limits the bytes of the texts of an array, which are in memory.
const maxTexts = 256 << 20

var errTexts = fmt.Errorf("an array of texts with more than %d bytes: %w; leave it out or read it as Zarr", int64(maxTexts), errors.ErrUnsupported)

// errCut is the error of texts that programs would read in part.
var errCut = fmt.Errorf("a text with a NUL, which ends strings of netCDF-4: %w; read it as Zarr", errors.ErrUnsupported)

func isCut(text []byte) bool { return bytes.IndexByte(text, 0) >= 0 }

// readTexts reads an array of texts.
func readTexts(ctx context.Context, a *store.Array) (*texts, error) {
	out := &texts{}
	hasNUL := false
	err := eachText(ctx, a, func(text []byte) {
		hasNUL = hasNUL || isCut(text)
		out.elements = append(out.elements, out.heap.addText(text)...)
	})
	if err == nil && hasNUL {
		err = errCut
	}
	if isFailure(ctx, err) {
		const nowhere = 1 << 62 // no file is so large, so programs get an error
		out = &texts{heap: heap{base: nowhere}, failed: err}
		element := out.heap.add([]byte{0}, 1)
		out.heap.b = nil
		out.elements = bytes.Repeat(element, int(elements(a.Schema().Shape)))
		return out, nil
	}
	if err != nil {
		return nil, err
	}
	out.heap.close()
	return out, nil
}

// isFailure reports whether an array of texts cannot be read. The file has it all the same, and reading its values fails.
func isFailure(ctx context.Context, err error) bool {
	return err != nil && ctx.Err() == nil && !errors.Is(err, errors.ErrUnsupported)
}

// eachText calls do with each text of an array, in C order.
func eachText(ctx context.Context, a *store.Array, do func(text []byte)) error {
	schema := a.Schema()
	t := schema.DataType.Type()
	if elements(schema.Shape)*float64(varyingSize+t.Size) > maxTexts {
		return errTexts
	}
	if elements(schema.Shape) == 0 {
		return nil
	}
	r := grid.Whole(schema.Shape)
	rows := int64(1)
	if len(r.Shape) > 0 {
		if rows = r.Shape[0]; elements(r.Shape) > textRows {
			rows = max(int64(float64(rows)*textRows/elements(r.Shape)), 1)
		}
	}
	size := 0
	for at := int64(0); len(r.Shape) == 0 && at == 0 || len(r.Shape) > 0 && at < schema.Shape[0]; at += rows {
		part := r.Clone()
		if len(r.Shape) > 0 {
			part.Origin[0], part.Shape[0] = at, min(rows, schema.Shape[0]-at)
		}
		form := schema.Form(part.Shape)
		if err := form.CheckSize(); err != nil {
			return err
		}
		e := codec.NewElems(form)
		if err := a.ReadRegion(ctx, part, e); err != nil {
			return err
		}
		for _, text := range e.Var {
			size += varyingSize + len(text)
			do(text)
		}
		for i := 0; i < len(e.Fixed); i += t.Size {
			text := e.Fixed[i : i+t.Size]
			if t.Kind == codec.FixedUTF32 {
				text = fromUTF32(text)
			}
			do(text)
		}
		if size > maxTexts {
			return errTexts
		}
	}
	return nil
}

// textRows is about the number of texts that are read at once.
const textRows = 1 << 16

// fromUTF32 returns a text, in UTF-8, that is stored as code points and padded with NULs.
func fromUTF32(b []byte) (out []byte) {
	end := 0
	for i := 0; i+4 <= len(b); i += 4 {
		out = utf8.AppendRune(out, rune(binary.LittleEndian.Uint32(b[i:])))
		if b[i]|b[i+1]|b[i+2]|b[i+3] != 0 {
			end = len(out)
		}
	}
	return out[:end]
}

// move sets the address of the heap.
func (t *texts) move(begin int64) {
	if t.failed != nil {
		return
	}
	for i := 0; i < len(t.elements); i += varyingSize {
		at := t.elements[i+4:]
		if binary.LittleEndian.Uint32(t.elements[i+12:]) != 0 {
			binary.LittleEndian.PutUint64(at, binary.LittleEndian.Uint64(at)-uint64(t.heap.base)+uint64(begin))
		}
	}
	t.heap.base = begin
}

func (t *texts) readHeap(_ context.Context, b []byte, off int64) error {
	copy(b, t.heap.b[off:])
	return nil
}
