// Package nbit decodes HDF5's N-bit filter (filter 5), which stores the significant
// bits of each number and nothing of its padding.
//
// The chunk is one stream of bits, the most significant of each byte first, without
// a header and without alignment between numbers or elements:
//
//	a 12-bit integer at bit 0 of 16, three elements
//	byte   0         1         2         3         4         5
//	bits   aaaaaaaa  aaaabbbb  bbbbbbbb  cccccccc  cccc----  --------
//
// An encoder always appends the byte it had begun, even when nothing is in it.
// Each number's bits come most significant first, whatever the byte order of its
// type. What is neither an integer nor a float (enums, strings, opaque bytes, …) is
// stored byte for byte in the same stream, still unaligned.
//
// The layout of an element stands in the filter's parameters, 32-bit each:
//
//	[0] count of parameters   [1] 1: the chunk is stored as it is   [2] elements   [3…] type
//	type     1 size order precision offset       a number; order 0 little-endian, 1 big-endian
//	         2 size type                         an array; its length is size / size of the type
//	         3 size members {offset type}…       a compound
//	         4 size                              bytes
//
// It is described in the HDF5 File Format Specification, IV.A.2.l (filter pipeline
// message), and by H5Znbit.c of the library.
package nbit

import "varve/codec/internal/corrupt"

// Packing says where the bits of a chunk's elements go. It is made by Parse, and
// may be used by any number of goroutines.
type Packing struct {
	verbatim bool
	count    int     // elements in a chunk
	size     int     // bytes an element, decoded
	bits     int     // bits an element, stored
	fields   []field // what fills an element, in the order of the stream
}

// field is a number, a run of bytes, or a repeated group of fields.
type field struct {
	at      int // byte in the enclosing element
	size    int // bytes, of one repetition when group is set
	bits    int // stored bits of all of it
	shift   int // a number's lowest bit
	kind    kind
	repeats int
	group   []field
}

type kind uint8

const (
	littleEndian kind = iota
	bigEndian
	opaque
	group
)

// isPlain reports whether unpackNumbers can read the field.
func (f *field) isPlain() bool { return f.kind <= bigEndian && f.bits <= maxLoad && f.size <= 8 }

// Decode writes a chunk's elements to dst, in their stored type and byte order with
// zeros for padding, and returns how many bytes that are. It needs no memory.
func (p *Packing) Decode(dst, src []byte) (int, error) {
	if p.verbatim {
		if len(src) > len(dst) {
			return 0, corrupt.Errorf("nbit: %d bytes stored as they are, at most %d expected", len(src), len(dst))
		}
		return copy(dst, src), nil
	}
	if p.count > len(dst)/p.size {
		return 0, corrupt.Errorf("nbit: %d elements of %d bytes, at most %d bytes expected", p.count, p.size, len(dst))
	}
	// Fields do not overlap their element's size, so bits <= 8*size: no overflow.
	if need := (p.count*p.bits + 7) / 8; need > len(src) {
		return 0, corrupt.Errorf("nbit: truncated at byte %d: %d elements of %d bits need %d bytes",
			len(src), p.count, p.bits, need)
	}
	dst = dst[:p.count*p.size]
	if f := &p.fields[0]; len(p.fields) == 1 && f.isPlain() && f.size == p.size {
		unpackNumbers(dst, src, f)
		return len(dst), nil
	}
	clear(dst)
	r := reader{src: src}
	for at := 0; at < len(dst); at += p.size {
		r.fill(dst[at:at+p.size], p.fields)
	}
	return len(dst), nil
}
