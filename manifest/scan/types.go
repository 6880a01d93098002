package scan

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"

	"varve/codec"
	"varve/manifest"
	"varve/readers"
)

// way is how elements are had.
type way int

const (
	byCodecs      way = iota // codecs turn stored bytes into elements
	throughReader            // only the reader can
)

// elementOf returns the type of the elements in memory of a stored type. The error of a type
// that has none is errors.ErrUnsupported.
func elementOf(t *readers.Type) (codec.Type, way, error) {
	if element, ok := t.Element(); ok && element.Varies() {
		return element, byCodecs, nil
	}
	if element, _, ok := t.Plain(); ok {
		if endsWithBlanks(t) {
			return element, throughReader, nil // they are no part of the text
		}
		return element, byCodecs, nil
	}
	if element, ok := t.Element(); ok {
		return element, throughReader, nil
	}
	if base := integer(t); base != nil {
		kind := codec.Uint
		if base.Signed && base.Class == readers.Integer {
			kind = codec.Int
		}
		return codec.Type{Kind: kind, Size: 1 << bits.Len(uint(base.Size-1))}, throughReader, nil
	}
	return codec.Type{}, 0, fmt.Errorf("elements of type %.200s have no counterpart in Zarr: %w", t, errors.ErrUnsupported)
}

// integer returns the type of the integers of a type that has them, or nil.
func integer(t *readers.Type) *readers.Type {
	if t.Class == readers.Enum {
		t = t.Base
	}
	if t.Class != readers.Integer && t.Class != readers.Bitfield {
		return nil
	}
	if t.Order == readers.VAX || t.Size > 8 || t.Size < 1 || t.Precision < 1 || t.BitOffset < 0 || t.BitOffset+t.Precision > 8*t.Size {
		return nil
	}
	return t
}

// widen turns little-endian integers of odd bits into whole ones of type to. All else is left
// as it is.
func widen(t *readers.Type, to codec.Type, data []byte) []byte {
	t = integer(t)
	if t == nil || t.Precision == 8*t.Size && t.Size == to.Size {
		return data
	}
	out := make([]byte, 0, len(data)/t.Size*to.Size)
	var word [8]byte
	for ; len(data) >= t.Size; data = data[t.Size:] {
		word = [8]byte{}
		copy(word[:], data[:t.Size])
		v := binary.LittleEndian.Uint64(word[:]) >> t.BitOffset << (64 - t.Precision)
		if to.Kind == codec.Int {
			v = uint64(int64(v) >> (64 - t.Precision))
		} else {
			v >>= 64 - t.Precision
		}
		binary.LittleEndian.PutUint64(word[:], v)
		out = append(out, word[:to.Size]...)
	}
	return out
}

// choices are the names of an enumeration's values.
func choices(t *readers.Type) []manifest.Choice {
	if t.Class != readers.Enum || t.InMemory != nil || integer(t) == nil {
		return nil
	}
	out := make([]manifest.Choice, len(t.Choices))
	for i, c := range t.Choices {
		out[i] = manifest.Choice{Name: c.Name, Value: int64(t.Base.Uint64(c.Value))}
	}
	return out
}
