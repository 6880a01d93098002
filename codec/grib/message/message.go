// Package message parses the stored bytes of a GRIB field into its grid and the grib.Field that grib.Decode decodes.
package message

import (
	"errors"
	"fmt"

	"varve/codec/grib"
	"varve/codec/grib/geo"
	"varve/codec/grib/keys"
	"varve/codec/grib/section"
	"varve/codec/internal/corrupt"
)

// Open returns the field of a message, or the last field of a run of sections of edition 2 that begins with section 3, 5 or 6.
func Open(b []byte) (*grib.Field, *geo.Grid, error) {
	view, edition := section.ViewOf(b), 2
	whole := len(b) >= 4 && string(b[:4]) == "GRIB"
	if whole {
		h, err := section.ReadHeader(view, 0, int64(len(b)))
		if err != nil {
			return nil, nil, err
		}
		if h.Length != int64(len(b)) {
			return nil, nil, corrupt.Errorf("a message of %d bytes says that it has %d", len(b), h.Length)
		}
		edition = h.Edition
	}
	list, err := section.Walk(view, 0, int64(len(b)), edition)
	if err != nil {
		return nil, nil, err
	}
	fields, err := section.Fields(view, list, edition, !whole)
	if err != nil {
		return nil, nil, err
	}
	if whole && len(fields) > 1 {
		return nil, nil, fmt.Errorf("a message of %d fields, from which one has to be chosen: %w", len(fields), errors.ErrUnsupported)
	}
	return Field(edition, &fields[len(fields)-1], func(s section.Section) []byte { return b[s.Offset : s.Offset+s.Length] })
}

// Field makes a field of the bytes of its sections.
func Field(edition int, f *section.Field, bytes func(section.Section) []byte) (*grib.Field, *geo.Grid, error) {
	if edition == 1 {
		return field1(f, bytes)
	}
	out := &grib.Field{Edition: 2, Section5: bytes(f.Sections[5]), Section7: bytes(f.Sections[7])}
	g, err := geo.Parse(2, bytes(f.Sections[3]))
	if err != nil {
		return nil, nil, err
	}
	var before []byte
	if f.Bitmap.Length > 0 {
		if before, err = grib.Bitmap2(bytes(f.Bitmap), nil); err != nil {
			return nil, nil, err
		}
	}
	if out.Bitmap, err = grib.Bitmap2(bytes(f.Sections[6]), before); err != nil {
		return nil, nil, err
	}
	out.Points = g.Points
	shape(out, g)
	return out, g, nil
}

// decimalAt is the offset of the decimal scale in section 1 of edition 1.
const decimalAt = 26

func field1(f *section.Field, bytes func(section.Section) []byte) (*grib.Field, *geo.Grid, error) {
	product := bytes(f.Sections[1])
	if len(product) < decimalAt+2 {
		return nil, nil, corrupt.Errorf("section 1: %d bytes, at least %d are expected", len(product), decimalAt+2)
	}
	out := &grib.Field{Edition: 1, Section4: bytes(f.Sections[4]), DecimalScale: int(keys.Signed(product[decimalAt : decimalAt+2]))}
	var g *geo.Grid
	var err error
	if f.Sections[2].Length == 0 {
		g, err = geo.Predefined(int(product[6]))
	} else {
		g, err = geo.Parse(1, bytes(f.Sections[2]))
	}
	if err != nil {
		return nil, nil, err
	}
	if f.Sections[3].Length > 0 {
		s := bytes(f.Sections[3])
		if out.Bitmap, err = grib.Bitmap1(s); err != nil {
			return nil, nil, err
		}
		g.Count(8*len(out.Bitmap) - int(s[3]))
	}
	out.Points = g.Points
	shape(out, g)
	if out.Bitmap == nil {
		if info, err := out.Describe(); err == nil && info.BitsPerValue != 0 {
			g.Count(info.Coded)
			out.Points = g.Points
		}
	}
	return out, g, nil
}

// shape copies the rows and the truncation of the grid to the field. Some packings need them.
func shape(f *grib.Field, g *geo.Grid) {
	f.Columns, f.Rows, f.Truncation = g.Columns(), g.Rows, g.Truncation()
}
