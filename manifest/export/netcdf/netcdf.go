// Package netcdf writes files of netCDF's classic model: CDF-2, or CDF-5 if CDF-2 does not have a type or a length of the
// file.
//
// A file is a header and then the values of each variable (netCDF Classic Format
// Specification; numbers are big-endian, n is 4 bytes in CDF-2 and 8 in CDF-5):
//
//	"CDF" version  numrecs n  dim_list  att_list  var_list  │ values of each variable, padded to 4
//
//	list      tag(4) n elements…        tag 10 dimensions, 11 variables, 12 attributes;
//	                                    0 and 0 for an empty list
//	name      n bytes… padded to 4
//	dimension name  length n            0: the record dimension
//	attribute name  type(4)  n  values… padded to 4
//	variable  name  rank n  dimension ids n…  att_list  type(4)  vsize n  begin(8)
//
// Only the header must be known before writing, so values of any size can be streamed. A dimension of length 0 is the record
// dimension, since the format has no other dimension of length 0. Records are behind the values of all other variables; each has a
// part of each variable with the record dimension.
package netcdf

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Type is an external type of the format.
type Type uint8

// The types. Types from UByte on need CDF-5.
const (
	Byte Type = iota + 1
	Char
	Short
	Int
	Float
	Double
	UByte
	UShort
	UInt
	Int64
	UInt64
)

var sizes = [...]int{Byte: 1, Char: 1, Short: 2, Int: 4, Float: 4, Double: 8, UByte: 1, UShort: 2, UInt: 4, Int64: 8, UInt64: 8}

// Size returns the number of bytes of an element.
func (t Type) Size() int {
	if int(t) >= len(sizes) {
		return 0
	}
	return sizes[t]
}

// File is the content of a file, except the values of its variables.
type File struct {
	Dimensions []Dimension
	Attributes []Attribute
	Variables  []Variable
	// Records is the length of the record dimension, which has the Length 0. Write cannot write records.
	Records int64
}

// Dimension is a named length.
type Dimension struct {
	Name   string
	Length int64
}

// Attribute is a list of values of one type, or a text of Chars.
type Attribute struct {
	Name string
	Type Type
	Data []byte // little-endian
}

// Text returns an attribute that is a text.
func Text(name, value string) Attribute {
	return Attribute{Name: name, Type: Char, Data: []byte(value)}
}

// Variable is an array of elements.
type Variable struct {
	Name       string
	Dimensions []int // places in File.Dimensions
	Type       Type
	Attributes []Attribute
}

// check reports the first thing that the format cannot hold.
func (f *File) check() error {
	seen := map[string]bool{}
	empty := -1
	for i, d := range f.Dimensions {
		if err := checkName("dimension", d.Name, seen); err != nil {
			return err
		}
		if d.Length < 0 {
			return fmt.Errorf("dimension %s has the length %d", d.Name, d.Length)
		}
		if d.Length == 0 {
			if empty >= 0 {
				return fmt.Errorf("dimensions %s and %s have no length: %w, the format has room for one", f.Dimensions[empty].Name, d.Name, errors.ErrUnsupported)
			}
			empty = i
		}
	}
	if err := checkAttributes(f.Attributes); err != nil {
		return err
	}
	seen = map[string]bool{}
	for i := range f.Variables {
		v := &f.Variables[i]
		if err := checkName("variable", v.Name, seen); err != nil {
			return err
		}
		if err := f.checkVariable(v); err != nil {
			return fmt.Errorf("variable %s: %w", v.Name, err)
		}
	}
	return nil
}

func (f *File) checkVariable(v *Variable) error {
	if v.Type.Size() == 0 {
		return fmt.Errorf("there is no type %d", v.Type)
	}
	size := int64(v.Type.Size())
	for axis, d := range v.Dimensions {
		if d < 0 || d >= len(f.Dimensions) {
			return fmt.Errorf("axis %d has dimension %d of %d", axis, d, len(f.Dimensions))
		}
		n := f.Dimensions[d].Length
		if n == 0 && axis > 0 {
			return fmt.Errorf("dimension %s has length 0, which only the first dimension of a variable can have: %w", f.Dimensions[d].Name, errors.ErrUnsupported)
		}
		if n > 0 && size > (math.MaxInt64-3)/n {
			return fmt.Errorf("more bytes than an int64 counts: %w", errors.ErrUnsupported)
		}
		size *= max(n, 1)
	}
	return checkAttributes(v.Attributes)
}

func checkAttributes(attributes []Attribute) error {
	seen := map[string]bool{}
	for _, a := range attributes {
		if err := checkName("attribute", a.Name, seen); err != nil {
			return err
		}
		if a.Type.Size() == 0 || len(a.Data)%a.Type.Size() != 0 {
			return fmt.Errorf("attribute %s: %d bytes of type %d", a.Name, len(a.Data), a.Type)
		}
	}
	return nil
}

// CheckName returns an error if the grammar of the specification has no such name.
func CheckName(what, name string) error {
	first, _ := utf8.DecodeRuneInString(name)
	bad := name == "" || !utf8.ValidString(name) || strings.HasSuffix(name, " ") ||
		strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f || r == '/' }) ||
		first < utf8.RuneSelf && first != '_' && !unicode.IsLetter(first) && !unicode.IsDigit(first)
	if bad {
		return fmt.Errorf("%s %q: %w: no name of netCDF", what, name, errors.ErrUnsupported)
	}
	return nil
}

// checkName is CheckName for one of several names, which must differ.
func checkName(what, name string, seen map[string]bool) error {
	if err := CheckName(what, name); err != nil {
		return err
	}
	if seen[name] {
		return fmt.Errorf("two %ss are called %s", what, name)
	}
	seen[name] = true
	return nil
}

// large is what CDF-2 has no room for: lengths, and bytes of a variable.
const large = math.MaxInt32 - 3

// Version is 2 or, if the file needs it, 5.
func (f *File) Version() int {
	if f.Records > large {
		return 5
	}
	for _, d := range f.Dimensions {
		if d.Length > large {
			return 5
		}
	}
	attributes := f.Attributes
	for i := range f.Variables {
		v := &f.Variables[i]
		if v.Type > Double || f.size(v) > large {
			return 5
		}
		attributes = append(attributes[:len(attributes):len(attributes)], v.Attributes...)
	}
	for _, a := range attributes {
		if a.Type > Double || len(a.Data) > large {
			return 5
		}
	}
	return 2
}

// Size returns the number of bytes of the file.
func (f *File) Size() (int64, error) {
	header, err := f.Header()
	if err != nil {
		return 0, err
	}
	total := int64(len(header))
	for i := range f.Variables {
		if v := &f.Variables[i]; !f.isRecord(v) {
			n := padded(f.size(v))
			if total > math.MaxInt64-n {
				return 0, fmt.Errorf("more bytes than an int64 counts: %w", errors.ErrUnsupported)
			}
			total += n
		}
	}
	return total, nil
}

// isRecord reports whether a variable has the record dimension.
func (f *File) isRecord(v *Variable) bool {
	return len(v.Dimensions) > 0 && f.Dimensions[v.Dimensions[0]].Length == 0
}

// size is the bytes of a variable, or of one record, without padding.
func (f *File) size(v *Variable) int64 {
	n := int64(v.Type.Size())
	for _, d := range v.Dimensions {
		n *= max(f.Dimensions[d].Length, 1)
	}
	return n
}
