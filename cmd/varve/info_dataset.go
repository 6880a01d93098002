package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"varve/codec"
	"varve/manifest"
	"varve/manifest/present"
	"varve/manifest/store"
	"varve/zarrjson"
)

// printDataset writes arrays as xarray prints a dataset, group by group:
//
//	Dimensions:   time = 90, lat = 6
//	Coordinates:
//	  * time      (time) float64  2021-01-01 … 2021-03-31
//	                 units: days since 2021-01-01
//	Variables:
//	    t2m       (time, lat) float32
//	                 units: degC
//	Attributes:
//	    title: a sample
func printDataset(ctx context.Context, w io.Writer, s *store.Store, arrays []manifest.Array, all bool) error {
	d := &datasetPrinter{ctx: ctx, out: bufio.NewWriter(w), store: s}
	groups, attributes := []string{}, map[string]zarrjson.Attributes{}
	if all {
		for _, g := range s.Groups() {
			groups, attributes[groupPath(g.Path)] = append(groups, groupPath(g.Path)), g.Attributes
		}
	}
	members := map[string][]*manifest.Array{}
	for i := range arrays {
		at := path.Dir(arrays[i].Path)
		members[at] = append(members[at], &arrays[i])
		groups = append(groups, at)
	}
	slices.Sort(groups)
	for _, at := range slices.Compact(groups) {
		if err := d.group(at, members[at], attributes[at]); err != nil {
			return err
		}
	}
	return d.out.Flush()
}

func groupPath(p string) string { return "/" + strings.Trim(p, "/") }

type datasetPrinter struct {
	ctx   context.Context
	out   *bufio.Writer
	store *store.Store
}

func (d *datasetPrinter) group(at string, arrays []*manifest.Array, attributes zarrjson.Attributes) error {
	if len(arrays) == 0 && attributes.Len() == 0 {
		return nil
	}
	if at != "/" {
		fmt.Fprintf(d.out, "Group %s\n", printable(at))
	}
	d.dimensions(arrays)
	var coordinates, variables []*manifest.Array
	for _, a := range arrays {
		if isCoordinate(a, arrays) {
			coordinates = append(coordinates, a)
		} else {
			variables = append(variables, a)
		}
	}
	width := 0
	for _, a := range arrays {
		width = max(width, len(printable(path.Base(a.Path))))
	}
	for _, section := range []struct {
		title  string
		arrays []*manifest.Array
	}{{"Coordinates", coordinates}, {"Variables", variables}} {
		if len(section.arrays) == 0 {
			continue
		}
		fmt.Fprintln(d.out, section.title+":")
		for _, a := range section.arrays {
			if err := d.array(a, width, section.title == "Coordinates"); err != nil {
				return err
			}
		}
	}
	if attributes.Len() > 0 {
		fmt.Fprintln(d.out, "Attributes:")
		d.attributes("    ", attributes, nil)
	}
	fmt.Fprintln(d.out)
	return nil
}

func (d *datasetPrinter) dimensions(arrays []*manifest.Array) {
	var texts []string
	for _, a := range arrays {
		for axis, name := range a.Schema.Dims() {
			text := fmt.Sprintf("%s = %d", printable(name), a.Schema.Shape[axis])
			if !slices.Contains(texts, text) {
				texts = append(texts, text)
			}
		}
	}
	if len(texts) > 0 {
		fmt.Fprintf(d.out, "Dimensions:  %s\n", strings.Join(texts, ", "))
	}
}

// isCoordinate reports whether an array is a coordinate, as xarray has it: it is named like its only
// dimension, or in the attribute "coordinates" of another array of the group.
func isCoordinate(a *manifest.Array, arrays []*manifest.Array) bool {
	name := path.Base(a.Path)
	if isIndex(a) {
		return true
	}
	return slices.ContainsFunc(arrays, func(b *manifest.Array) bool {
		return b != a && slices.Contains(strings.Fields(textAttribute(b.Schema.Attributes, "coordinates")), name)
	})
}

// isIndex reports whether an array is the coordinate variable of a dimension.
func isIndex(a *manifest.Array) bool {
	dims := a.Schema.Dims()
	return len(dims) == 1 && dims[0] == path.Base(a.Path)
}

