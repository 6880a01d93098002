package codec

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"unicode/utf8"

	"varve/codec/internal/corrupt"
)

// vlen stores elements of varying length one after another, each after its length.
//
//	┌───────┬──────────┬───────┬───┬──────────┬───────┐
//	│ count │ length 0 │ bytes │ … │ length n │ bytes │   numbers: uint32, little-endian
//	└───────┴──────────┴───────┴───┴──────────┴───────┘
//
// Specification: zarr-extensions, codecs/vlen-utf8 and codecs/vlen-bytes; numcodecs.vlen,
// https://numcodecs.readthedocs.io/en/stable/other/vlen.html.
//
//	{"name": "vlen-utf8", "configuration": {}}
//
// Text that is not UTF-8 is corrupt, as in numcodecs; so are bytes after the last
// element, which numcodecs ignores. Decoded elements alias the stored bytes.
type vlen struct{ kind Kind }

func newVLenUTF8(*config, Form) (Codec, error) { return vlen{String}, nil }

// newVLenBytes returns the codec of bytes of varying length.
//
//	{"name": "vlen-bytes", "configuration": {}}
func newVLenBytes(*config, Form) (Codec, error) { return vlen{Bytes}, nil }

func (v vlen) DecodeKey() string {
	if v.kind == String {
		return "vlen-utf8"
	}
	return "vlen-bytes"
}

func (v vlen) Accepts(in Form) error {
	if in.Type.Kind != v.kind {
		return fmt.Errorf("elements of %v; it takes %v: %w", in.Type, Type{Kind: v.kind}, errors.ErrUnsupported)
	}
	if n := in.Count(); uint64(n) > math.MaxUint32 {
		return fmt.Errorf("chunk has %d elements, more than the 32-bit count can hold (%d)", n, uint32(math.MaxUint32))
	}
	return nil
}

func (vlen) EncodedSize(Form) (int, bool) { return 0, false }

func (v vlen) Encode(dst []byte, src Elems, _ Form) ([]byte, error) {
	out := binary.LittleEndian.AppendUint32(dst, uint32(len(src.Var)))
	for i, e := range src.Var {
		if uint64(len(e)) > math.MaxUint32 {
			return dst, fmt.Errorf("element %d has %d bytes, more than the 32-bit length can hold (%d)", i, len(e), uint32(math.MaxUint32))
		}
		if v.kind == String && !utf8.Valid(e) {
			return dst, fmt.Errorf("element %d is not UTF-8: %.40q", i, e)
		}
		out = binary.LittleEndian.AppendUint32(out, uint32(len(e)))
		out = append(out, e...)
	}
	return out, nil
}

func (v vlen) Decode(dst Elems, src []byte, _ Form) error {
	if len(src) < 4 {
		return corrupt.Errorf("chunk of %d bytes is too short for the element count of 4 bytes", len(src))
	}
	if n := binary.LittleEndian.Uint32(src); uint64(n) != uint64(len(dst.Var)) {
		return corrupt.Errorf("chunk has %d elements, but its shape needs %d", n, len(dst.Var))
	}
	at := 4
	for i := range dst.Var {
		if len(src)-at < 4 {
			return corrupt.Errorf("element %d of %d, at byte %d: the length needs 4 bytes, %d are left", i, len(dst.Var), at, len(src)-at)
		}
		size := binary.LittleEndian.Uint32(src[at:])
		at += 4
		if uint64(size) > uint64(len(src)-at) {
			return corrupt.Errorf("element %d of %d, at byte %d: it needs %d bytes, %d are left", i, len(dst.Var), at, size, len(src)-at)
		}
		// Limit the capacity, so that a caller's append does not overwrite the next
		// element.
		e := src[at : at+int(size) : at+int(size)]
		if v.kind == String && !utf8.Valid(e) {
			return corrupt.Errorf("element %d of %d, at byte %d, is not UTF-8: %.40q", i, len(dst.Var), at, e)
		}
		dst.Var[i] = e
		at += int(size)
	}
	if at != len(src) {
		return corrupt.Errorf("%d bytes are left after the last of %d elements", len(src)-at, len(dst.Var))
	}
	return nil
}
