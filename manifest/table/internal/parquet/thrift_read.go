package parquet

import "encoding/binary"

// thriftReader reads Thrift's compact protocol. After an error everything reads as zero.
type thriftReader struct {
	data []byte
	at   int
	err  error
}

var errThrift = corruptf("not Thrift's compact protocol, or cut off")

const maxNesting = 16

func (t *thriftReader) byte() byte {
	if t.err != nil || t.at >= len(t.data) {
		t.err = errThrift
		return 0
	}
	t.at++
	return t.data[t.at-1]
}

func (t *thriftReader) take(n uint64) []byte {
	if t.err != nil || n > uint64(len(t.data)-t.at) {
		t.err = errThrift
		return nil
	}
	t.at += int(n)
	return t.data[t.at-int(n) : t.at]
}

func (t *thriftReader) uvarint() uint64 {
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

// field is the head of a field.
type field struct {
	id   int64
	kind byte
}

// next moves to the next field of a struct, of which the last one read is given. At the end
// of the struct, and after an error, it reports false.
func (t *thriftReader) next(f *field) bool {
	b := t.byte()
	if t.err != nil || b&0xf == stopType {
		return false
	}
	if delta := int64(b >> 4); delta > 0 {
		f.id += delta
	} else {
		f.id = t.varint()
	}
	f.kind = b & 0xf
	return t.err == nil
}

func (t *thriftReader) varint() int64 {
	v := t.uvarint()
	return int64(v>>1) ^ -int64(v&1)
}

// integer reads a field that has to be an integer.
func (t *thriftReader) integer(f field) int64 {
	if f.kind < i16Type || f.kind > i64Type {
		t.fail()
		return 0
	}
	return t.varint()
}

// bytes reads a field that has to be a text.
func (t *thriftReader) bytes(f field) []byte {
	if f.kind != binaryType {
		t.fail()
		return nil
	}
	return t.take(t.uvarint())
}

// open checks that a field is a struct.
func (t *thriftReader) open(f field) {
	if f.kind != structType {
		t.fail()
	}
}

// list reads the head of a field that has to be a list. Each element takes at least as many
// bytes as given, so that what is allocated for the list is bounded.
func (t *thriftReader) list(f field, of byte, least int) int {
	if f.kind != listType {
		t.fail()
		return 0
	}
	kind, n := t.listHead()
	if n > 0 && kind != of || n > uint64((len(t.data)-t.at)/least) {
		t.fail()
		return 0
	}
	return int(n)
}

func (t *thriftReader) listHead() (kind byte, n uint64) {
	head := t.byte()
	if n = uint64(head >> 4); n == 15 {
		n = t.uvarint()
	}
	return head & 0xf, n
}

func (t *thriftReader) fail() {
	if t.err == nil {
		t.err = errThrift
	}
}

// skip moves over the value of a field.
func (t *thriftReader) skip(f field) { t.pass(f.kind, 0) }

func (t *thriftReader) pass(kind byte, depth int) {
	if depth > maxNesting {
		t.fail()
		return
	}
	switch kind {
	case trueType, falseType:
	case i8Type:
		t.byte()
	case i16Type, i32Type, i64Type:
		t.uvarint()
	case doubleType:
		t.take(8)
	case binaryType:
		t.take(t.uvarint())
	case structType:
		for f := (field{}); t.next(&f); {
			t.pass(f.kind, depth+1)
		}
	case listType, setType:
		of, n := t.listHead()
		t.passMany(n, depth, of)
	case mapType:
		t.passMap(depth)
	default:
		t.fail()
	}
}

func (t *thriftReader) passMap(depth int) {
	n := t.uvarint()
	if n == 0 {
		return
	}
	kinds := t.byte()
	t.passMany(n, depth, kinds>>4, kinds&0xf)
}

// passMany moves over elements, each of values of the types. In lists booleans take a byte.
func (t *thriftReader) passMany(n uint64, depth int, kinds ...byte) {
	if n > uint64(len(t.data)-t.at) {
		t.fail() // an element takes a byte at least
	}
	for i := uint64(0); i < n && t.err == nil; i++ {
		for _, kind := range kinds {
			if kind == trueType || kind == falseType {
				kind = i8Type
			}
			t.pass(kind, depth+1)
		}
	}
}
