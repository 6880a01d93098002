package thrift

import "encoding/binary"

// Writer appends structs to Out. Fields must be written in the order of their ids.
type Writer struct {
	Out  []byte
	last []int16 // id of the last field, for each open struct
}

// Begin starts a struct that is an element of a list, or the outermost one.
func (t *Writer) Begin() { t.last = append(t.last, 0) }

// End ends a struct.
func (t *Writer) End() {
	t.Out = append(t.Out, stop)
	t.last = t.last[:len(t.last)-1]
}

// field writes the header of a field. Its id must be less than 16 above the previous one.
func (t *Writer) field(id int16, kind byte) {
	last := &t.last[len(t.last)-1]
	t.Out = append(t.Out, byte(id-*last)<<4|kind)
	*last = id
}

// Varint writes an integer that is an element of a list.
func (t *Writer) Varint(n int64) { t.Out = binary.AppendVarint(t.Out, n) }

// I32 writes a 32-bit integer field.
func (t *Writer) I32(id int16, n int32) {
	t.field(id, I32)
	t.Varint(int64(n))
}

// I64 writes a 64-bit integer field.
func (t *Writer) I64(id int16, n int64) {
	t.field(id, I64)
	t.Varint(n)
}

// True writes a boolean field that is true.
func (t *Writer) True(id int16) { t.field(id, True) }

// Text writes a binary field.
func (t *Writer) Text(id int16, s string) {
	t.field(id, Binary)
	t.Bare(s)
}

// Bare writes a text that is an element of a list.
func (t *Writer) Bare(s string) {
	t.Out = append(binary.AppendUvarint(t.Out, uint64(len(s))), s...)
}

// Struct starts a field that is a struct.
func (t *Writer) Struct(id int16) {
	t.field(id, Struct)
	t.Begin()
}

// Empty writes a field that is a struct without fields.
func (t *Writer) Empty(id int16) {
	t.Struct(id)
	t.End()
}

// List starts a field that is a list of n elements. Write structs in it between Begin and End.
func (t *Writer) List(id int16, kind byte, n int) {
	t.field(id, List)
	if n < 15 {
		t.Out = append(t.Out, byte(n)<<4|kind)
		return
	}
	t.Out = binary.AppendUvarint(append(t.Out, 0xf0|kind), uint64(n))
}
