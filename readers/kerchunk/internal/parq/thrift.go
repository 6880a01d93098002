package parq

import (
	"encoding/binary"
	"errors"
)

// thrift reads Thrift's compact protocol. After an error everything reads as zero.
type thrift struct {
	data []byte
	at   int
	err  error
}

var errThrift = errors.New("not Thrift's compact protocol, or cut off")

// The types of values.
const (
	stop       = 0
	boolTrue   = 1
	boolFalse  = 2
	int8Type   = 3
	int16Type  = 4
	int32Type  = 5
	int64Type  = 6
	doubleType = 7
	binaryType = 8
	listType   = 9
	setType    = 10
	mapType    = 11
	structType = 12
)

const maxNesting = 16

func (t *thrift) byte() byte {
	if t.err != nil || t.at >= len(t.data) {
		t.err = errThrift
		return 0
	}
	t.at++
	return t.data[t.at-1]
}

func (t *thrift) take(n uint64) []byte {
	if t.err != nil || n > uint64(len(t.data)-t.at) {
		t.err = errThrift
		return nil
	}
	t.at += int(n)
	return t.data[t.at-int(n) : t.at]
}

func (t *thrift) uvarint() uint64 {
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

func (t *thrift) integer() int64 {
	v := t.uvarint()
	return int64(v>>1) ^ -int64(v&1)
}

// fields calls read at the value of each field of a struct. It has to move over the value.
func (t *thrift) fields(read func(id int64, kind byte)) {
	for id := int64(0); t.err == nil; {
		b := t.byte()
		kind := b & 0xf
		if kind == stop {
			return
		}
		if delta := int64(b >> 4); delta > 0 {
			id += delta
		} else {
			id = t.integer()
		}
		if t.err == nil {
			read(id, kind)
		}
	}
}

// list calls read at each element of a list, if it is one of elements of a type.
func (t *thrift) list(kind, of byte, read func()) {
	if kind != listType {
		t.pass(kind, 0)
		return
	}
	head := t.byte()
	n := uint64(head >> 4)
	if n == 15 {
		n = t.uvarint()
	}
	if t.err == nil && head&0xf != of && n > 0 || n > uint64(len(t.data)) {
		t.err = errThrift
	}
	for i := uint64(0); i < n && t.err == nil; i++ {
		read()
	}
}

// pass moves over a value.
func (t *thrift) pass(kind byte, depth int) {
	if depth > maxNesting {
		t.err = errThrift
		return
	}
	switch kind {
	case boolTrue, boolFalse:
	case int8Type:
		t.byte()
	case int16Type, int32Type, int64Type:
		t.uvarint()
	case doubleType:
		t.take(8)
	case binaryType:
		t.take(t.uvarint())
	case structType:
		t.fields(func(_ int64, kind byte) { t.pass(kind, depth+1) })
	case listType, setType:
		t.passList(depth)
	case mapType:
		t.passMap(depth)
	default:
		t.err = errThrift
	}
}

func (t *thrift) passList(depth int) {
	head := t.byte()
	n := uint64(head >> 4)
	if n == 15 {
		n = t.uvarint()
	}
	t.passMany(n, depth, head&0xf)
}

func (t *thrift) passMap(depth int) {
	n := t.uvarint()
	if n == 0 {
		return
	}
	kinds := t.byte()
	t.passMany(n, depth, kinds>>4, kinds&0xf)
}

// passMany moves over elements, each of values of the types. In lists booleans take a byte.
func (t *thrift) passMany(n uint64, depth int, kinds ...byte) {
	if n > uint64(len(t.data)-t.at) {
		t.err = errThrift // an element takes a byte at least
	}
	for i := uint64(0); i < n && t.err == nil; i++ {
		for _, kind := range kinds {
			if kind == boolTrue || kind == boolFalse {
				kind = int8Type
			}
			t.pass(kind, depth+1)
		}
	}
}
