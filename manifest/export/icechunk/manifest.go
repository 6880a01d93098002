package icechunk

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"varve/readers/icechunk/file"
)

// refKind determines which fields the record of a ref has.
type refKind uint8

const (
	virtual  refKind = iota // in another file, without a check
	modified                // in another file, unmodified since a time
	tagged                  // in another file, with this ETag
	native                  // an object of the repository
	inlined                 // bytes in the manifest
	dropped                 // a record that is not written
	refKinds = int(dropped)
)

// A record is the table of one ref, preceded by its vtable and followed by the vector of its index. All kinds
// have the same length, so positions are computed, and a chunk can get its record before it is re-encoded:
//
//	0         vtable(24, padded with zeros)
//	          24      28      32           40           48          52
//	virtual   24(4)   28(4)   offset(8)    length(8)    location(4)
//	modified  24(4)   28(4)   offset(8)    length(8)    location(4) seconds(4)
//	tagged    24(4)   28(4)   offset(8)    length(8)    location(4) etag(4)
//	native    24(4)   28(4)   length(8)    chunk id(12)
//	inlined   24(4)   28(4)   bytes(4)
//	56        rank(4)  coordinates(4 each)  zeros to a multiple of 8
//
// One vtable for all records would take less memory, but make the file larger: the distance to it differs
// from record to record, and zstd cannot compress growing numbers.
const (
	tableAt    = 24
	indexAt    = tableAt + 4
	offsetAt   = tableAt + 8
	lengthAt   = tableAt + 16
	locationAt = tableAt + 24
	checkAt    = tableAt + 28
	nativeAt   = tableAt + 8
	chunkIDAt  = tableAt + 16
	bytesAt    = tableAt + 8
	refSize    = tableAt + 32
)

// refHeads has, by kind, the vtable and the constant fields of a record.
var refHeads = [refKinds][]byte{
	virtual:  refHead(indexAt, 0, offsetAt, lengthAt, 0, locationAt),
	modified: refHead(indexAt, 0, offsetAt, lengthAt, 0, locationAt, 0, checkAt),
	tagged:   refHead(indexAt, 0, offsetAt, lengthAt, 0, locationAt, checkAt),
	native:   refHead(indexAt, 0, 0, nativeAt, chunkIDAt),
	inlined:  refHead(indexAt, bytesAt),
}

// refHead encodes a vtable from the positions of index, inline, offset, length, chunk_id, location,
// checksum_etag and checksum_last_modified in a record.
func refHead(places ...uint16) []byte {
	b := binary.LittleEndian.AppendUint16(nil, uint16(4+2*len(places)))
	b = binary.LittleEndian.AppendUint16(b, refSize-tableAt)
	for _, p := range places {
		b = binary.LittleEndian.AppendUint16(b, max(p, tableAt)-tableAt)
	}
	b = append(b, make([]byte, tableAt-len(b))...)
	b = binary.LittleEndian.AppendUint32(b, tableAt)
	return binary.LittleEndian.AppendUint32(b, refSize-indexAt)
}

// arrayRefs are the records of one array, in C order of its chunks. Until finish, their offsets count from
// the beginning of the tail.
type arrayRefs struct {
	node    nodeID
	stride  int
	n       int // records that are not dropped
	kinds   []refKind
	records []byte
}

// reset empties the buffer and reserves memory for about n records.
func (a *arrayRefs) reset(id nodeID, rank, n int) {
	a.node, a.stride, a.n, a.kinds, a.records = id, refSize+(4+4*rank+7)/8*8, 0, a.kinds[:0], a.records[:0]
	a.records, a.kinds = slices.Grow(a.records, n*a.stride), slices.Grow(a.kinds, n)
}

// next adds a record and returns its bytes.
func (a *arrayRefs) next(k refKind, coords []int64) []byte {
	at := len(a.records)
	a.records = slices.Grow(a.records, a.stride)[:at+a.stride]
	a.kinds = append(a.kinds, k)
	a.n++
	r := a.records[at:]
	clear(r)
	if k != dropped {
		copy(r, refHeads[k])
	}
	binary.LittleEndian.PutUint32(r[refSize:], uint32(len(coords)))
	for i, c := range coords {
		binary.LittleEndian.PutUint32(r[refSize+4+4*i:], uint32(c))
	}
	return r
}

// set changes the kind of a dropped record.
func (a *arrayRefs) set(i int, k refKind) []byte {
	r := a.at(i)
	a.kinds[i] = k
	copy(r, refHeads[k])
	return r
}

// at returns the i-th added record.
func (a *arrayRefs) at(i int) []byte { return a.records[i*a.stride:][:a.stride] }

// added returns the number of added records, including dropped ones.
func (a *arrayRefs) added() int { return len(a.kinds) }

// tail holds the strings that records refer to, each once per manifest.
//
//	length(4)  bytes  0  zeros to a multiple of 4
type tail struct{ data []byte }

func (t *tail) put(b []byte) uint32 {
	at := len(t.data)
	t.data = binary.LittleEndian.AppendUint32(t.data, uint32(len(b)))
	t.data = append(append(t.data, b...), 0)
	for len(t.data)%4 != 0 {
		t.data = append(t.data, 0)
	}
	return uint32(at)
}

