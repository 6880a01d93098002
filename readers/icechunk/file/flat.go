package file

import (
	"encoding/binary"
	"errors"
	"fmt"

	"varve/readers"
)

// Buffer is an untrusted FlatBuffers buffer. It checks every offset: data outside the buffer read
// as absent, and Err reports that. The generated code of the FlatBuffers library would panic, and
// the Go library has no verifier.
//
//	root offset(4) "Ichk"
//	table   distance back to its vtable(4)  fields…
//	vtable  size(2) size of the table(2)    offset of each field in the table(2), 0: absent
//	vector  number of elements(4)           elements, or offsets(4) to them
type Buffer struct {
	data    []byte
	version uint8
	err     error
}

// NewBuffer returns the buffer in unpacked bytes.
func NewBuffer(data []byte) *Buffer { return &Buffer{data: data} }

// Bytes returns the bytes of the buffer.
func (b *Buffer) Bytes() []byte { return b.data }

// Version returns the format version of the file.
func (b *Buffer) Version() uint8 { return b.version }

// Err returns the first error.
func (b *Buffer) Err() error { return b.err }

// Fail records an error, unless there is one already.
func (b *Buffer) Fail(err error) {
	if b.err == nil {
		b.err = err
	}
}

// Identifier is the file identifier of the schemas.
const Identifier = "Ichk"

func (b *Buffer) outside(at uint64, what string) {
	if b.err == nil {
		b.err = readers.Corruptf("FlatBuffers: %s at byte %d is outside the buffer of %d bytes", what, at, len(b.data))
	}
}

// at returns n bytes, or zeros if they are outside the buffer.
func (b *Buffer) at(pos, n uint64, what string) []byte {
	if size := uint64(len(b.data)); b.err == nil && pos <= size && n <= size-pos {
		return b.data[pos : pos+n : pos+n]
	}
	b.outside(pos, what)
	return make([]byte, min(n, 16))
}

func (b *Buffer) u16(pos uint64) uint64 {
	return uint64(binary.LittleEndian.Uint16(b.at(pos, 2, "a number")))
}
func (b *Buffer) u32(pos uint64) uint64 {
	return uint64(binary.LittleEndian.Uint32(b.at(pos, 4, "a number")))
}
func (b *Buffer) u64(pos uint64) uint64 { return binary.LittleEndian.Uint64(b.at(pos, 8, "a number")) }

// Root returns the outermost table.
func (b *Buffer) Root() Table {
	if string(b.at(4, 4, "the identifier")) != Identifier {
		b.Fail(readers.Corruptf("FlatBuffers: identifier is not %q", Identifier))
	}
	return b.table(0)
}

// Table is a table of a buffer. A table without fields is absent.
type Table struct {
	b      *Buffer
	pos    uint64
	vtable uint64
	fields int
}

// table returns the table that the offset at a position leads to.
func (b *Buffer) table(offset uint64) Table {
	t := Table{b: b, pos: offset + b.u32(offset)}
	vtable := int64(t.pos) - int64(int32(b.u32(t.pos)))
	if vtable < 0 {
		b.outside(t.pos, "a vtable")
		return Table{b: b}
	}
	t.vtable = uint64(vtable)
	if size := b.u16(t.vtable); size >= 4 {
		b.at(t.vtable, size, "a vtable")
		t.fields = int(size-4) / 2
	}
	if b.err != nil {
		return Table{b: b}
	}
	return t
}

// Err returns the first error of the buffer.
func (t Table) Err() error { return t.b.err }

// Fail records an error, unless there is one already.
func (t Table) Fail(err error) { t.b.Fail(err) }

// field returns the position of a field, or 0 if it is absent.
func (t Table) field(n int) uint64 {
	if n >= t.fields {
		return 0
	}
	if at := t.b.u16(t.vtable + 4 + 2*uint64(n)); at > 0 {
		return t.pos + at
	}
	return 0
}

// Has reports whether a field is present.
func (t Table) Has(n int) bool { return t.field(n) > 0 }

