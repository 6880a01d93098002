// Package codec turns the stored bytes of a chunk into elements and back.
//
// A pipeline is an ordered chain of codecs, as in Zarr v3: any number from array to
// array, one from array to bytes, any number from bytes to bytes. Encoding goes
// through the chain forwards, decoding backwards:
//
//	elements ─ array→array … ─ array→bytes ─ bytes→bytes … ─ stored bytes
//	         transpose         bytes         shuffle, zlib
//
// HDF5's filters are such a chain too: the type's byte order is the codec "bytes",
// each filter one codec from bytes to bytes. Codecs that only HDF5, HDF4 or FITS
// knows carry names that begin with "hdf5.", "hdf4." or "fits."; no document with such a name leaves varve.
//
// Decoding knows the size of what comes out, so it goes into the caller's buffer and
// no stored byte can make it produce more than that. A codec starts no goroutine and
// keeps no state between calls: a Pipeline may be used by any number of goroutines.
package codec

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"varve/codec/internal/corrupt"
	"varve/grid"
)

// ErrCorrupt marks errors caused by stored bytes that are not what their codec says.
// What is valid but cannot be done is marked by errors.ErrUnsupported instead.
var ErrCorrupt = corrupt.Err

// Spec is a codec as a document names it.
type Spec struct {
	Name   string
	Config json.RawMessage // the configuration object; nil when there is none

	// Clip lets the inner chunks of sharding_indexed, and those of shards within them,
	// be cut off by the shard's edge, as version 1.1 of that codec has it. No document
	// says so; see WithClipping.
	Clip bool

	depth int // how many shardings it is inside of
}

// Form is what a stage of a pipeline sees of a chunk.
type Form struct {
	Type  Type
	Shape []int64
	Fill  []byte // one element in memory form; nil stands for zeros
}

// Count returns the number of elements, or -1 if it is out of range.
func (f Form) Count() int {
	n, err := grid.Elements(f.Shape)
	if err != nil {
		return -1
	}
	return int(n)
}

// Bytes returns the size of the elements in memory, or -1 if it is out of range.
// Elements of varying length have none; theirs is 0.
func (f Form) Bytes() int {
	n := f.Count()
	hi, lo := bits.Mul64(uint64(n), uint64(f.Type.Size))
	if n < 0 || hi != 0 || lo > math.MaxInt {
		return -1
	}
	return int(lo)
}

// fillKey names the fill value, which elements that are not stored get on decoding.
func (f Form) fillKey() string {
	if !f.Type.Varies() && allEqual(f.Fill, nil, len(f.Fill)) {
		return "0"
	}
	return hex.EncodeToString(f.Fill)
}

// IsFill reports whether every element is the fill value, bit for bit.
func (f Form) IsFill(e Elems) bool {
	if f.Type.Varies() {
		return !slices.ContainsFunc(e.Var, func(b []byte) bool { return string(b) != string(f.Fill) })
	}
	return allEqual(e.Fixed, f.Fill, f.Type.Size)
}

// Elems are the elements of a chunk in C order: those of a fixed size packed in
// Fixed, those of varying lengths one by one in Var.
type Elems struct {
	Fixed []byte
	Var   [][]byte
}

// NewElems returns room for the elements of a form. It panics where they are too many: who has a
// shape from elsewhere asks Form.CheckSize before.
func NewElems(f Form) Elems {
	if f.Type.Varies() {
		return Elems{Var: make([][]byte, f.Count())}
	}
	return Elems{Fixed: make([]byte, f.Bytes())}
}

// holds reports an error unless e has exactly the room that f needs.
func (e Elems) holds(f Form) error {
	if f.Type.Varies() {
		if len(e.Var) != f.Count() {
			return fmt.Errorf("buffer holds %d elements, the chunk %d", len(e.Var), f.Count())
		}
		return nil
	}
	if len(e.Fixed) != f.Bytes() {
		return fmt.Errorf("buffer holds %d bytes, the chunk %d", len(e.Fixed), f.Bytes())
	}
	return nil
}

// SetFill makes every element of e the fill value of f.
func (e Elems) SetFill(f Form) {
	for i := range e.Var {
		e.Var[i] = f.Fill
	}
	fillBytes(e.Fixed, f.Fill)
}