// sourceRecord is the location and check of a source, as stored in records.
type sourceRecord struct {
	kind     refKind
	location uint32 // in the tail
	check    uint32 // the seconds, or the ETag in the tail
}

func putVirtual(r []byte, p sourceRecord, offset, length int64) {
	binary.LittleEndian.PutUint64(r[offsetAt:], uint64(offset))
	binary.LittleEndian.PutUint64(r[lengthAt:], uint64(length))
	binary.LittleEndian.PutUint32(r[locationAt:], p.location)
	binary.LittleEndian.PutUint32(r[checkAt:], p.check)
}

func putNative(r []byte, id objectID, length int) {
	binary.LittleEndian.PutUint64(r[nativeAt:], uint64(length))
	copy(r[chunkIDAt:], id[:])
}

func putInline(r []byte, at uint32) {
	binary.LittleEndian.PutUint32(r[bytesAt:], at)
}

// maxBuffer is the maximum size of a FlatBuffers buffer.
const maxBuffer = math.MaxInt32

// encodeManifest returns the buffer of the table Manifest, reusing dst's memory if it suffices. It changes
// the arrays, which must be sorted by node.
//
//	root offset  "Ichk"  vtables of both  Manifest  offsets of arrays
//	for each array:  ArrayManifest  offsets of refs  records
//	tail
func encodeManifest(dst []byte, id objectID, arrays []*arrayRefs, tail []byte) ([]byte, error) {
	size := 256 + 4*len(arrays) + len(tail)
	for _, a := range arrays {
		size += 64 + 4*a.n + len(a.records)
	}
	if size > maxBuffer {
		return nil, fmt.Errorf("a manifest of %d bytes exceeds the FlatBuffers limit of %d; write fewer refs per manifest", size, maxBuffer)
	}
	m := manifestWriter{builder: builder{data: slices.Grow(dst[:0], size)}}
	m.head(id, len(arrays))
	for i, a := range arrays {
		m.array(i, a)
	}
	m.align(8, 0)
	m.finish(arrays, tail)
	return m.data, nil
}

type manifestWriter struct {
	builder
	table int   // the vtable of arrays
	list  int   // position of the offsets of arrays
	first []int // position of each array's first record
}

// head writes everything before the arrays.
func (m *manifestWriter) head(id objectID, arrays int) {
	m.data = append(m.data, 0, 0, 0, 0)
	m.data = append(m.data, file.Identifier...)
	m.table = m.vtable([]uint16{8, 16, 4, 12}) // node_id, refs
	vtable := m.vtable([]uint16{12, 24, 4, 16, 0, 20})
	m.align(4, 0)
	at := len(m.data)
	binary.LittleEndian.PutUint32(m.data, uint32(at))
	m.u32(at - vtable)
	m.data = append(m.data, id[:]...)
	m.u32(8)                            // from here to the offsets of arrays
	m.data = append(m.data, 0, 0, 0, 0) // compression_algorithm: none
	m.u32(arrays)
	m.list = len(m.data)
	m.data = append(m.data, make([]byte, 4*arrays)...)
}

func (m *manifestWriter) vtable(t []uint16) int {
	at := len(m.data)
	for _, v := range t {
		m.data = binary.LittleEndian.AppendUint16(m.data, v)
	}
	return at
}

// array writes an ArrayManifest and the records of its refs.
func (m *manifestWriter) array(i int, a *arrayRefs) {
	m.align(4, 0)
	at := len(m.data)
	binary.LittleEndian.PutUint32(m.data[m.list+4*i:], uint32(at-m.list-4*i))
	m.u32(at - m.table)
	m.data = append(m.data, a.node[:]...)
	m.u32(4) // from here to the offsets of refs
	m.u32(a.n)
	list := len(m.data)
	first := (list + 4*a.n + 7) / 8 * 8
	for k := range a.n {
		m.u32(first + k*a.stride + tableAt - list - 4*k)
	}
	m.align(8, 0)
	if a.n == a.added() {
		m.data = append(m.data, a.records...)
	} else {
		// Copy record by record, to leave out the dropped ones.
		for k := range a.added() {
			if a.kinds[k] != dropped {
				m.data = append(m.data, a.at(k)...)
			}
		}
	}
	m.first = append(m.first, first)
}

// finish turns the offsets in records, whose positions are now final, into relative ones, and writes the
// tail.
func (m *manifestWriter) finish(arrays []*arrayRefs, tail []byte) {
	end := len(m.data)
	for i, a := range arrays {
		at := m.first[i]
		for _, kind := range a.kinds {
			r := m.data[at:][:refSize]
			switch kind {
			case tagged:
				lead(r[checkAt:], end-at-checkAt)
				fallthrough
			case virtual, modified:
				lead(r[locationAt:], end-at-locationAt)
			case inlined:
				lead(r[bytesAt:], end-at-bytesAt)
			case dropped:
				continue
			}
			at += a.stride
		}
	}
	m.data = append(m.data, tail...)
}

// lead adds distance to a field, which turns an offset in the tail into one relative to the field.
func lead(field []byte, distance int) {
	binary.LittleEndian.PutUint32(field, binary.LittleEndian.Uint32(field)+uint32(distance))
}
