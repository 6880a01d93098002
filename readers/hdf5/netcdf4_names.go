package hdf5

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"varve/readers"
)

// lookUp gives variables the dimensions that netCDF4-python shows: it asks netcdf-c for their
// names only, and takes the first dimension of such a name in the variable's group or above.
func (b *netcdfBuilder) lookUp(g *NetCDFGroup) {
	for _, v := range g.Vars {
		v.stored = slices.Clone(v.Dims)
		for i, d := range v.Dims {
			if d != nil {
				v.Dims[i] = g.dimension(d)
			}
		}
	}
	for _, child := range g.Groups {
		b.lookUp(child)
	}
}

// dimension returns the dimension that has the name of another, as seen from the group.
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

// checkNames refuses names that are no UTF-8, which netCDF4-python does not decode. It asks for
// those of attributes of variables and of user-defined types when it opens a file, and for
// those of attributes of groups when they are wanted.
func (b *netcdfBuilder) checkNames(g *NetCDFGroup) error {
	names := []string{g.Name}
	for _, d := range g.Dims {
		names = append(names, d.Name)
	}
	for _, v := range g.Vars {
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

// partNames are the names within a type.
func partNames(t *readers.Type) []string {
	var names []string
	for _, m := range t.Members {
		names = append(names, m.Name)
	}
	for _, c := range t.Choices {
		names = append(names, c.Name)
	}
	return names
}

func checkText(names []string) error {
	for _, name := range names {
		if !utf8.ValidString(name) {
			return fmt.Errorf("name %q: %w", name, readers.Corruptf("no UTF-8, which netCDF asks for"))
		}
	}
	return nil
}
