package hdf5

import (
	"bytes"
	"context"
	"encoding/binary"

	"varve/readers"
	"varve/readers/internal/byteswap"
)

// Canonical appends stored elements in memory form: numbers little-endian with all their bytes,
// strings and opaque bytes as stored, references as the 8-byte address of the object (a region
// reference adds a 4-byte index), compounds by offset without gaps, and data of varying length as
// an 8-byte count and the elements.
func (f *File) Canonical(ctx context.Context, dst []byte, t *readers.Type, stored []byte) ([]byte, error) {
	e := f.encoder(ctx)
	dst = e.appendAll(dst, t, stored, 0)
	return dst, f.locate("", e.err)
}

// encoder converts stored elements to memory form. It keeps the first error.
type encoder struct {
	f      *File
	ctx    context.Context
	budget uint64 // bytes that may still be read from heaps
	err    error
}

// encoder returns an encoder that reads at most as many bytes from heaps as the file has. Every
// element of varying length has its own bytes in the heap, so valid files stay below this.
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

// appendAll appends all elements in stored.
func (e *encoder) appendAll(dst []byte, t *readers.Type, stored []byte, depth int) []byte {
	if depth > maxValueDepth {
		e.fail("value: nested more than %d levels deep", maxValueDepth)
		return dst
	}
	if len(dst) > maxCanonical {
		if e.err == nil {
			e.err = unsupported("values take more than %d bytes", maxCanonical)
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
		byteswap.Elements(dst[n:], t.Size)
	}
	return dst
}

// place reads the address of a global heap collection and the index of an object in it.
func (e *encoder) place(b []byte) (addr uint64, index int) {
	n := e.f.super.offsets
	return littleAddress(b[:n]), int(binary.LittleEndian.Uint32(b[n:]))
}

// memoryReference is the size in memory of a reference of HDF5 1.12. libhdf5 allocates this much of
// the global heap per reference in a sequence, but stores the references consecutively in their
// size in the file.
const memoryReference = 64

// varlen returns the count and the stored elements of one value of varying length: a count (4
// bytes), then the address and the index of its object in the global heap.
func (e *encoder) varlen(t *readers.Type, one []byte) (uint64, []byte) {
	n := uint64(binary.LittleEndian.Uint32(one))
	addr, index := e.place(one[4:])
	// Address 0 marks an empty value.
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
		e.fail("value: %d elements of %d bytes do not match the global heap object of %d bytes", n, size, len(b))
		return 0, nil
	}
	if n*size > e.budget {
		e.fail("value: elements of varying length take more bytes than the file has")
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
			e.fail("value: region reference of %d bytes is too short", len(one))
			return dst
		}
		dst = binary.LittleEndian.AppendUint64(dst, littleSize(one[:n]))
		return append(dst, one[n:n+4]...)
	}
	return e.appendAnyReference(dst, one)
}

// appendAnyReference decodes a reference of HDF5 1.12: kind (1), flags (1), then the size of the
// object's token (1) and the token; or, for other kinds and external references, a size (4) and the
// position of these in the global heap.
func (e *encoder) appendAnyReference(dst, one []byte) []byte {
	c := e.f.newCursor(one, 0)
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
			e.fail("value: target of a reference cannot be read: %w", err)
			return dst
		}
		c = e.f.newCursor(b, addr)
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

// Stored returns the attribute's value as stored.
func (a *Attribute) Stored() []byte { return a.data }

// References returns the addresses of objects in an attribute of references or of sequences of
// references: one list per element.
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
				list = append(list, littleAddress(b[:f.super.offsets])) // libhdf5 leaves the rest uninitialized
			}
		}
		out = append(out, list)
	}
	return out, e.err
}
