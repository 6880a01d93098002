package thrift

import "encoding/binary"

// Writer appends structs to Out. Fields have to come in the order of their ids.
type Writer struct {
	Out  []byte
	last []int16 // the id of the last field, for each struct that is open
}

// Begin begins a struct that is an element of a list, or all there is.
func (t *Writer) Begin() { t.last = append(t.last, 0) }

// End ends a struct.
func (t *Writer) End() {
	t.Out = append(t.Out, stop)
	t.last = t.last[:len(t.last)-1]
}

// field writes the head of a field. All ids here are less than 16 behind the one before.
func (t *Writer) field(id int16, kind byte) {
	last := &t.last[len(t.last)-1]
	t.Out = append(t.Out, byte(id-*last)<<4|kind)
	*last = id
}

// Varint writes an integer that is no field but an element.
func (t *Writer) Varint(n int64) { t.Out = binary.AppendVarint(t.Out, n) }

// I32 writes a field.
func (t *Writer) I32(id int16, n int32) {
	t.field(id, I32)
	t.Varint(int64(n))
}

// I64 writes a field.
func (t *Writer) I64(id int16, n int64) {
	t.field(id, I64)
	t.Varint(n)
}

// True writes a field that is true.
func (t *Writer) True(id int16) { t.field(id, True) }

// Text writes a field.
func (t *Writer) Text(id int16, s string) {
	t.field(id, Binary)
	t.Bare(s)
}

// Bare writes a text that is no field but an element.
func (t *Writer) Bare(s string) {
	t.Out = append(binary.AppendUvarint(t.Out, uint64(len(s))), s...)
}

// Struct begins a field that is a struct.
func (t *Writer) Struct(id int16) {
	t.field(id, Struct)
	t.Begin()
}

// Empty writes a field that is a struct without fields.
func (t *Writer) Empty(id int16) {
	t.Struct(id)
	t.End()
}

// List begins a field that is a list. Elements that are structs stand between Begin and End.
func (t *Writer) List(id int16, kind byte, n int) {
	t.field(id, List)
	if n < 15 {
		t.Out = append(t.Out, byte(n)<<4|kind)
		return
	}
	t.Out = binary.AppendUvarint(append(t.Out, 0xf0|kind), uint64(n))
}
