package readers

import "encoding/binary"

// ValueReader takes the elements of Value.Data apart: the numbers, texts and bytes that they
// are made of, one after the other. Their memory form is
//
//	numbers     little-endian, with all their bytes
//	strings     of a fixed size: all bytes, padding and all
//	references  the 8-byte address of an object; of a region, that and a 4-byte index
//	compounds   members by offset, without gaps
//	arrays      element by element
//	sequences   of varying length: an 8-byte count, and so many elements
//	texts       of varying length: an 8-byte count, and so many bytes
type ValueReader struct {
	Data []byte // what is left
	Err  error
}

// Take takes n bytes.
func (r *ValueReader) Take(n uint64) []byte {
	if r.Err == nil && n > uint64(len(r.Data)) {
		r.Err = Corruptf("an element takes %d bytes of %d that are left", n, len(r.Data))
	}
	if r.Err != nil {
		return nil
	}
	b := r.Data[:n:n]
	r.Data = r.Data[n:]
	return b
}

// Count takes the count that precedes what varies in length.
func (r *ValueReader) Count() uint64 {
	b := r.Take(8)
	if b == nil {
		return 0
	}
	return binary.LittleEndian.Uint64(b)
}

// MemorySize is how many bytes an element of a type takes in memory form that is neither a
// compound nor made of others.
func (t *Type) MemorySize() uint64 {
	if t.Class != Reference {
		return uint64(t.Size)
	}
	if t.Ref == RegionRef {
		return 12
	}
	return 8
}
