package main

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"varve/codec"
	"varve/readers"
)

// Limits of the text of one element.
const (
	maxShownParts = 64 // numbers and texts within it
	maxShownDepth = 16
)

// elementsText writes the first elements of a value as CDL does, and counts all of them.
func elementsText(v *readers.Value) ([]string, int) {
	n, ok := readers.Elements(v.Shape)
	switch {
	case !ok:
		return nil, 0
	case n == 0:
		return []string{}, 0
	}
	w := &elementWriter{ValueReader: readers.ValueReader{Data: v.Data}}
	var parts []string
	for range min(n, maxShownValues) {
		w.left = maxShownParts
		text := w.element(v.Type, 0)
		if w.Err != nil {
			return nil, 0
		}
		parts = append(parts, text)
	}
	return parts, int(n)
}

// elementWriter writes elements: compounds, arrays and sequences in braces.
type elementWriter struct {
	readers.ValueReader
	left int // parts that may still be written; further ones are skipped
}

func (w *elementWriter) element(t *readers.Type, depth int) string {
	if depth > maxShownDepth {
		w.Err = readers.Corruptf("an element is nested too deep")
		return ""
	}
	if t.InMemory != nil {
		return w.plain(t)
	}
	switch t.Class {
	case readers.Compound:
		members := t.SortedMembers()
		return w.list(uint64(len(members)), func(i uint64) string { return w.element(members[i].Type, depth+1) })
	case readers.Array:
		return w.list(t.Elements(), func(uint64) string { return w.element(t.Base, depth+1) })
	case readers.Complex:
		return w.list(2, func(uint64) string { return w.element(t.Base, depth+1) })
	case readers.VarLen:
		if t.IsText {
			return w.quoted(w.Take(w.Count()))
		}
		n := w.Count()
		if n > uint64(len(w.Data)) {
			w.Err = readers.Corruptf("a sequence of %d elements in %d bytes", n, len(w.Data))
			return ""
		}
		return w.list(n, func(uint64) string { return w.element(t.Base, depth+1) })
	}
	return w.plain(t)
}

// list writes n parts.
func (w *elementWriter) list(n uint64, part func(i uint64) string) string {
	var parts []string
	for i := range n {
		text := part(i)
		if w.Err != nil {
			return ""
		}
		if w.left--; w.left > 0 {
			parts = append(parts, text)
		}
	}
	if uint64(len(parts)) < n {
		parts = append(parts, "…")
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// plain writes an element without parts.
func (w *elementWriter) plain(t *readers.Type) string {
	size := t.MemorySize()
	if t.InMemory != nil {
		size = uint64(t.InMemory.Size)
	}
	b := w.Take(size)
	if w.Err != nil {
		return ""
	}
	if t.Class == readers.Enum {
		if name, ok := choiceName(t, b); ok {
			return printable(name)
		}
		t = t.Base
	}
	element, ok := t.Element()
	switch {
	case t.Class == readers.String:
		return w.quoted(t.Padding.Trim(b))
	case t.Class == readers.Reference:
		return fmt.Sprintf("@%d", readers.Int(8, readers.LittleEndian, false).Uint64(b[:8]))
	case ok && element.Kind == codec.Float && element.Size == 2 && len(b) == 2:
		return floatText(t.Float64(b), 32) + "h"
	case ok && (element.Kind == codec.Int || element.Kind == codec.Uint || element.Kind == codec.Float) && len(b) == element.Size && element.Size <= 8:
		return numberText(element, b)
	}
	return fmt.Sprintf("0x%x", b)
}

func (w *elementWriter) quoted(b []byte) string { return strconv.Quote(string(b)) }

// choiceName finds the name of a value of an enumeration, given little-endian.
func choiceName(t *readers.Type, b []byte) (string, bool) {
	for _, c := range t.Choices {
		value := slices.Clone(c.Value)
		if t.Base.Order == readers.BigEndian {
			slices.Reverse(value)
		}
		if bytes.Equal(value, b) {
			return c.Name, true
		}
	}
	return "", false
}
