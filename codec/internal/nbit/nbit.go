// Package nbit decodes HDF5's N-bit filter (filter 5), which stores only the significant bits of each
// number. Use Parse, then Packing.Decode.
//
// A chunk is one stream of bits, the most significant of each byte first, without a header and without
// alignment of numbers or elements:
//
//	a 12-bit integer at bit 0 of 16, three elements
//	byte   0         1         2         3         4         5
//	bits   aaaaaaaa  aaaabbbb  bbbbbbbb  cccccccc  cccc----  --------
//
// An encoder always appends its current byte, even an empty one. The bits of a number are stored most
// significant first, whatever the byte order of its type. Values that are neither integers nor floats
// (enums, strings, opaque bytes, …) are stored byte for byte in the same stream, not aligned.
//
// The filter's parameters, of 32 bits each, describe the layout of an element:
//
//	[0] number of parameters   [1] 1: the chunk is stored unchanged   [2] elements   [3…] type
//	type     1 size order precision offset       a number; order 0 little-endian, 1 big-endian
//	         2 size type                         an array; its length is size / size of the type
//	         3 size members {offset type}…       a compound
//	         4 size                              bytes
//
// Specification: HDF5 File Format Specification, IV.A.2.l (filter pipeline message), and H5Znbit.c of
// libhdf5.
//
// For example, the 12-bit integers 0x123, 0x456 and 0x789 are 12 34 56 78 90.
package nbit

import (
	"varve/codec/internal/bitstream"
	"varve/codec/internal/corrupt"
)

// Packing describes how a chunk's elements are packed. Any number of goroutines may use it.
type Packing struct {
	isStored bool    // chunks are stored unchanged
	count    int     // elements per chunk
	size     int     // decoded bytes per element
	bits     int     // stored bits per element
	fields   []field // the fields of an element, in the order of the stream
}

// field is a number, a run of bytes, or a repeated group of fields.
type field struct {
	at      int // offset in the enclosing element
	size    int // decoded bytes; if group is set, of one repetition
	bits    int // stored bits, of all repetitions
	shift   int // lowest stored bit of a number
	kind    kind
	repeats int
	group   []field // the element of an array, or the members of a compound
}

// kind is the kind of a field. The first two are the byte orders of the parameters.
type kind uint8

const (
	littleEndian kind = iota
	bigEndian
	opaque
	group
)

// isPlain reports whether unpackNumbers can read the field.
func (f *field) isPlain() bool {
	return f.kind <= bigEndian && f.bits <= bitstream.WindowBits && f.size <= 8
}

// Decode decodes a chunk to the beginning of dst and returns the decoded length. Elements keep the type
// and byte order of the dataset; padding becomes zeros. It allocates no memory.
func (p *Packing) Decode(dst, src []byte) (int, error) {
	if p.isStored {
		if len(src) > len(dst) {
			return 0, corrupt.Errorf("nbit: unfiltered chunk of %d bytes, at most %d are expected", len(src), len(dst))
		}
		return copy(dst, src), nil
	}
	if p.count > len(dst)/p.size {
		return 0, corrupt.Errorf("nbit: the parameters give %d elements of %d bytes, at most %d bytes are expected", p.count, p.size, len(dst))
	}
	// Parse checked that bits <= 8*size, so this cannot overflow.
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
