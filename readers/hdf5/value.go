package hdf5

import (
	"bytes"
	"context"
	"encoding/binary"

	"varve/readers"
)

// Canonical appends elements, given as they are stored, in canonical form: numbers
// little-endian with all their bytes, strings and opaque bytes as stored, references as
// the 8-byte address of the object (region references followed by a 4-byte index),
// compounds by offset without gaps, varying lengths as an 8-byte count and the elements.
func (f *File) Canonical(ctx context.Context, dst []byte, t *readers.Type, stored []byte) ([]byte, error) {
	e := f.encoder(ctx)
	dst = e.appendAll(dst, t, stored, 0)
	return dst, f.locate("", e.err)
}

// encoder brings elements into canonical form. It keeps the first error.
type encoder struct {
	f      *File
	ctx    context.Context
	budget uint64 // bytes that may still come out of heaps
	err    error
}

// encoder returns an encoder that takes no more out of heaps than the file has: elements of
// varying length each have their own part of it.
func (f *File) encoder(ctx context.Context) *encoder {
	return &encoder{f: f, ctx: ctx, budget: uint64(f.end)}
}

const (
	maxCanonical  = 128 << 20
	maxValueDepth = 2 * maxTypeDepth
)

func (e *encoder) fail(format string, args ...any) {
	if e.err == nil {
		e.err = readers.Corruptf(format, args...)
	}
}

// appendAll appends all elements of which stored consists.
func (e *encoder) appendAll(dst []byte, t *readers.Type, stored []byte, depth int) []byte {
	if depth > maxValueDepth {
		e.fail("values are nested too deep")
		return dst
	}
	if len(dst) > maxCanonical {
		if e.err == nil {
			e.err = unsupported("values of more than %d bytes", maxCanonical)
		}
		return dst
	}
	switch t.Class {
	case readers.Integer, readers.Float, readers.Time, readers.Bitfield:
		return appendNumbers(dst, t, stored)
	case readers.String, readers.Opaque:
		return append(dst, stored...)
	case readers.Enum, readers.Array, readers.Complex:
		return e.appendAll(dst, t.Base, stored, depth+1)
	}
	var members []readers.Member
	if t.Class == readers.Compound {
		members = t.SortedMembers()
	}
	for ; len(stored) >= t.Size && e.err == nil; stored = stored[t.Size:] {
		one := stored[:t.Size]
		switch t.Class {
		case readers.Compound:
			for _, m := range members {
				dst = e.appendAll(dst, m.Type, one[m.Offset:m.Offset+m.Type.Size], depth+1)
			}
		case readers.Reference:
			dst = e.appendReference(dst, t, one)
		case readers.VarLen:
			dst = e.appendVarLen(dst, t, one, depth)
		}
	}
	return dst
}

func appendNumbers(dst []byte, t *readers.Type, stored []byte) []byte {
	n := len(dst)
	dst = append(dst, stored...)
	if t.Order == readers.BigEndian && t.Size > 1 {
		readers.SwapBytes(dst[n:], t.Size)
	}
	return dst
}

// place reads where in the global heap something is.
func (e *encoder) place(b []byte) (addr uint64, index int) {
	n := e.f.super.offsets
	return littleAddress(b[:n]), int(binary.LittleEndian.Uint32(b[n:]))
}

// memoryReference is the size in memory of a reference of HDF5 1.12. libhdf5 gives lists of them as much of the
// global heap, of which they fill the front, each of its size in the file.
const memoryReference = 64

// varlen returns the stored elements of one variable-length value, which begins with how
// many there are.
func (e *encoder) varlen(t *readers.Type, one []byte) (uint64, []byte) {
	n := uint64(binary.LittleEndian.Uint32(one))
	addr, index := e.place(one[4:])
	if addr == 0 {
		return 0, nil
	}
	b, err := e.f.heapObject(e.ctx, addr, index)
	if err != nil {
		if e.err == nil {
			e.err = err
		}
		return 0, nil
	}
	size := uint64(1)
	if !t.IsText {
		size = uint64(t.Base.Size)
	}
	inMemory := size
	if !t.IsText && t.Base.Ref == readers.AnyRef {
		inMemory = memoryReference
	}
	if held := uint64(len(b)); held != n*size && held != n*inMemory {
		e.fail("%d elements of %d bytes in an object of %d of the global heap", n, size, len(b))
		return 0, nil
	}
	if n*size > e.budget {
		e.fail("elements of varying length take more than the whole file")
		return 0, nil
	}
	e.budget -= n * size
	return n, b[:n*size]
}

