package manifest

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"iter"
)

// FileHeader is the header of a file, in little memory. Files of an archive often differ in the values of attributes:
// each has its own scale_factor, actual_range or valid_min. So a FileHeader has a pointer to a header that many files
// share, its base, and the values in which its header differs from that one:
//
//	base ──────► Header of 40 variables, 50 KB   shared by all headers that differ from it only in values of attributes
//	differences  values, about 1 KB              see appendDifferences
//
// It never changes, so it is safe for concurrent use. Shared.Header makes FileHeaders that share memory.
type FileHeader struct {
	ID          string // of the header
	base        *Header
	differences string
}

// Difference is the value of an attribute that differs from that of another header.
type Difference struct {
	Variable, Attribute int    // indices
	Value               string // equal for equal values
}

// NewFileHeader returns a FileHeader that shares nothing with others. The header must not change any more.
func NewFileHeader(h *Header) *FileHeader { return &FileHeader{ID: h.ID, base: h} }

// Base returns a header that differs from this one only in values of attributes: it has the same variables with the same
// names and types of attributes, in the same order. Headers that share it differ in no more than that.
func (h *FileHeader) Base() *Header { return h.base }

// Expand returns the header. It makes a copy of each variable that differs from that of Base.
func (h *FileHeader) Expand() *Header {
	if h.differences == "" {
		return h.base
	}
	out := &Header{ID: h.ID, Dimensions: h.base.Dimensions, Variables: append([]*Variable(nil), h.base.Variables...)}
	for i, differences := range differenceLists(h.differences) {
		out.Variables[i] = h.base.Variables[i].with(differences)
	}
	return out
}

// Variable returns variable i of the header. If its attributes are those of Base, it is the variable of Base; otherwise
// each call makes a new one.
func (h *FileHeader) Variable(i int) *Variable {
	v := h.base.Variables[i]
	if differences := h.DifferencesOf(i); differences != "" {
		return v.with(differences)
	}
	return v
}

// DifferencesOf identifies the attributes of variable i among all headers with the same Base. It is empty if they are those
// of Base. Headers of different scans have different bases, also if they are equal.
func (h *FileHeader) DifferencesOf(i int) string {
	for at, differences := range differenceLists(h.differences) {
		if at >= i {
			if at == i {
				return differences
			}
			break
		}
	}
	return ""
}

// Differences yields the values of attributes that differ from those of Base, sorted by variable and attribute.
func (h *FileHeader) Differences() iter.Seq[Difference] {
	return func(yield func(Difference) bool) {
		for i, differences := range differenceLists(h.differences) {
			d := Difference{Variable: i}
			for differences != "" {
				var skipped uint64
				skipped, differences = cutUvarint(differences)
				d.Attribute += int(skipped)
				if d.Value, differences = cutText(differences); !yield(d) {
					return
				}
			}
		}
	}
}

// Attribute returns the attribute of a difference.
func (h *FileHeader) Attribute(d Difference) Attribute {
	a := h.base.Variables[d.Variable].Attributes[d.Attribute]
	a.setValue(d.Value)
	return a
}

// WithBase returns a header with the same ID and the same differences, and with another base. That must begin with the
// variables of the present one, with attributes of the same names and types.
func (h *FileHeader) WithBase(base *Header) *FileHeader {
	return &FileHeader{ID: h.ID, base: base, differences: h.differences}
}

// Len returns the number of variables.
func (h *FileHeader) Len() int { return len(h.base.Variables) }

// Dimensions returns the dimensions.
func (h *FileHeader) Dimensions() []Dimension { return h.base.Dimensions }

// Rows returns the number of refs of a file with this header.
func (h *FileHeader) Rows() int64 { return h.base.Rows() }

// Find returns the index of the variable with this path, or -1.
func (h *FileHeader) Find(path string) int { return h.base.Find(path) }

// MarshalJSON returns the JSON of the header.
func (h *FileHeader) MarshalJSON() ([]byte, error) { return h.Expand().MarshalJSON() }

// differenceLists yields the lists of attributes in the result of appendDifferences: the index of each, and its values.
func differenceLists(differences string) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		for at, rest := 0, differences; rest != ""; {
			var skipped uint64
			skipped, rest = cutUvarint(rest)
			at += int(skipped)
			var list string
			if list, rest = cutText(rest); !yield(at, list) {
				return
			}
		}
	}
}

