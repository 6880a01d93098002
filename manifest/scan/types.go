package scan

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"

	"varve/codec"
	"varve/manifest"
	"varve/manifest/internal/cf"
	"varve/readers"
)

// way is the way in which elements are decoded.
type way int

const (
	byCodecs      way = iota // by codecs, from the stored bytes
	throughReader            // only by the reader
)

// elementOf returns the type in memory of a stored type, or errors.ErrUnsupported.
func elementOf(t *readers.Type) (codec.Type, way, error) {
	if element, ok := t.Element(); ok && element.Varies() {
		return element, byCodecs, nil
	}
	if element, _, ok := t.Plain(); ok {
		if endsWithBlanks(t) {
			return spelt(element), throughReader, nil // blanks are not part of the string
		}
		return spelt(element), byCodecs, nil
	}
	if element, ok := t.Element(); ok {
		return spelt(element), throughReader, nil
	}
	if base := integer(t); base != nil {
		kind := codec.Uint
		if base.Signed && base.Class == readers.Integer {
			kind = codec.Int
		}
		return codec.Type{Kind: kind, Size: 1 << bits.Len(uint(base.Size-1))}, throughReader, nil
	}
	if size := t.ExactFloat(); size > 0 {
		return codec.Type{Kind: codec.Float, Size: size}, throughReader, nil
	}
	return codec.Type{}, 0, fmt.Errorf("elements of type %.200s have no counterpart in Zarr: %w", t, errors.ErrUnsupported)
}

// integer returns the integer type of integers, bit fields and enumerations, or nil for other types.
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

// widen converts little-endian numbers with unusual numbers of bits to the type to. Other elements are
// unchanged.
func widen(t *readers.Type, to codec.Type, data []byte) []byte {
	one := wideFloat
	if t.Class == readers.Float {
		if t.IsIEEE() || to.Kind != codec.Float {
			return data
		}
	} else {
		if t = integer(t); t == nil || t.Precision == 8*t.Size && t.Size == to.Size {
			return data
		}
		one = wideInteger
	}
	out := make([]byte, 0, len(data)/t.Size*to.Size)
	for ; len(data) >= t.Size; data = data[t.Size:] {
		out = one(out, t, to, data[:t.Size])
	}
	return out
}

func wideInteger(dst []byte, t *readers.Type, to codec.Type, stored []byte) []byte {
	var word [8]byte
	copy(word[:], stored)
	// Shift the value to the top, so that the shift back extends the sign.
	v := binary.LittleEndian.Uint64(word[:]) >> t.BitOffset << (64 - t.Precision)
	if to.Kind == codec.Int {
		v = uint64(int64(v) >> (64 - t.Precision))
	} else {
		v >>= 64 - t.Precision
	}
	binary.LittleEndian.PutUint64(word[:], v)
	return append(dst, word[:to.Size]...)
}

func wideFloat(dst []byte, t *readers.Type, to codec.Type, stored []byte) []byte {
	v := t.Float64(stored)
	switch to.Size {
	case 2:
		return binary.LittleEndian.AppendUint16(dst, cf.FloatToHalf(v))
	case 4:
		return binary.LittleEndian.AppendUint32(dst, math.Float32bits(float32(v)))
	}
	return binary.LittleEndian.AppendUint64(dst, math.Float64bits(v))
}

// choices returns the names of an enumeration's values.
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
