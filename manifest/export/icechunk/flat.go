package icechunk

import (
	"encoding/binary"
)

// flat is a FlatBuffers buffer of a repository that may have been written by anybody. No
// offset in it is believed: what lies outside reads as absent, and err says so.
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
		f.err = corruptf("FlatBuffers: %s at byte %d does not lie in the %d bytes there are", what, at, len(f.data))
	}
}

// at returns n bytes, or zeros if they are not there.
func (f *flat) at(pos, n uint64) []byte {
	if size := uint64(len(f.data)); f.err == nil && pos <= size && n <= size-pos {
		return f.data[pos : pos+n : pos+n]
	}
	f.fail(pos, "a field")
	return make([]byte, min(n, 16))
}

func (f *flat) u16(pos uint64) uint64 { return uint64(binary.LittleEndian.Uint16(f.at(pos, 2))) }
func (f *flat) u32(pos uint64) uint64 { return uint64(binary.LittleEndian.Uint32(f.at(pos, 4))) }
func (f *flat) u64(pos uint64) uint64 { return binary.LittleEndian.Uint64(f.at(pos, 8)) }

// root returns the outermost table.
func (f *flat) root() flatTable {
	if string(f.at(4, 4)) != identifier && f.err == nil {
		f.err = corruptf("FlatBuffers: the identifier is not %q", identifier)
	}
	return f.table(0)
}

// flatTable is a table of a buffer. One without fields is absent.
type flatTable struct {
	f      *flat
	pos    uint64
	vtable uint64
	fields int
}

// table returns the table that the offset at a place leads to.
func (f *flat) table(offset uint64) flatTable {
	t := flatTable{f: f, pos: offset + f.u32(offset)}
	vtable := int64(t.pos) - int64(int32(f.u32(t.pos)))
	if vtable < 0 {
		f.fail(t.pos, "a vtable")
		return flatTable{f: f}
	}
	t.vtable = uint64(vtable)
	if size := f.u16(t.vtable); size >= 4 {
		f.at(t.vtable, size)
		t.fields = int(size-4) / 2
	}
	if f.err != nil {
		return flatTable{f: f}
	}
	return t
}

// field returns where a field is, or 0 if it is absent.
func (t flatTable) field(n int) uint64 {
	if n >= t.fields {
		return 0
	}
	if at := t.f.u16(t.vtable + 4 + 2*uint64(n)); at > 0 {
		return t.pos + at
	}
	return 0
}

// known fails for a table that has more than the first n fields: whoever copies it would
// lose what it does not know.
func (t flatTable) known(what string, n int) {
	for ; n < t.fields; n++ {
		if t.field(n) > 0 && t.f.err == nil {
			t.f.err = newerf("%s has field %d, which came with a later version of Icechunk", what, n)
		}
	}
}

func (t flatTable) u8(n int) uint8 {
	if at := t.field(n); at > 0 {
		return t.f.at(at, 1)[0]
	}
	return 0
}

func (t flatTable) u32(n int) uint32 {
	if at := t.field(n); at > 0 {
		return uint32(t.f.u32(at))
	}
	return 0
}

func (t flatTable) u64(n int) uint64 {
	if at := t.field(n); at > 0 {
		return t.f.u64(at)
	}
	return 0
}

// structure returns the bytes of a struct, or zeros if it is absent.
func (t flatTable) structure(n int, size uint64) []byte {
	if at := t.field(n); at > 0 {
		return t.f.at(at, size)
	}
	return make([]byte, size)
}

func (t flatTable) object(n int) (id objectID) { copy(id[:], t.structure(n, 12)); return id }

func (t flatTable) node(n int) (id nodeID) { copy(id[:], t.structure(n, 8)); return id }

// bytes returns a vector of bytes, or nil if it is absent.
func (t flatTable) bytes(n int) []byte {
	v := t.vector(n, 1)
	if !v.there {
		return nil
	}
	return t.f.at(v.pos, v.n)
}

func (t flatTable) text(n int) string { return string(t.bytes(n)) }

// inner returns a table in a table; an absent one has no fields.
func (t flatTable) inner(n int) flatTable {
	if at := t.field(n); at > 0 {
		return t.f.table(at)
	}
	return flatTable{f: t.f}
}

// vector is a vector of a buffer.
type vector struct {
	f     *flat
	pos   uint64 // of the first element
	n     uint64
	there bool
}

// vector returns a vector of elements of a size, all of which lie in the buffer.
func (t flatTable) vector(n int, size uint64) vector {
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
func (v vector) table(i uint64) flatTable { return v.f.table(v.pos + 4*i) }

// text returns an element that is a string.
func (v vector) text(i uint64) string {
	at := v.pos + 4*i
	at += v.f.u32(at)
	return string(v.f.at(at+4, v.f.u32(at)))
}

// each calls do with the tables of a vector until something is wrong with the buffer.
func (v vector) each(do func(flatTable)) {
	for i := range v.n {
		if v.f.err != nil {
			return
		}
		do(v.table(i))
	}
}

// u16s returns a vector of numbers, nil if it is absent.
func (t flatTable) u16s(n int) []uint16 {
	v := t.vector(n, 2)
	if !v.there {
		return nil
	}
	out := make([]uint16, v.n)
	for i := range out {
		out[i] = uint16(v.f.u16(v.pos + 2*uint64(i)))
	}
	return out
}