func fillBytes(dst, fill []byte) {
	if len(fill) == 0 || allEqual(fill, nil, len(fill)) {
		clear(dst)
		return
	}
	for n := copy(dst, fill); n > 0 && n < len(dst); {
		n += copy(dst[n:], dst[:n])
	}
}

// allEqual reports whether b repeats the element fill; nil stands for zeros.
func allEqual(b, fill []byte, size int) bool {
	if len(b) == 0 {
		return true
	}
	if len(b) < size || size == 0 {
		return false
	}
	if fill == nil {
		return isZero(b)
	}
	return string(b[:size]) == string(fill) && string(b[size:]) == string(b[:len(b)-size])
}

func isZero(b []byte) bool {
	return b[0] == 0 && string(b[1:]) == string(b[:len(b)-1])
}

// Codec is one stage of a pipeline. Every codec is also one of ArrayToArray,
// ArrayToBytes and BytesToBytes.
type Codec interface {
	// DecodeKey names what decoding depends on: two codecs with the same key turn
	// the same bytes into the same elements. Empty: decoding changes nothing.
	DecodeKey() string
}

// ArrayToArray changes elements into other elements.
type ArrayToArray interface {
	Codec
	// Encoded returns the form that encoding gives to a chunk of form in.
	Encoded(in Form) (Form, error)
	// Encode fills dst, of form Encoded(in), from src, of form in.
	Encode(dst, src Elems, in Form) error
	// Decode fills dst, of form in, from src, of form Encoded(in).
	Decode(dst, src Elems, in Form) error
}

// ArrayToBytes lays elements out as bytes.
type ArrayToBytes interface {
	Codec
	// Accepts reports why chunks of form in cannot pass, or nil.
	Accepts(in Form) error
	// EncodedSize returns the size of every encoded chunk of form in, or false.
	EncodedSize(in Form) (int, bool)
	// Encode appends the encoding of src to dst.
	Encode(dst []byte, src Elems, in Form) ([]byte, error)
	// Decode fills dst from the whole of src. Var elements may alias src.
	Decode(dst Elems, src []byte, in Form) error
}

// BytesToBytes changes bytes into other bytes: a compressor or a checksum.
type BytesToBytes interface {
	Codec
	// EncodedSize returns the encoded size of n bytes where it follows from n, or false.
	EncodedSize(n int) (int, bool)
	// Encode appends the encoding of src to dst.
	Encode(dst, src []byte) ([]byte, error)
	// Decode fills dst from the start with what src decodes to, and returns how
	// much that is. It is an error if it were more than len(dst).
	Decode(dst, src []byte) (int, error)
}

// The abilities below are optional.

// inPlacer is an ArrayToBytes whose bytes have the size of the elements, so that
// what was decoded into the elements' own buffer needs only mending.
type inPlacer interface {
	decodeInPlace(buf []byte, in Form) error
}

// trimmer is a BytesToBytes whose encoding holds the bytes themselves.
type trimmer interface {
	// trim checks src and returns the part of it that is the decoded bytes.
	trim(src []byte) ([]byte, error)
}

// sizer is a BytesToBytes that tells from stored bytes how many they decode to.
// The answer is only believed where it is less than what else is known.
type sizer interface {
	decodedSize(src []byte) (int, error)
}

// decodeOnly is a codec that cannot encode, and says why.
type decodeOnly interface {
	cannotEncode() error
}

// lossy is a codec that may not give back what it encodes.
type lossy interface {
	loses() bool
}

// shaped is an ArrayToBytes that prepares itself for one form.
type shaped interface {
	bound(in Form) (ArrayToBytes, error)
}

// configured is a codec of which clients do not decode every configuration.
type configured interface {
	// clients answers as Pipeline.Clients does.
	clients() Client
}

// demanding is a BytesToBytes of which clients do not decode everything.
type demanding interface {
	// clientsFor returns what a reader needs if every chunk has size bytes at this
	// stage, or where that is -1, if each has its own.
	clientsFor(size int) Client
}

// regional is an ArrayToArray under which a region of the elements is a region of
// the encoded elements, so that one can be decoded without the others.
type regional interface {
	// encodedRegion returns the region of the encoded form that r is made of.
	encodedRegion(r grid.Region) grid.Region
}
