package hdf5

import (
	"fmt"
	"slices"
	"unicode/utf8"
)

// lookUpDims sets the dimensions that netCDF4-python shows. It asks netcdf-c only for their names, and
// takes the first dimension with that name in the variable's group or an ancestor.
func (b *netcdfBuilder) lookUpDims(g *NetCDFGroup) {
	for _, v := range g.Vars {
		v.ownDims = slices.Clone(v.Dims)
		for i, d := range v.Dims {
			if d != nil {
				v.Dims[i] = g.dimension(d)
			}
		}
	}
	for _, child := range g.Groups {
		b.lookUpDims(child)
	}
}

// dimension returns the dimension with the name of like that the group sees first.
func (g *NetCDFGroup) dimension(like *NetCDFDim) *NetCDFDim {
	for up := g; up != nil; up = up.parent {
		for _, d := range up.Dims {
			if d.Name == like.Name {
				return d
			}
		}
	}
	return like
}

// checkNames returns a NameError for names that are not UTF-8, which netCDF4-python cannot decode.
// It reads names of groups, dimensions, variables and their attributes when it opens a file, so
// these prevent opening. It reads a group's attributes on demand, so their error is stored in the
// group.
func (b *netcdfBuilder) checkNames(g *NetCDFGroup) error {
	names := []string{g.Name}
	for _, d := range g.Dims {
		names = append(names, d.Name)
	}
	for _, v := range g.Vars {
		if v.typ == nil {
			continue // netcdf-c skips the variable
		}
		names = append(names, v.Name)
		for i := range v.Attributes {
			names = append(names, v.Attributes[i].Name)
		}
	}
	if err := checkText(names); err != nil {
		return err
	}
	for i := 0; g.AttrErr == nil && i < len(g.Attributes); i++ {
		g.AttrErr = checkText([]string{g.Attributes[i].Name})
	}
	for _, child := range g.Groups {
		if err := b.checkNames(child); err != nil {
			return err
		}
	}
	return nil
}

func checkText(names []string) error {
	for _, name := range names {
		if !utf8.ValidString(name) {
			return &NameError{name}
		}
	}
	return nil
}

// NameError is the error of a name that is not UTF-8. Its text is the one of Python's
// UnicodeDecodeError.
type NameError struct{ Name string }

// Error returns the text of Python's UnicodeDecodeError.
func (e *NameError) Error() string {
	at, end, why := undecodableText(e.Name)
	if end == at+1 {
		return fmt.Sprintf("'utf-8' codec can't decode byte %#02x in position %d: %s", e.Name[at], at, why)
	}
	return fmt.Sprintf("'utf-8' codec can't decode bytes in position %d-%d: %s", at, end-1, why)
}

// undecodableText returns the range of the first bytes that are not UTF-8, and Python's reason.
func undecodableText(s string) (at, end int, why string) {
	for at < len(s) {
		r, n := utf8.DecodeRuneInString(s[at:])
		if r != utf8.RuneError || n > 1 {
			at += n
			continue
		}
		if s[at] < 0xc2 || s[at] > 0xf4 {
			return at, at + 1, "invalid start byte"
		}
		// Python counts the bytes that could start a valid sequence.
		for end = min(at+3, len(s)); end > at+1 && utf8.FullRuneInString(s[at:end]); {
			end--
		}
		if end == len(s) && !utf8.FullRuneInString(s[at:]) {
			return at, end, "unexpected end of data"
		}
		return at, end, "invalid continuation byte"
	}
	return at, at, ""
}
