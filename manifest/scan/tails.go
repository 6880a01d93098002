package scan

import (
	"bytes"
	"slices"

	"varve/readers"
)

// Strings that end at a NUL can be followed by other bytes, as in memory of C programs:
//
//	s w e \0 e t \0
//
// These bytes are not part of the string, but clients that get the stored bytes would show them. The same is
// true of padding with blanks.

// hasTails reports whether any string of a variable, or of its compounds, is followed by such bytes: a tail. It
// does not check variables with more than ValueBytes.
func (e *entry) hasTails(v *readers.Variable) bool {
	if !endsAtNUL(v.Type) || v.Type.InMemory != nil || v.Type.Varies() {
		return false
	}
	value, err := v.ReadAll(e.ctx, uint64(e.ValueBytes))
	if err != nil {
		return false // reported when the values are read
	}
	return cutTails(v.Type, bytes.Clone(value.Data))
}

// endsAtNUL reports whether elements are or contain strings that can have a tail.
func endsAtNUL(t *readers.Type) bool {
	return holdsText(t, func(t *readers.Type) bool { return t.Padding == readers.NullTerminated && t.Size > 1 })
}

// endsWithBlanks reports whether elements are or contain strings padded with blanks.
func endsWithBlanks(t *readers.Type) bool {
	return holdsText(t, func(t *readers.Type) bool { return t.Padding == readers.SpacePadded && t.InMemory == nil })
}

// holdsText reports whether elements are or contain strings of some kind.
func holdsText(t *readers.Type, kind func(*readers.Type) bool) bool {
	switch t.Class {
	case readers.String:
		return kind(t)
	case readers.Array:
		return holdsText(t.Base, kind)
	case readers.Compound:
		return slices.ContainsFunc(t.Members, func(m readers.Member) bool { return holdsText(m.Type, kind) })
	}
	return false
}

// cutTails clears the tails and trailing blanks of strings in elements in memory form, and reports whether
// there were any.
func cutTails(t *readers.Type, data []byte) bool {
	in := readers.ValueReader{Data: data}
	cut := false
	for len(in.Data) > 0 && in.Err == nil {
		cut = cutElement(t, &in) || cut
	}
	return cut
}

func cutElement(t *readers.Type, in *readers.ValueReader) (cut bool) {
	switch t.Class {
	case readers.Compound:
		for _, m := range t.SortedMembers() {
			cut = cutElement(m.Type, in) || cut
		}
	case readers.Array:
		for n := t.Elements(); n > 0 && in.Err == nil; n-- {
			cut = cutElement(t.Base, in) || cut
		}
	default:
		b := in.Take(t.MemorySize())
		end := len(b)
		switch {
		case endsWithBlanks(t):
			end = len(bytes.TrimRight(b, " "))
		case endsAtNUL(t) && bytes.IndexByte(b, 0) >= 0:
			end = bytes.IndexByte(b, 0)
		}
		tail := b[end:]
		cut = len(bytes.TrimLeft(tail, "\x00")) > 0
		clear(tail)
	}
	return cut
}
