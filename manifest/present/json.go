package present

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"varve/codec"
	"varve/manifest/internal/cf"
	"varve/manifest/store"
)

// writeJSON writes selections in the form of xarray's Dataset.to_dict, which Dataset.from_dict reads:
//
//	{"attrs": {}, "dims": {"time": 2},
//	 "coords": {"time": {"dims": ["time"], "attrs": {}, "data": ["2010-01-01", "2010-02-01"]}},
//	 "data_vars": {"t2m": {"dims": ["time"], "attrs": {"units": "K"}, "data": [273.15, null]}}}
//
// Missing values and NaN are null, and infinities texts. Times of coordinates are texts, too.
func writeJSON(ctx context.Context, w io.Writer, st *store.Store, selections []*Selection, decoders []*Decoder) error {
	j := &jsonFile{out: bufio.NewWriterSize(w, 256<<10)}
	j.text(`{"attrs": {}, "dims": {`)
	var coordinates []*Selection
	seen := map[string]bool{}
	for _, s := range selections {
		for _, x := range s.Axes {
			if seen[x.Dim] {
				continue
			}
			seen[x.Dim] = true
			if !x.Single {
				j.separate(len(j.keys))
				j.keys = append(j.keys, x.Dim)
				j.value(x.Dim)
				j.text(fmt.Sprintf(": %d", x.Len()))
			}
			if c, ok := arraysOf(st).Coordinate(s.Array, x.Dim); ok && !slices.ContainsFunc(selections, func(s *Selection) bool { return s.Array == c }) {
				of := along(c, x)
				of.Axes[0].Single = x.Single
				coordinates = append(coordinates, of)
			}
		}
	}
	j.text(`}, "coords": {`)
	for i, s := range coordinates {
		d, err := NewDecoder(s.Array, nil)
		if err != nil {
			return err
		}
		j.separate(i)
		if err := j.variable(ctx, baseName(s.Array), s, d); err != nil {
			return err
		}
	}
	j.text(`}, "data_vars": {`)
	for i, s := range selections {
		j.separate(i)
		if err := j.variable(ctx, columnName(selections, s), s, decoders[i]); err != nil {
			return err
		}
	}
	j.text("}}\n")
	if j.err != nil {
		return j.err
	}
	return j.out.Flush()
}

// sameLengths returns an error if a dimension has several lengths in selections.
func sameLengths(selections []*Selection) error {
	lengths := map[string]int64{}
	for _, s := range selections {
		for _, x := range s.Axes {
			if length, known := lengths[x.Dim]; known && length != x.Len() {
				return fmt.Errorf("%s: dimension %s has %d selected elements here, and %d in another place: %w; request variables apart, or as .csv",
					s.Array.Path(), x.Dim, x.Len(), length, errors.ErrUnsupported)
			}
			lengths[x.Dim] = x.Len()
		}
	}
	return nil
}

// jsonFile is a document that is being written.
type jsonFile struct {
	out  *bufio.Writer
	keys []string // the dimensions that are written
	err  error    // the first error of out
}

func (j *jsonFile) text(s string) {
	if _, err := j.out.WriteString(s); err != nil && j.err == nil {
		j.err = err
	}
}

// separate writes the comma before the i-th member of an object.
func (j *jsonFile) separate(i int) {
	if i > 0 {
		j.text(", ")
	}
}

// value writes a text or a list of texts.
func (j *jsonFile) value(v any) {
	text, err := json.Marshal(v)
	if err != nil && j.err == nil {
		j.err = err // cannot happen
	}
	j.text(string(text))
}

// variable writes a member with a selection.
func (j *jsonFile) variable(ctx context.Context, name string, s *Selection, d *Decoder) error {
	dims := []string{}
	for _, x := range s.Axes {
		if !x.Single {
			dims = append(dims, x.Dim)
		}
	}
	j.value(name)
	j.text(`: {"dims": `)
	j.value(dims)
	j.text(`, "attrs": {`)
	n := 0
	for name, value := range s.Array.Schema().Attributes.All() {
		if !d.keeps(name) {
			continue
		}
		j.separate(n)
		n++
		j.value(name)
		j.text(": ")
		j.text(string(value))
	}
	j.text(`}, "data": `)
	shape := s.Shape()
	if slices.Contains(shape, 0) {
		j.text(strings.Repeat("[", len(shape)) + strings.Repeat("]", len(shape)) + "}")
		return j.err
	}
	at := make([]int64, len(shape))
	var cell []byte
	err := s.Each(ctx, func(elems codec.Elems) error {
		n := s.counted(elems)
		for i := range n {
			open := 0 // the brackets before and after an element follow from its position
			for k := len(at) - 1; k >= 0 && at[k] == 0; k-- {
				open++
			}
			if open < len(at) {
				j.text(", ")
			}
			j.text(strings.Repeat("[", open))
			var err error
			if cell, err = d.appendJSON(cell[:0], d.element(elems, i)); err != nil {
				return fmt.Errorf("%s: %w", s.Array.Path(), err)
			}
			if _, err := j.out.Write(cell); err != nil {
				return err
			}
			for k := len(at) - 1; k >= 0; k-- {
				if at[k]++; at[k] < shape[k] {
					break
				}
				at[k] = 0
				j.text("]")
			}
		}
		return j.err
	})
	j.text("}")
	return err
}

// keeps reports whether an attribute is still true of decoded elements.
func (d *Decoder) keeps(name string) bool {
	switch name {
	case cf.UnitsName, cf.CalendarName:
		return d.times == nil
	case cf.FillValue, cf.MissingValue:
		return false // missing values are null
	case cf.ScaleFactor, cf.AddOffset, cf.Unsigned:
		return !d.decode
	}
	return !IsStoredNumber(name) || !d.decode || !d.packing.Scaled() && d.packing.Type.Equal(d.typ) // the others are packed numbers
}

// appendJSON appends an element as JSON.
func (d *Decoder) appendJSON(dst, e []byte) ([]byte, error) {
	t := d.packing.Type
	isNumber := d.times == nil && (cf.IsNumber(t) || t.Kind == codec.Bool)
	if d.isMissing(e) {
		return append(dst, "null"...), nil
	}
	if isNumber && t.Kind == codec.Float {
		switch f := cf.Float(t, e); {
		case math.IsNaN(f):
			return append(dst, "null"...), nil
		case math.IsInf(f, 1):
			return append(dst, `"Infinity"`...), nil
		case math.IsInf(f, -1):
			return append(dst, `"-Infinity"`...), nil
		}
	}
	start := len(dst)
	dst, err := d.appendText(dst, e)
	switch {
	case err != nil || isNumber:
		return dst, err
	case len(dst) == start && (d.times != nil || t.Kind == codec.TimeDelta):
		return append(dst, "null"...), nil // NaT
	case t.Kind == codec.TimeDelta:
		return dst, nil
	}
	text := dst[start:]
	if !utf8.Valid(text) {
		return nil, fmt.Errorf("%.40q is not UTF-8", text)
	}
	quoted, err := json.Marshal(string(text))
	return append(dst[:start], quoted...), err
}