func (e *encoder) appendVarLen(dst []byte, t *readers.Type, one []byte, depth int) []byte {
	n, b := e.varlen(t, one)
	if t.IsText {
		b = textOf(b)
		return append(binary.LittleEndian.AppendUint64(dst, uint64(len(b))), b...)
	}
	return e.appendAll(binary.LittleEndian.AppendUint64(dst, n), t.Base, b, depth+1)
}

// textOf cuts a string at its first NUL.
func textOf(b []byte) []byte {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		return b[:i]
	}
	return b
}

func (e *encoder) appendReference(dst []byte, t *readers.Type, one []byte) []byte {
	switch t.Ref {
	case readers.ObjectRef:
		return binary.LittleEndian.AppendUint64(dst, littleSize(one[:min(len(one), 8)]))
	case readers.RegionRef:
		n := e.f.super.offsets
		if len(one) < n+4 {
			e.fail("region reference of %d bytes", len(one))
			return dst
		}
		dst = binary.LittleEndian.AppendUint64(dst, littleSize(one[:n]))
		return append(dst, one[n:n+4]...)
	}
	return e.appendAnyReference(dst, one)
}

// appendAnyReference decodes a reference of HDF5 1.12: kind, flags, then either the
// object's token with its size in front, or the size and place of that in the global heap.
func (e *encoder) appendAnyReference(dst, one []byte) []byte {
	c := e.f.over(one, 0)
	kind, flags := c.u8(), c.u8()
	if kind == 0 && flags == 0 {
		return binary.LittleEndian.AppendUint64(dst, 0)
	}
	const external, object2 = 1, 2
	if kind != object2 || flags&external != 0 {
		c.skip(4)
		addr := c.address()
		b, err := e.f.heapObject(e.ctx, addr, c.u32())
		if err != nil || c.err != nil {
			e.fail("reference to what cannot be read: %w", err)
			return dst
		}
		c = e.f.over(b, addr)
	}
	token := c.take(min(c.u8(), 8))
	if c.err != nil {
		e.err = c.err
	}
	return binary.LittleEndian.AppendUint64(dst, littleSize(token))
}

// Texts returns the elements of a string type, without padding.
func (f *File) Texts(ctx context.Context, t *readers.Type, stored []byte) ([][]byte, error) {
	e := f.encoder(ctx)
	out := make([][]byte, 0, len(stored)/t.Size)
	for ; len(stored) >= t.Size && e.err == nil; stored = stored[t.Size:] {
		if t.Class == readers.VarLen {
			_, b := e.varlen(t, stored[:t.Size])
			out = append(out, textOf(b))
			continue
		}
		out = append(out, t.Padding.Trim(stored[:t.Size]))
	}
	return out, f.locate("", e.err)
}

// IsText reports whether the elements of a type are strings.
func IsText(t *readers.Type) bool {
	return t.Class == readers.String || t.Class == readers.VarLen && t.IsText
}

// Stored returns an attribute's value as it is stored.
func (a *Attribute) Stored() []byte { return a.data }

// References returns the addresses of objects that an attribute of references, or of lists
// of them, holds: one list an element.
func (f *File) References(ctx context.Context, a *Attribute) ([][]uint64, error) {
	e := f.encoder(ctx)
	var out [][]uint64
	for stored := a.data; len(stored) >= a.Type.Size && e.err == nil; stored = stored[a.Type.Size:] {
		base, elements := a.Type, stored[:a.Type.Size]
		if a.Type.Class == readers.VarLen {
			base = a.Type.Base
			_, elements = e.varlen(a.Type, elements)
		}
		var list []uint64
		for ; len(elements) >= base.Size; elements = elements[base.Size:] {
			b := e.appendReference(nil, base, elements[:base.Size])
			if len(b) >= 8 {
				list = append(list, littleAddress(b[:f.super.offsets])) // libhdf5 leaves the rest unset
			}
		}
		out = append(out, list)
	}
	return out, e.err
}