// Known records an error if a table has more than the first n fields, because a copy of it would
// lose the unknown ones.
func (t Table) Known(what string, n int) {
	for ; n < t.fields; n++ {
		if t.Has(n) {
			t.Fail(fmt.Errorf("%s has field %d of a later version of Icechunk: %w", what, n, errors.ErrUnsupported))
		}
	}
}

// U8 returns a number, or 0 if it is absent.
func (t Table) U8(n int) uint8 {
	if at := t.field(n); at > 0 {
		return t.b.at(at, 1, "a number")[0]
	}
	return 0
}

// U16 returns a number, or 0 if it is absent.
func (t Table) U16(n int) uint16 {
	if at := t.field(n); at > 0 {
		return uint16(t.b.u16(at))
	}
	return 0
}

// U32 returns a number, or 0 if it is absent.
func (t Table) U32(n int) uint32 {
	if at := t.field(n); at > 0 {
		return uint32(t.b.u32(at))
	}
	return 0
}

// U64 returns a number, or 0 if it is absent.
func (t Table) U64(n int) uint64 {
	if at := t.field(n); at > 0 {
		return t.b.u64(at)
	}
	return 0
}

// Struct returns the bytes of a struct, or nil if it is absent.
func (t Table) Struct(n int, size uint64) []byte {
	at := t.field(n)
	if at == 0 {
		return nil
	}
	bytes := t.b.at(at, size, "a struct")
	if t.b.err != nil {
		return nil
	}
	return bytes
}

// Structs returns the bytes of a vector of structs, or nil if it is absent.
func (t Table) Structs(n int, size uint64) []byte {
	v := t.Vector(n, size)
	if !v.There {
		return nil
	}
	return t.b.at(v.pos, size*v.N, "a vector")
}

// Bytes returns a vector of bytes, or a string, or nil if it is absent.
func (t Table) Bytes(n int) []byte { return t.Structs(n, 1) }

// Text returns a string, or "" if it is absent.
func (t Table) Text(n int) string { return string(t.Bytes(n)) }

// Inner returns a table in a field; an absent one has no fields.
func (t Table) Inner(n int) Table {
	if at := t.field(n); at > 0 {
		return t.b.table(at)
	}
	return Table{b: t.b}
}

// Vector is a vector of a buffer.
type Vector struct {
	N     uint64 // elements
	There bool   // false: absent, which differs from empty

	b   *Buffer
	pos uint64 // position of the first element
}

// Vector returns a vector of elements of a size. All of them are inside the buffer.
func (t Table) Vector(n int, size uint64) Vector {
	at := t.field(n)
	if at == 0 {
		return Vector{b: t.b}
	}
	at += t.b.u32(at)
	v := Vector{b: t.b, pos: at + 4, N: t.b.u32(at), There: true}
	if left := uint64(len(t.b.data)); t.b.err != nil || v.pos > left || v.N > (left-v.pos)/size {
		t.b.outside(at, "a vector")
		return Vector{b: t.b}
	}
	return v
}

// Table returns an element that is a table.
func (v Vector) Table(i uint64) Table { return v.b.table(v.pos + 4*i) }

// Text returns an element that is a string.
func (v Vector) Text(i uint64) string {
	at := v.pos + 4*i
	at += v.b.u32(at)
	return string(v.b.at(at+4, v.b.u32(at), "a string"))
}

// U32 returns a number of four bytes.
func (v Vector) U32(i uint64) uint64 { return v.b.u32(v.pos + 4*i) }

// Each calls do with the tables of a vector, and stops at an error.
func (v Vector) Each(do func(Table)) {
	for i := range v.N {
		if v.b.err != nil {
			return
		}
		do(v.Table(i))
	}
}

// U16s returns a vector of numbers, or nil if it is absent.
func (t Table) U16s(n int) []uint16 {
	v := t.Vector(n, 2)
	if !v.There {
		return nil
	}
	out := make([]uint16, v.N)
	for i := range out {
		out[i] = uint16(v.b.u16(v.pos + 2*uint64(i)))
	}
	return out
}
