package parquet

import "encoding/binary"

// thriftWriter writes Thrift's compact protocol. Fields have to come in the order of their ids.
type thriftWriter struct {
	buf  []byte
	last []int16 // the id of the last field, for each struct that is open
}

// The types of Thrift's compact protocol.
const (
	stopType   = 0
	trueType   = 1
	falseType  = 2
	i8Type     = 3
	i16Type    = 4
	i32Type    = 5
	i64Type    = 6
	doubleType = 7
	binaryType = 8
	listType   = 9
	setType    = 10
	mapType    = 11
	structType = 12
)

func (t *thriftWriter) begin() { t.last = append(t.last, 0) }

func (t *thriftWriter) end() {
	t.buf = append(t.buf, stopType)
	t.last = t.last[:len(t.last)-1]
}

// field writes the head of a field. All ids here are less than 16 behind the one before.
func (t *thriftWriter) field(id int16, kind byte) {
	last := &t.last[len(t.last)-1]
	t.buf = append(t.buf, byte(id-*last)<<4|kind)
	*last = id
}

func (t *thriftWriter) varint(n int64) { t.buf = binary.AppendVarint(t.buf, n) }

func (t *thriftWriter) i32(id int16, n int32) {
	t.field(id, i32Type)
	t.varint(int64(n))
}

func (t *thriftWriter) i64(id int16, n int64) {
	t.field(id, i64Type)
	t.varint(n)
}

func (t *thriftWriter) truth(id int16) { t.field(id, trueType) }

func (t *thriftWriter) text(id int16, s string) {
	t.field(id, binaryType)
	t.bare(s)
}

// bare writes a text that is no field but an element.
func (t *thriftWriter) bare(s string) {
	t.buf = append(binary.AppendUvarint(t.buf, uint64(len(s))), s...)
}

// structure opens a field that is a struct.
func (t *thriftWriter) structure(id int16) {
	t.field(id, structType)
	t.begin()
}

// empty writes a field that is a struct without fields.
func (t *thriftWriter) empty(id int16) {
	t.structure(id)
	t.end()
}

// list opens a field that is a list. Elements that are structs stand between begin and end.
func (t *thriftWriter) list(id int16, kind byte, n int) {
	t.field(id, listType)
	if n < 15 {
		t.buf = append(t.buf, byte(n)<<4|kind)
		return
	}
	t.buf = binary.AppendUvarint(append(t.buf, 0xf0|kind), uint64(n))
}