// appendDifferences appends the values of n lists of attributes that differ from those of lists of the same form. Lists without
// such values have no part in it. All numbers are varints:
//
//	list, minus the one before        length of the rest
//	attribute, minus the one before   length of its value, and the value
//	…                                 further attributes of the list
func appendDifferences(dst []byte, n int, lists, base func(i int) []Attribute) []byte {
	last := 0
	var values, value []byte
	for i := range n {
		values = values[:0]
		lastAttribute := 0
		all, others := lists(i), base(i)
		for k := range all {
			if a, b := &all[k], &others[k]; !a.hasValueOf(b) {
				values = binary.AppendUvarint(values, uint64(k-lastAttribute))
				value = a.appendValue(value[:0])
				values = appendBytes(values, value)
				lastAttribute = k
			}
		}
		if len(values) > 0 {
			dst = appendBytes(binary.AppendUvarint(dst, uint64(i-last)), values)
			last = i
		}
	}
	return dst
}

// with returns the variable with other values of attributes.
func (v *Variable) with(differences string) *Variable {
	out := *v
	out.Attributes = withDifferences(v.Attributes, differences)
	return &out
}

// withDifferences returns a copy of a list of attributes with other values.
func withDifferences(base []Attribute, differences string) []Attribute {
	list := append([]Attribute(nil), base...)
	for at := 0; differences != ""; {
		var skipped uint64
		skipped, differences = cutUvarint(differences)
		at += int(skipped)
		var value string
		value, differences = cutText(differences)
		list[at].setValue(value)
	}
	return list
}

// hasValueOf reports whether two attributes of the same form have the same value.
func (a *Attribute) hasValueOf(b *Attribute) bool {
	if !bytes.Equal(a.Data, b.Data) || len(a.Texts) != len(b.Texts) || a.JSON != b.JSON {
		return false
	}
	for i := range a.Texts {
		if a.Texts[i] != b.Texts[i] {
			return false
		}
	}
	return true
}

// appendValue appends the value of an attribute.
func (a *Attribute) appendValue(dst []byte) []byte {
	dst = binary.AppendUvarint(appendBytes(dst, a.Data), uint64(len(a.Texts)))
	for _, text := range a.Texts {
		dst = appendText(dst, text)
	}
	return append(dst, a.JSON...)
}

// setValue replaces the value by one that appendValue has made. The texts share the memory of value.
func (a *Attribute) setValue(value string) {
	data, value := cutText(value)
	n, value := cutUvarint(value)
	a.Data, a.Texts = nil, nil
	if data != "" {
		a.Data = []byte(data)
	}
	if n > 0 {
		a.Texts = make([]string, n)
	}
	for i := range a.Texts {
		a.Texts[i], value = cutText(value)
	}
	a.JSON = value
}

// cutUvarint cuts a number off a text.
func cutUvarint(text string) (n uint64, rest string) {
	for i := 0; i < len(text); i++ {
		if n |= uint64(text[i]&0x7f) << (7 * i); text[i] < 0x80 {
			return n, text[i+1:]
		}
	}
	return n, ""
}

// cutText cuts a text off a text that begins with its length.
func cutText(text string) (cut, rest string) {
	n, rest := cutUvarint(text)
	return rest[:n], rest[n:]
}

// form is a hash of everything in a header except the values of attributes.
type form [sha256.Size]byte

// formOf returns the form of a header. It uses the memory of scratch.
func formOf(h *Header, scratch *[]byte) form {
	key := h.appendDimensions((*scratch)[:0])
	for _, v := range h.Variables {
		key = v.appendElements(appendText(key, v.Path))
		key = v.appendStored(appendForm(key, v.Attributes))
	}
	*scratch = key
	return sha256.Sum256(key)
}

// appendForm appends everything in a list of attributes except the values.
func appendForm(key []byte, list []Attribute) []byte {
	key = binary.AppendUvarint(key, uint64(len(list)))
	for i := range list {
		a := &list[i]
		key = appendType(appendText(key, a.Name), a.Type)
		key = appendText(appendFlags(key, a.Scalar, a.JSON != ""), a.Unreadable)
	}
	return key
}

func (h *Header) attributesOf(i int) []Attribute { return h.Variables[i].Attributes }

// fileHeaders makes FileHeaders that share memory. The zero value is ready. It is not safe for concurrent use.
type fileHeaders struct {
	byForm    map[form]*Header
	variables SharedVariables // headers of different forms often have equal variables too
	scratch   []byte
}

// share returns the FileHeader of a header. If it has a new form, ready is called, unless it is nil, and the header is kept.
// Otherwise nothing of the header is kept.
func (f *fileHeaders) share(h *Header, ready func()) *FileHeader {
	key := formOf(h, &f.scratch)
	base := f.byForm[key]
	if base == nil {
		if ready != nil {
			ready()
		}
		f.variables.Share(h)
		if f.byForm == nil {
			f.byForm = map[form]*Header{}
		}
		f.byForm[key] = h
		return &FileHeader{ID: h.ID, base: h}
	}
	f.scratch = appendDifferences(f.scratch[:0], len(h.Variables), h.attributesOf, base.attributesOf)
	return &FileHeader{ID: h.ID, base: base, differences: string(f.scratch)}
}
