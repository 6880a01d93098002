package thrift

import (
	"encoding/binary"

	"varve/readers"
)

// Reader decodes structs. After an error it reads zeros.
type Reader struct {
	data []byte
	at   int
	err  error
}

var errThrift = readers.Corruptf("Thrift: not the compact protocol, or truncated")

const maxNesting = 16

// NewReader returns a Reader of the struct at the start of data.
func NewReader(data []byte) *Reader { return &Reader{data: data} }

// Err returns the first error.
func (t *Reader) Err() error { return t.err }

// Offset returns the number of bytes read.
func (t *Reader) Offset() int { return t.at }

func (t *Reader) byte() byte {
	if t.err != nil || t.at >= len(t.data) {
		t.err = errThrift
		return 0
	}
	t.at++
	return t.data[t.at-1]
}

func (t *Reader) take(n uint64) []byte {
	if t.err != nil || n > uint64(len(t.data)-t.at) {
		t.err = errThrift
		return nil
	}
	t.at += int(n)
	return t.data[t.at-int(n) : t.at]
}

func (t *Reader) uvarint() uint64 {
	if t.err != nil {
		return 0
	}
	v, n := binary.Uvarint(t.data[t.at:])
	if n <= 0 {
		t.err = errThrift
		return 0
	}
	t.at += n
	return v
}

// Field is the header of a field.
type Field struct {
	ID   int64
	Kind byte // True, I8, …
}

// Next reads the header of the next field of a struct; f holds the previous one. It returns false
// at the end of the struct and after an error.
func (t *Reader) Next(f *Field) bool {
	b := t.byte()
	if t.err != nil || b&0xf == stop {
		return false
	}
	// Most ids are close to the previous one, so the header holds the difference.
	if delta := int64(b >> 4); delta > 0 {
		f.ID += delta
	} else {
		f.ID = t.Varint()
	}
	f.Kind = b & 0xf
	return t.err == nil
}

// Varint reads an integer that is an element of a list.
func (t *Reader) Varint() int64 {
	v := t.uvarint()
	return int64(v>>1) ^ -int64(v&1)
}

// Integer reads the value of a field that must be an integer.
func (t *Reader) Integer(f Field) int64 {
	if f.Kind < I16 || f.Kind > I64 {
		t.Fail()
		return 0
	}
	return t.Varint()
}

// Bare reads bytes that are an element of a list.
func (t *Reader) Bare() []byte { return t.take(t.uvarint()) }

// Bytes reads the value of a field that must be binary.
func (t *Reader) Bytes(f Field) []byte {
	if f.Kind != Binary {
		t.Fail()
		return nil
	}
	return t.Bare()
}

// Open checks that a field is a struct.
func (t *Reader) Open(f Field) {
	if f.Kind != Struct {
		t.Fail()
	}
}

// List reads the header of a field that must be a list of type of. Each element takes at least the
// given number of bytes, which bounds the allocation for the list.
func (t *Reader) List(f Field, of byte, least int) int {
	if f.Kind != List {
		t.Fail()
		return 0
	}
	kind, n := t.listHead()
	// Empty lists may have any element type.
	if n > 0 && kind != of || n > uint64((len(t.data)-t.at)/least) {
		t.Fail()
		return 0
	}
	return int(n)
}

func (t *Reader) listHead() (kind byte, n uint64) {
	head := t.byte()
	if n = uint64(head >> 4); n == 15 {
		n = t.uvarint()
	}
	return head & 0xf, n
}

// Check records an error, unless there is one already.
func (t *Reader) Check(err error) {
	if t.err == nil {
		t.err = err
	}
}

// Fail records that the data have an unexpected form.
func (t *Reader) Fail() {
	if t.err == nil {
		t.err = errThrift
	}
}

// Skip skips the value of a field.
func (t *Reader) Skip(f Field) { t.pass(f.Kind, 0) }

func (t *Reader) pass(kind byte, depth int) {
	if depth > maxNesting {
		t.Fail()
		return
	}
	switch kind {
	case True, False:
	case I8:
		t.byte()
	case I16, I32, I64:
		t.uvarint()
	case Double:
		t.take(8)
	case Binary:
		t.take(t.uvarint())
	case Struct:
		for f := (Field{}); t.Next(&f); {
			t.pass(f.Kind, depth+1)
		}
	case List, Set:
		of, n := t.listHead()
		t.passMany(n, depth, of)
	case Map:
		t.passMap(depth)
	default:
		t.Fail()
	}
}

func (t *Reader) passMap(depth int) {
	n := t.uvarint()
	if n == 0 {
		return
	}
	kinds := t.byte()
	t.passMany(n, depth, kinds>>4, kinds&0xf)
}

// passMany skips elements that consist of values of the given types. In lists a boolean takes a
// byte.
func (t *Reader) passMany(n uint64, depth int, kinds ...byte) {
	if n > uint64(len(t.data)-t.at) {
		t.Fail() // an element takes at least one byte
	}
	for i := uint64(0); i < n && t.err == nil; i++ {
		for _, kind := range kinds {
			if kind == True || kind == False {
				kind = I8
			}
			t.pass(kind, depth+1)
		}
	}
}
