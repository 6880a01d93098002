package icechunk

import (
	"encoding/binary"

	"varve/readers"
)

// flat is a FlatBuffers buffer from elsewhere. No offset in it is believed: what lies
// outside reads as absent, and err says so. The generated code of the FlatBuffers library
// would panic there, and its verifier is not part of the Go library.
//
//	root offset(4) "Ichk"
//	table   distance back to its vtable(4)  fields…
//	vtable  size(2) size of the table(2)    place of each field in the table(2), 0: absent
//	vector  number of elements(4)           elements, or offsets(4) to them
type flat struct {
	data []byte
	err  error
}

const identifier = "Ichk"

func (f *flat) fail(at uint64, what string) {
	if f.err == nil {
		f.err = readers.Corruptf("FlatBuffers: %s at byte %d does not lie in the %d bytes there are", what, at, len(f.data))
	}
}

// at returns n bytes, or zeros if they are not there.
func (f *flat) at(pos, n uint64, what string) []byte {
	if size := uint64(len(f.data)); f.err == nil && pos <= size && n <= size-pos {
		return f.data[pos : pos+n : pos+n]
	}
	f.fail(pos, what)
	return make([]byte, min(n, 16))
}

func (f *flat) u16(pos uint64) uint64 {
	return uint64(binary.LittleEndian.Uint16(f.at(pos, 2, "a number")))
}
func (f *flat) u32(pos uint64) uint64 {
	return uint64(binary.LittleEndian.Uint32(f.at(pos, 4, "a number")))
}
func (f *flat) u64(pos uint64) uint64 { return binary.LittleEndian.Uint64(f.at(pos, 8, "a number")) }

// root returns the outermost table.
func (f *flat) root() table {
	if string(f.at(4, 4, "the identifier")) != identifier && f.err == nil {
		f.err = readers.Corruptf("FlatBuffers: the identifier is not %q", identifier)
	}
	return f.table(0)
}

// table is a table of a buffer. One without fields is absent.
type table struct {
	f      *flat
	pos    uint64
	vtable uint64
	fields uint64
}

// table returns the table that the offset at a place leads to.
func (f *flat) table(offset uint64) table {
	t := table{f: f, pos: offset + f.u32(offset)}
	back := int64(int32(f.u32(t.pos)))
	vtable := int64(t.pos) - back
	if vtable < 0 {
		f.fail(t.pos, "a vtable")
		return table{f: f}
	}
	t.vtable = uint64(vtable)
	if size := f.u16(t.vtable); size >= 4 {
		f.at(t.vtable, size, "a vtable")
		t.fields = (size - 4) / 2
	}
	if f.err != nil {
		return table{f: f}
	}
	return t
}

// field returns where a field is, or 0 if it is absent.
func (t table) field(n uint64) uint64 {
	if n >= t.fields {
		return 0
	}
	at := t.f.u16(t.vtable + 4 + 2*n)
	if at == 0 {
		return 0
	}
	return t.pos + at
}

func (t table) u8(n uint64, absent uint8) uint8 {
	if at := t.field(n); at > 0 {
		return t.f.at(at, 1, "a number")[0]
	}
	return absent
}

func (t table) u32(n uint64) uint64 {
	if at := t.field(n); at > 0 {
		return t.f.u32(at)
	}
	return 0
}

func (t table) u64(n uint64) uint64 {
	if at := t.field(n); at > 0 {
		return t.f.u64(at)
	}
	return 0
}

// structure returns the bytes of a struct, or nil if it is absent.
func (t table) structure(n, size uint64) []byte {
	at := t.field(n)
	if at == 0 {
		return nil
	}
	b := t.f.at(at, size, "a struct")
	if t.f.err != nil {
		return nil
	}
	return b
}

// bytes returns a vector of bytes, or a string, or nil if it is absent.
func (t table) bytes(n uint64) []byte {
	v := t.vector(n, 1)
	if !v.there {
		return nil
	}
	return t.f.at(v.pos, v.n, "a vector")
}

// inner returns a table in a table; an absent one has no fields.
func (t table) inner(n uint64) table {
	at := t.field(n)
	if at == 0 {
		return table{f: t.f}
	}
	return t.f.table(at)
}

// vector is a vector of a buffer.
type vector struct {
	f     *flat
	pos   uint64 // of the first element
	n     uint64
	there bool
}

// vector returns a vector of elements of a size, all of which lie in the buffer.
func (t table) vector(n, size uint64) vector {
	at := t.field(n)
	if at == 0 {
		return vector{f: t.f}
	}
	at += t.f.u32(at)
	v := vector{f: t.f, pos: at + 4, n: t.f.u32(at), there: true}
	if left := uint64(len(t.f.data)); t.f.err != nil || v.pos > left || v.n > (left-v.pos)/size {
		t.f.fail(at, "a vector")
		return vector{f: t.f}
	}
	return v
}

// table returns an element that is a table.
func (v vector) table(i uint64) table { return v.f.table(v.pos + 4*i) }

// u32 returns an element that is a number.
func (v vector) u32(i uint64) uint64 { return v.f.u32(v.pos + 4*i) }
