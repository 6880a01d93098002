package grib

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"varve/readers/internal/grib/internal/wgrib2"
)

// NameScheme says which names the variables of a dataset have. Empty means CFNames.
type NameScheme string

// The values of NameScheme.
const (
	CFNames      NameScheme = "cf"      // the key cfVarName of ecCodes, as cfgrib: t2m, u10
	EcCodesNames NameScheme = "eccodes" // the key shortName of ecCodes: 2t, 10u
	Wgrib2Names  NameScheme = "wgrib2"  // the names that wgrib2 prints: TMP, UGRD
)

// check returns an error if the scheme has no names for some fields.
func (s NameScheme) check(fields []*Field) error {
	if s == Wgrib2Names && slices.ContainsFunc(fields, func(f *Field) bool { return f.Edition == 1 }) {
		return fmt.Errorf("wgrib2 has no names for GRIB edition 1; choose the names of ecCodes or of CF: %w", errors.ErrUnsupported)
	}
	return nil
}

// variable returns the name for the parameter of a field. Other parts of a variable's name, such as the type of level, follow it.
func (s NameScheme) variable(f *Field) string {
	switch s {
	case EcCodesNames:
		if name := f.Names().ShortName; name != unknown && name != "~" && name != "" {
			return safe(name, "-.+")
		}
		return numbered(f)
	case Wgrib2Names:
		p := wgrib2.Parameter{Discipline: int64(f.Discipline)}
		p.Centre, _ = f.Int("centre")
		p.Category, _ = f.Int("parameterCategory")
		p.Number, _ = f.Int("parameterNumber")
		return wgrib2.Name(p)
	}
	name := f.Names().VarName
	if name == unknown || name == "p0" || name == "" {
		return numbered(f)
	}
	if name = safe(name, ""); unicode.IsDigit(rune(name[0])) {
		name = "_" + name
	}
	return name
}

// numbered names a parameter that has no name by its numbers.
func numbered(f *Field) string {
	if f.Edition == 1 {
		table, _ := f.Int("table2Version")
		number, _ := f.Int("indicatorOfParameter")
		return fmt.Sprintf("param%d_%d", number, table)
	}
	category, _ := f.Int("parameterCategory")
	number, _ := f.Int("parameterNumber")
	return fmt.Sprintf("param%d_%d_%d", f.Discipline, category, number)
}

// safe replaces each character of a name by an underscore, except ASCII letters and digits and the characters of also.
func safe(name, also string) string {
	return strings.Map(func(r rune) rune {
		if r < 128 && (unicode.IsLetter(r) || unicode.IsDigit(r)) || r == '_' || strings.ContainsRune(also, r) {
			return r
		}
		return '_'
	}, name)
}
