package icechunk

import (
	"encoding/binary"
	"slices"

	"varve/readers/icechunk/file"
)

// value is the content of a table field: one of the types below, or nil for an absent field.
type value interface{ size() int }

type (
	u8        uint8
	u16       uint16
	u32       uint32
	u64       uint64
	structure []byte       // a struct of bytes
	text      string       // a string, followed by a NUL
	bytesOf   []byte       // a vector of bytes
	flags     []uint16     // a vector of numbers
	packed    packedVector // a vector of structs
	tables    []fields     // a vector of tables
	texts     []string     // a vector of strings
	later     int          // a vector of offsets that the caller sets
	fields    []value      // a table, its fields by number
)

// packedVector is a vector of n structs, which consist of bytes or 4-byte numbers.
type packedVector struct {
	n    int
	data []byte
}

func (u8) size() int          { return 1 }
func (u16) size() int         { return 2 }
func (u32) size() int         { return 4 }
func (u64) size() int         { return 8 }
func (s structure) size() int { return len(s) }
func (text) size() int        { return offsetSize }
func (bytesOf) size() int     { return offsetSize }
func (flags) size() int       { return offsetSize }
func (packed) size() int      { return offsetSize }
func (tables) size() int      { return offsetSize }
func (later) size() int       { return offsetSize }
func (texts) size() int       { return offsetSize }
func (fields) size() int      { return offsetSize }

const offsetSize = 4

// build returns a buffer whose root is the given table. It writes each table before the objects that its
// fields refer to, because FlatBuffers offsets point forward.
func build(root fields) []byte {
	b := builder{data: append(make([]byte, offsetSize, 1024), file.Identifier...)}
	b.point(0, root)
	return b.data
}

type builder struct{ data []byte }

// align pads with zeros so that the position after n more bytes is a multiple of size.
func (b *builder) align(size, n int) {
	for (len(b.data)+n)%size != 0 {
		b.data = append(b.data, 0)
	}
}

func (b *builder) u32(v int) { b.data = binary.LittleEndian.AppendUint32(b.data, uint32(v)) }

// point writes the object of a value and stores the distance to it at offset.
func (b *builder) point(offset int, v value) {
	at := b.target(v)
	binary.LittleEndian.PutUint32(b.data[offset:], uint32(at-offset))
}

// target writes the object of a value and returns its position.
func (b *builder) target(v value) int {
	switch v := v.(type) {
	case text:
		return b.vector(len(v), append([]byte(v), 0))
	case bytesOf:
		return b.vector(len(v), v)
	case packed:
		return b.vector(v.n, v.data)
	case later:
		return b.vector(int(v), make([]byte, offsetSize*int(v)))
	case flags:
		data := make([]byte, 0, 2*len(v))
		for _, flag := range v {
			data = binary.LittleEndian.AppendUint16(data, flag)
		}
		return b.vector(len(v), data)
	case tables:
		at := b.vector(len(v), make([]byte, offsetSize*len(v)))
		for i, t := range v {
			b.point(at+offsetSize*(i+1), t)
		}
		return at
	case texts:
		at := b.vector(len(v), make([]byte, offsetSize*len(v)))
		for i, s := range v {
			b.point(at+offsetSize*(i+1), text(s))
		}
		return at
	case fields:
		return b.table(v)
	}
	return 0
}

func (b *builder) vector(n int, data []byte) int {
	b.align(offsetSize, 0)
	at := len(b.data)
	b.u32(n)
	b.data = append(b.data, data...)
	return at
}

// table writes a vtable, then the table with its largest fields first, then the objects that its fields refer
// to.
func (b *builder) table(t fields) int {
	vtable := len(b.data) + len(b.data)%2
	b.align(2, 0)
	b.data = append(b.data, make([]byte, 4+2*len(t))...)
	b.align(8, offsetSize) // fields of 8 bytes come first, after the 4-byte distance to the vtable
	at := len(b.data)
	b.u32(at - vtable)
	offsets := make([]int, len(t))
	// Descending sizes keep every field aligned without padding.
	for _, size := range []int{8, 4, 2, 1} {
		for i, v := range t {
			if v != nil && offsets[i] == 0 && alignment(v) == size {
				offsets[i] = len(b.data) - at
				b.inline(v)
			}
		}
	}
	binary.LittleEndian.PutUint16(b.data[vtable:], uint16(4+2*len(t)))
	binary.LittleEndian.PutUint16(b.data[vtable+2:], uint16(len(b.data)-at))
	for i, offset := range offsets {
		binary.LittleEndian.PutUint16(b.data[vtable+4+2*i:], uint16(offset))
	}
	for i, v := range t {
		if v != nil && isOffset(v) {
			b.point(at+offsets[i], v)
		}
	}
	return at
}

// alignment returns the size of the numbers in a field.
func alignment(v value) int {
	if _, ok := v.(structure); ok {
		return 1
	}
	return v.size()
}

func isOffset(v value) bool {
	switch v.(type) {
	case u8, u16, u32, u64, structure:
		return false
	}
	return true
}

// inline writes the part of a value that is stored in the table itself.
func (b *builder) inline(v value) {
	switch v := v.(type) {
	case u8:
		b.data = append(b.data, byte(v))
	case u16:
		b.data = binary.LittleEndian.AppendUint16(b.data, uint16(v))
	case u32:
		b.u32(int(v))
	case u64:
		b.data = binary.LittleEndian.AppendUint64(b.data, uint64(v))
	case structure:
		b.data = append(b.data, v...)
	default:
		// A placeholder for an offset that point sets.
		b.data = append(b.data, 0, 0, 0, 0)
	}
}

// orNone returns nil, an absent field, if the list is nil, and v otherwise.
func orNone[T ~[]E, E any](list T, v value) value {
	if list == nil {
		return nil
	}
	return v
}

// sorted returns a packed vector of the sorted node ids.
func sorted(ids []nodeID) packed {
	ids = slices.Clone(ids)
	slices.SortFunc(ids, func(a, b nodeID) int { return slices.Compare(a[:], b[:]) })
	v := packed{n: len(ids)}
	for _, id := range ids {
		v.data = append(v.data, id[:]...)
	}
	return v
}