func textAttribute(attributes zarrjson.Attributes, name string) (text string) {
	value, ok := attributes.Get(name)
	if !ok || json.Unmarshal(value, &text) != nil {
		return ""
	}
	return text
}

func (d *datasetPrinter) array(a *manifest.Array, width int, coordinate bool) error {
	mark := "  "
	if coordinate && isIndex(a) {
		mark = "* "
	}
	dims := make([]string, 0, len(a.Schema.Shape))
	for _, name := range a.Schema.Dims() {
		dims = append(dims, printable(name))
	}
	fmt.Fprintf(d.out, "  %s%-*s  (%s) %s", mark, width, printable(path.Base(a.Path)), strings.Join(dims, ", "), a.Schema.DataType.Name())
	if coordinate {
		text, err := d.valueRange(a)
		if err != nil {
			return err
		}
		if text != "" {
			fmt.Fprint(d.out, "  ", text)
		}
	}
	fmt.Fprintln(d.out)
	d.attributes(strings.Repeat(" ", width+6), a.Schema.Attributes, &a.Schema.DataType)
	return nil
}

// longestAttribute limits the text of one attribute. Histories may have many pages.
const longestAttribute = 100

// attributes prints the attributes of an array of a type, or of a group.
func (d *datasetPrinter) attributes(indent string, attributes zarrjson.Attributes, of *zarrjson.DataType) {
	for name, value := range attributes.All() {
		var text string
		if of != nil && name == "_FillValue" {
			value = plainMask(*of, value)
		}
		if json.Unmarshal(value, &text) != nil {
			text = string(value)
		}
		text = strings.Join(strings.Fields(text), " ")
		if runes := []rune(text); len(runes) > longestAttribute {
			text = string(runes[:longestAttribute]) + "…"
		}
		fmt.Fprintf(d.out, "%s%s: %s\n", indent, printable(name), printable(text))
	}
}

// plainMask returns the attribute _FillValue of an array as a number. Format 3 has floats as base64.
func plainMask(t zarrjson.DataType, value []byte) []byte {
	element, err := t.DecodeMask(value)
	if err != nil {
		return value
	}
	plain, err := t.FillJSON(element)
	switch {
	case err != nil:
		return value
	case t.Type().Kind == codec.Float && bytes.HasPrefix(plain, []byte(`"0x`)):
		return []byte("NaN") // with other bits than the usual one
	}
	return plain
}

// valueRange returns the first and last value of a coordinate, decoded, or "" if its values are not
// stored in the manifest: info does not read sources.
func (d *datasetPrinter) valueRange(a *manifest.Array) (string, error) {
	if a.Placement != "" || len(a.Schema.Shape) > 1 {
		return "", nil
	}
	array, err := d.store.Array(a.Path)
	if err != nil {
		return "", err
	}
	if len(a.Schema.Shape) == 0 {
		return d.value(array, 0)
	}
	n := a.Schema.Shape[0]
	if n == 0 {
		return "", nil
	}
	first, err := d.value(array, 0)
	if err != nil || n == 1 {
		return first, err
	}
	last, err := d.value(array, n-1)
	return first + " … " + last, err
}

// value returns one element as text.
func (d *datasetPrinter) value(array *store.Array, index int64) (string, error) {
	selection := present.Whole(array)
	if len(array.Schema().Shape) > 0 {
		x := &selection.Axes[0]
		x.From, x.To, x.Single = index, index+1, true
	}
	indexer, err := selection.Indexer()
	if err != nil {
		return "", err
	}
	decoder, err := present.NewDecoder(array, nil)
	if err != nil {
		// Attributes that mean nothing in CF, such as unknown time units, leave the stored numbers.
		if decoder, err = present.NewDecoder(array, &present.DecoderOptions{Packed: true}); err != nil {
			return "", nil
		}
	}
	elems := codec.NewElems(array.Schema().Form(indexer.Shape()))
	if err := array.Read(d.ctx, indexer, elems); err != nil {
		return "", err
	}
	element := elems.Fixed
	if len(elems.Var) > 0 {
		element = elems.Var[0]
	}
	text, err := decoder.Text(element)
	return printable(text), err
}
