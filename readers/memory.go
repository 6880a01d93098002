package readers

import (
	"context"
	"fmt"
	"slices"

	"varve/codec"
	"varve/readers/internal/byteswap"
	"varve/readers/source"
)

// ReadStored returns a ReadAll for a variable with Inline or Contiguous storage in src, whose elements have a fixed size and no codec
// but "bytes".
func ReadStored(src *source.Source, v *Variable) func(ctx context.Context, limit uint64) (Value, error) {
	return func(ctx context.Context, limit uint64) (Value, error) {
		out := Value{Type: v.Type, Shape: v.Shape}
		s := &v.Storage
		if s.Bytes > limit {
			return out, &Error{Source: src.Name(), Path: v.Path, Offset: s.Offset, Err: fmt.Errorf("values take %d bytes, more than the limit of %d", s.Bytes, limit)}
		}
		stored, err := s.Data, error(nil)
		if s.Layout == Contiguous {
			stored = make([]byte, s.Bytes)
			_, err = src.ReadAt(ctx, stored, s.Offset)
		}
		if err == nil {
			out.Data, err = v.Type.AppendMemory(nil, stored)
		}
		return out, err
	}
}

// Plain reports whether the codec "bytes" alone decodes stored elements to elements in memory. It
// also returns the stored byte order, or "" for types without one.
func (t *Type) Plain() (element codec.Type, endian string, ok bool) {
	element, ok = t.Element()
	if !ok || element.Varies() || element.Size != t.Size {
		return codec.Type{}, "", false
	}
	orders := t.appendOrders(nil)
	// The codec "bytes" has one byte order for the whole element.
	if slices.Contains(orders, BigEndian) && slices.Contains(orders, LittleEndian) {
		return codec.Type{}, "", false
	}
	// The members are packed in the order of their offsets, and the codec cannot reorder them.
	if t.Class == Compound && !inOrder(t.Members) {
		return codec.Type{}, "", false
	}
	switch {
	case len(orders) == 0:
		return element, "", true
	case orders[0] == BigEndian:
		return element, codec.BigEndian, true
	}
	return element, codec.LittleEndian, true
}

// inOrder reports whether members are listed in the order of their offsets.
func inOrder(members []Member) bool {
	return slices.IsSortedFunc(members, func(a, b Member) int { return a.Offset - b.Offset })
}

// appendOrders appends the byte order of each number that has more than one byte.
func (t *Type) appendOrders(orders []Order) []Order {
	switch t.Class {
	case Integer, Float, Time, Bitfield:
		if t.Size > 1 {
			return append(orders, t.Order)
		}
	case Enum, Array, Complex:
		return t.Base.appendOrders(orders)
	case Compound:
		for _, m := range t.Members {
			orders = m.Type.appendOrders(orders)
		}
	}
	return orders
}

// AppendMemory appends stored elements in memory form: numbers little-endian, members of compounds
// by offset without gaps, everything else unchanged. It rejects types of varying length, because
// stored holds only pointers to their data.
func (t *Type) AppendMemory(dst, stored []byte) ([]byte, error) {
	if t.Varies() {
		return dst, fmt.Errorf("elements of type %s are pointers to data in a heap", t)
	}
	return t.appendMemory(dst, stored), nil
}

func (t *Type) appendMemory(dst, stored []byte) []byte {
	switch t.Class {
	case Integer, Float, Time, Bitfield:
		n := len(dst)
		dst = append(dst, stored...)
		if t.Order == BigEndian && t.Size > 1 {
			byteswap.Elements(dst[n:], t.Size)
		}
		return dst
	case Enum, Array, Complex:
		return t.Base.appendMemory(dst, stored)
	case Compound:
		members := t.SortedMembers()
		for ; len(stored) >= t.Size; stored = stored[t.Size:] {
			for _, m := range members {
				dst = m.Type.appendMemory(dst, stored[m.Offset:m.Offset+m.Type.Size])
			}
		}
		return dst
	}
	return append(dst, stored...)
}
