// Package codec decodes the stored bytes of a chunk to elements, and encodes elements.
//
// A codec pipeline is an ordered list of codecs, as in Zarr v3: any number of
// array-to-array codecs, one array-to-bytes codec, any number of bytes-to-bytes codecs.
// Encoding applies them in order, decoding in reverse:
//
//	elements ─ array→array … ─ array→bytes ─ bytes→bytes … ─ stored bytes
//	         transpose         bytes         shuffle, zlib
//
// HDF5's filters are such a pipeline too: the byte order of the type is the codec
// "bytes", and each filter is one bytes-to-bytes codec. Codecs that only HDF5, HDF4 or
// FITS have are named "hdf5.…", "hdf4.…" or "fits.…"; varve writes no document with such
// a name.
//
// Decoding knows the size of its result. It writes to the caller's buffer, and no stored
// bytes can make it produce more. A codec starts no goroutine and keeps no state between
// calls: any number of goroutines may use a Pipeline.
package codec

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"varve/codec/grib/message"
	"varve/codec/internal/corrupt"
	"varve/grid"
)

// ErrCorrupt marks errors caused by stored bytes that are invalid for their codec. Valid
// bytes that need an unsupported feature are marked by errors.ErrUnsupported instead.
var ErrCorrupt = corrupt.Err

// ErrIndex marks errors of chunks that a GRIB index file located: the bytes are not the
// message that the index file describes. Errors that wrap it also wrap ErrCorrupt.
var ErrIndex = message.ErrIndex

// Spec is a codec as a document names it.
type Spec struct {
	Name   string
	Config json.RawMessage // the configuration object; nil when there is none

	// Clip allows the inner chunks of sharding_indexed, and those of shards within them,
	// to be clipped at the end of the shard, as in version 1.1 of that codec. The codec's
	// configuration cannot express it; see WithClipping.
	Clip bool

	depth int // number of shards that it is inside of
}

// Form is the type, shape and fill value of the chunk at one stage of a pipeline.
type Form struct {
	Type  Type
	Shape []int64
	Fill  []byte // one element in memory form; nil means zeros
}

// Count returns the number of elements, or -1 if it overflows.
func (f Form) Count() int {
	n, err := grid.Elements(f.Shape)
	if err != nil {
		return -1
	}
	return int(n)
}

// Bytes returns the size of the elements in memory, or -1 if it overflows. It returns 0
// for elements of varying length.
func (f Form) Bytes() int {
	n := f.Count()
	hi, lo := bits.Mul64(uint64(n), uint64(f.Type.Size))
	if n < 0 || hi != 0 || lo > math.MaxInt {
		return -1
	}
	return int(lo)
}

// fillKey returns the fill value as text. Decoding depends on it: it is the value of
// elements that are not stored.
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

// Elems are the elements of a chunk in C order: packed in Fixed if their size is fixed,
// one slice per element in Var if it varies.
type Elems struct {
	Fixed []byte
	Var   [][]byte
}

// NewElems returns a buffer for the elements of a form. It panics if they are too many:
// call Form.CheckSize first for a shape from a document.
func NewElems(f Form) Elems {
	if f.Type.Varies() {
		return Elems{Var: make([][]byte, f.Count())}
	}
	return Elems{Fixed: make([]byte, f.Bytes())}
}

// checkSize returns an error unless e has exactly the size of form f.
func (e Elems) checkSize(f Form) error {
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

// SetFill sets every element of e to the fill value of f.
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
	// Double the filled part with each copy.
	for n := copy(dst, fill); n > 0 && n < len(dst); {
		n += copy(dst[n:], dst[:n])
	}
}

// allEqual reports whether b repeats the element fill; nil means zeros.
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
	// If b equals itself shifted by one element, all elements are equal. The comparison
	// runs at the speed of memequal.
	return string(b[:size]) == string(fill) && string(b[size:]) == string(b[:len(b)-size])
}

func isZero(b []byte) bool {
	return b[0] == 0 && string(b[1:]) == string(b[:len(b)-1])
}

// Codec is one stage of a pipeline. Every codec also implements one of ArrayToArray,
// ArrayToBytes and BytesToBytes.
type Codec interface {
	// DecodeKey identifies the decoding: codecs with equal keys decode the same bytes to
	// the same elements. It is empty if decoding changes nothing.
	DecodeKey() string
}

// ArrayToArray converts elements to other elements.
type ArrayToArray interface {
	Codec
	// Encoded returns the form of an encoded chunk of form in.
	Encoded(in Form) (Form, error)
	// Encode fills dst, of form Encoded(in), from src, of form in.
	Encode(dst, src Elems, in Form) error
	// Decode fills dst, of form in, from src, of form Encoded(in).
	Decode(dst, src Elems, in Form) error
}

// ArrayToBytes converts elements to bytes.
type ArrayToBytes interface {
	Codec
	// Accepts returns an error if chunks of form in cannot be encoded.
	Accepts(in Form) error
	// EncodedSize returns the size of every encoded chunk of form in, or false if it
	// varies.
	EncodedSize(in Form) (int, bool)
	// Encode appends the encoding of src to dst.
	Encode(dst []byte, src Elems, in Form) ([]byte, error)
	// Decode fills dst from all of src. Var elements may alias src.
	Decode(dst Elems, src []byte, in Form) error
}

// BytesToBytes converts bytes to other bytes: a compressor or a checksum.
type BytesToBytes interface {
	Codec
	// EncodedSize returns the encoded size of n bytes, or false if it depends on the
	// bytes.
	EncodedSize(n int) (int, bool)
	// Encode appends the encoding of src to dst.
	Encode(dst, src []byte) ([]byte, error)
	// Decode writes the decoded bytes to the start of dst and returns their number. It
	// returns an error if there are more than len(dst).
	Decode(dst, src []byte) (int, error)
}

// A codec may implement any of the interfaces below.

// inPlaceDecoder is an ArrayToBytes whose bytes have the size of the elements, so that it
// can decode them in the elements' own buffer.
type inPlaceDecoder interface {
	decodeInPlace(buf []byte, in Form) error
}

// trimmer is a BytesToBytes whose encoded form contains the decoded bytes unchanged.
type trimmer interface {
	// trim checks src and returns its part that is the decoded bytes.
	trim(src []byte) ([]byte, error)
}

// sizer is a BytesToBytes that reads the decoded size from the stored bytes. The caller
// uses the size only if it is below the other limits.
type sizer interface {
	decodedSize(src []byte) (int, error)
}

// encodeChecker is a codec that may not be able to encode. The error says why.
type encodeChecker interface {
	cannotEncode() error
}

// lossReporter is a codec that may decode to other elements than were encoded.
type lossReporter interface {
	isLossy() bool
}

// formBinder is an ArrayToBytes that prepares itself for one form.
type formBinder interface {
	bind(in Form) (ArrayToBytes, error)
}

// clientReporter is a codec with configurations that some clients cannot decode.
type clientReporter interface {
	// clients returns the clients as Pipeline.Clients does.
	clients() Client
}

// sizeClientReporter is a BytesToBytes with encoded forms that some clients cannot
// decode.
type sizeClientReporter interface {
	// clientsFor returns the clients that a reader needs if every chunk has size bytes at
	// this stage. Size −1 means that it varies.
	clientsFor(size int) Client
}

// regionMapper is an ArrayToArray that maps a region of the elements to a region of the
// encoded elements, so that one can be decoded without the others.
type regionMapper interface {
	// encodedRegion returns the region of the encoded form that holds region r.
	encodedRegion(r grid.Region) grid.Region
}
