package scan

import (
	"bytes"
	"slices"

	"varve/readers"
)

// Texts that end at a NUL can have something behind it, as those of C programs do:
//
//	s w e \0 e t \0
//
// It is no part of the text, and who is given the stored bytes takes it for one.

// hasTails reports whether a text of a variable, or one in a compound, has a tail. Variables
// of more than ValueBytes are not looked at.
func (r *reading) hasTails(v *readers.Variable) bool {
	if !endsAtNUL(v.Type) || v.Type.InMemory != nil || v.Type.Varies() {
		return false
	}
	value, err := v.ReadAll(r.ctx, uint64(r.ValueBytes))
	if err != nil {
		return false // which is told when the values are wanted
	}
	return cutTails(v.Type, bytes.Clone(value.Data))
}

// endsAtNUL reports whether elements of a type are, or hold, texts that can have a tail.
func endsAtNUL(t *readers.Type) bool {
	switch t.Class {
	case readers.String:
		return t.Padding == readers.NullTerminated && t.Size > 1
	case readers.Array:
		return endsAtNUL(t.Base)
	case readers.Compound:
		return slices.ContainsFunc(t.Members, func(m readers.Member) bool { return endsAtNUL(m.Type) })
	}
	return false
}

// cutTails clears the tails in elements in memory form, and reports whether there were any.
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
		n := uint64(1)
		for _, k := range t.Dims {
			n *= uint64(k)
		}
		for ; n > 0 && in.Err == nil; n-- {
			cut = cutElement(t.Base, in) || cut
		}
	default:
		b := in.Take(t.MemorySize())
		if end := bytes.IndexByte(b, 0); end >= 0 && endsAtNUL(t) {
			tail := b[end:]
			cut = len(bytes.TrimLeft(tail, "\x00")) > 0
			clear(tail)
		}
	}
	return cut
}
