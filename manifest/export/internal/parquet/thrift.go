package parquet

import "encoding/binary"

// The types of fields in Thrift's compact protocol.
const (
	int32Field  = 5
	int64Field  = 6
	binaryField = 8
	listField   = 9
	structField = 12
)

// thrift appends structs in the compact protocol: a byte of 16 times the distance from the
// last field's id and the type, the value; 0 ends a struct. Integers are zigzag varints.
type thrift struct {
	out  []byte
	last []byte // ids of the last fields, the innermost struct's at the end
}

func newThrift(out []byte) *thrift { return &thrift{out: out, last: []byte{0}} }

func (t *thrift) field(id, kind byte) {
	top := len(t.last) - 1
	t.out = append(t.out, (id-t.last[top])<<4|kind)
	t.last[top] = id
}

func (t *thrift) varint(v int64) { t.out = binary.AppendVarint(t.out, v) }

func (t *thrift) int32(id byte, v int64) {
	t.field(id, int32Field)
	t.varint(v)
}

func (t *thrift) int64(id byte, v int64) {
	t.field(id, int64Field)
	t.varint(v)
}

func (t *thrift) text(id byte, v string) {
	t.field(id, binaryField)
	t.string(v)
}

func (t *thrift) string(v string) {
	t.out = binary.AppendUvarint(t.out, uint64(len(v)))
	t.out = append(t.out, v...)
}

func (t *thrift) list(id, kind byte, n int) {
	t.field(id, listField)
	if n < 15 {
		t.out = append(t.out, byte(n)<<4|kind)
		return
	}
	t.out = append(t.out, 15<<4|kind)
	t.out = binary.AppendUvarint(t.out, uint64(n))
}

// begin begins a struct that is an element of a list; end ends one.
func (t *thrift) begin() { t.last = append(t.last, 0) }

func (t *thrift) beginField(id byte) {
	t.field(id, structField)
	t.begin()
}

func (t *thrift) end() {
	t.out = append(t.out, 0)
	t.last = t.last[:len(t.last)-1]
}
