package scan

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"varve/codec"
	"varve/manifest"
	"varve/manifest/internal/cf"
	"varve/readers"
)

// jsonTag is the tag of types whose texts are JSON.
const jsonTag = "json"

// attributes converts attributes to the form of a manifest.
func attributes(list []readers.Attribute) []manifest.Attribute {
	if len(list) == 0 {
		return nil
	}
	out := make([]manifest.Attribute, len(list))
	for i := range list {
		out[i] = attribute(&list[i])
	}
	spell(len(out), func(i int) *string { return &out[i].Name })
	return out
}

// attribute converts an attribute. Scalars and lists keep their type; everything else becomes JSON:
//
//	more than one axis        lists of lists
//	sequences                 lists
//	compounds                 objects
//	references to objects     their paths
//
// Values without a JSON form, such as references to regions, keep only their name.
func attribute(a *readers.Attribute) manifest.Attribute {
	if a.Err != nil {
		return unreadable(a.Name, a.Err)
	}
	if a.Type == nil {
		return unreadable(a.Name, errors.New("its type is unknown"))
	}
	inner, axes := flatten(a.Type)
	shape := slices.Clone(a.Shape)
	for _, n := range axes {
		shape = append(shape, uint64(n))
	}
	out, isFlat := manifest.Attribute{Name: a.Name, Scalar: len(shape) == 0 && !a.Null}, isList(shape)
	switch {
	case a.Null && a.Type.Class == readers.String:
		// netCDF-4 stores the empty string as a null string.
		return manifest.Attribute{Name: a.Name, Type: codec.Type{Kind: codec.String}, Texts: []string{""}, Scalar: true}
	case a.Type.Tag == jsonTag && len(a.Texts) == 1:
		out.JSON, out.Scalar = compacted(a.Texts[0]), false
		return out
	case hasTexts(a.Type) && !isFlat:
		w := speller{texts: a.Texts}
		w.nest(shape, w.text)
		return w.attribute(a.Name)
	case hasTexts(a.Type):
		out.Type = codec.Type{Kind: codec.String}
		out.Texts = make([]string, len(a.Texts))
		for i, t := range a.Texts {
			out.Texts[i] = string(t)
		}
		return out
	}
	t, _, err := elementOf(inner)
	if isFlat && err == nil && !t.Varies() && t.Kind != codec.Struct {
		out.Type, out.Data = t, widen(inner, t, a.Data)
		return out
	}
	if a.Null {
		shape = []uint64{0}
	}
	w := speller{ValueReader: readers.ValueReader{Data: a.Data}}
	w.nest(shape, func() { w.element(inner) })
	return w.attribute(a.Name)
}

func unreadable(name string, err error) manifest.Attribute {
	return manifest.Attribute{Name: name, Unreadable: reasonOf(err)}
}

// hasTexts reports whether a value's elements are in Texts.
func hasTexts(t *readers.Type) bool {
	return t.Class == readers.String || t.Class == readers.VarLen && (t.IsText || t.InMemory != nil)
}

// isList reports whether at most one axis has a length other than 1.
func isList(shape []uint64) bool {
	long := 0
	for _, n := range shape {
		if n != 1 {
			long++
		}
	}
	return long <= 1
}

// compacted returns JSON without white space, so that equal values have equal texts. Text that is not valid
// JSON, such as Python's NaN, is unchanged.
func compacted(text []byte) string {
	var out bytes.Buffer
	if json.Compact(&out, text) != nil {
		return string(text)
	}
	return out.String()
}

// maxSpelled limits the bytes of the JSON of an attribute: long field names of compounds are repeated for each
// element.
const maxSpelled = 16 << 20

// speller writes elements as JSON. It keeps the first error.
type speller struct {
	readers.ValueReader
	texts [][]byte // the texts, if they are not in ValueReader
	out   []byte
}

// attribute returns an attribute with the written JSON.
func (w *speller) attribute(name string) manifest.Attribute {
	if w.Err != nil {
		return unreadable(name, w.Err)
	}
	return manifest.Attribute{Name: name, JSON: string(w.out)}
}

// nest writes elements as nested lists.
func (w *speller) nest(shape []uint64, element func()) {
	if len(shape) == 0 {
		element()
		return
	}
	w.list(shape[0], func() { w.nest(shape[1:], element) })
}

func (w *speller) list(n uint64, one func()) {
	w.out = append(w.out, '[')
	for i := uint64(0); i < n && w.Err == nil; i++ {
		w.comma(i)
		one()
		if len(w.out) > maxSpelled {
			w.Err = fmt.Errorf("its JSON form has more than %d bytes", maxSpelled)
		}
	}
	w.out = append(w.out, ']')
}

func (w *speller) comma(i uint64) {
	if i > 0 {
		w.out = append(w.out, ',')
	}
}

// text writes the next text.
func (w *speller) text() {
	if len(w.texts) == 0 {
		w.Err = readers.Corruptf("fewer texts than elements")
		return
	}
	w.quoted(w.texts[0])
	w.texts = w.texts[1:]
}

func (w *speller) quoted(text []byte) { w.value(cf.TextJSON(string(text))) }

func (w *speller) value(raw []byte, err error) {
	if w.Err == nil {
		w.Err = err
	}
	w.out = append(w.out, raw...)
}

// element writes the next element.
func (w *speller) element(t *readers.Type) {
	element, _, err := elementOf(t)
	switch {
	case t.Class == readers.String && t.InMemory == nil:
		w.quoted(t.Padding.Trim(w.Take(uint64(t.Size))))
	case t.Class == readers.VarLen && (t.IsText || t.InMemory != nil):
		w.quoted(w.Take(w.Count()))
	case t.Class == readers.VarLen:
		n := w.Count()
		if n > uint64(len(w.Data)) {
			w.Err = readers.Corruptf("a sequence of %d elements in %d bytes", n, len(w.Data))
			return
		}
		w.list(n, func() { w.element(t.Base) })
	case t.Class == readers.Array && t.InMemory == nil:
		inner, axes := flatten(t)
		shape := make([]uint64, len(axes))
		for i, n := range axes {
			shape[i] = uint64(n)
		}
		w.nest(shape, func() { w.element(inner) })
	case t.Class == readers.Compound && t.InMemory == nil && (err != nil || element.Kind == codec.Struct):
		w.object(t.SortedMembers())
	case err != nil:
		w.value(nil, err)
	default:
		size := t.MemorySize()
		if t.InMemory != nil {
			size = uint64(element.Size)
		}
		if b := w.Take(size); b != nil {
			w.value(cf.ElementJSON(element, widen(t, element, b)))
		}
	}
}

func (w *speller) object(members []readers.Member) {
	names := make([]string, len(members))
	for i, m := range members {
		names[i] = m.Name
	}
	spell(len(names), func(i int) *string { return &names[i] })
	w.out = append(w.out, '{')
	for i, m := range members {
		w.comma(uint64(i))
		w.value(cf.TextJSON(names[i]))
		w.out = append(w.out, ':')
		w.element(m.Type)
	}
	w.out = append(w.out, '}')
}
