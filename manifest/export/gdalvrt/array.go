package gdalvrt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"varve/codec"
	"varve/grid"
	"varve/manifest"
	"varve/manifest/internal/cf"
	"varve/manifest/internal/georef"
	"varve/manifest/store"
	"varve/readers/source"
)

// array is an array of the VRT.
type array struct {
	*store.Array
	dims     []dimension
	isInline bool  // with its values
	sources  int64 // parts in files
	isWhole  bool  // the parts cover the array
}

// omitted is why an array cannot be in a VRT.
type omitted struct{ why string }

func (o *omitted) Error() string { return o.why }

func omit(format string, args ...any) error { return &omitted{fmt.Sprintf(format, args...)} }

// types are GDAL's names of types of numbers.
var types = map[codec.Kind]map[int]string{
	codec.Int:   {1: "Int8", 2: "Int16", 4: "Int32", 8: "Int64"},
	codec.Uint:  {1: "Byte", 2: "UInt16", 4: "UInt32", 8: "UInt64"},
	codec.Float: {4: "Float32", 8: "Float64"},
}

// dataType returns GDAL's name of the type of the array, or "".
func (a *array) dataType() string {
	t := a.Schema().DataType.Type()
	if t.Kind == codec.String {
		return "String"
	}
	return types[t.Kind][t.Size]
}

// check decides whether the array has sources, or values, or an *omitted that says why neither.
func (a *array) check(ctx context.Context, w *writer) error {
	if a.dataType() == "" {
		return omit("GDAL has no type like %s", a.Schema().DataType.Name())
	}
	elements := int64(1)
	for axis, n := range a.Schema().Shape {
		if n == 0 {
			return omit("its dimension %s has the length 0", a.Schema().Dim(axis))
		}
		elements = min(elements*min(n, maxElements+1), maxElements+1)
	}
	if a.IsInManifest() {
		if elements > maxElements {
			return omit("its values are in the manifest, and are more than %d", maxElements)
		}
		a.isInline = true
		return nil
	}
	why := a.checkSources(ctx, w)
	if why == nil {
		return nil
	}
	var reason *omitted
	if errors.As(why, &reason) && elements <= w.opts.InlineElements {
		a.isInline, a.sources = true, 0
		return nil
	}
	return why
}

// maxRepeats is the largest number of sources that one part of a file becomes, because its values repeat along a dimension.
const maxRepeats = 4096

// checkSources returns an *omitted if not all elements are in files as GDAL reads them.
func (a *array) checkSources(ctx context.Context, w *writer) error {
	t := a.Schema().DataType.Type()
	if t.Kind == codec.String {
		return omit("texts in files")
	}
	if _, has := a.Attributes().Get(cf.Unsigned); has {
		return omit("it has the attribute _Unsigned, which GDAL applies to some types only")
	}
	covered := int64(0)
	for tile, err := range a.Tiles(ctx) {
		if err != nil {
			return err
		}
		if err := checkTile(tile); err != nil {
			return err
		}
		if _, _, err := w.filename(tile.Source.URL); err != nil {
			return err
		}
		repeats := repeatsOf(tile)
		if repeats > maxRepeats {
			return omit("its values in %s repeat %d times", source.Shown(tile.Source.URL), repeats)
		}
		a.sources += repeats
		n, err := tile.Box.Elements()
		if err != nil {
			return err
		}
		covered += n
	}
	total, err := grid.Elements(a.Schema().Shape)
	a.isWhole = err == nil && covered == total
	return nil
}

// checkTile returns an *omitted if GDAL does not read the elements of the array from a file.
func checkTile(t *store.Tile) error {
	v, name := t.Variable, source.Shown(t.Source.URL)
	switch {
	case !hasDriver(t.Source.Format):
		return omit("%s is %s, and only netCDF and HDF5 files are sources", name, t.Source.Format)
	case !t.IsSame:
		return omit("its values in %s have another type, packing or units", name)
	case t.Reversed != nil:
		return omit("its values in %s are read backwards", name)
	case v.Storage.Layout == manifest.Parted:
		return omit("its values in %s are in other files", name)
	case len(v.Enum) > 0:
		return omit("it is an enumeration in %s", name)
	case len(v.Shape) == 0 && len(t.Axes) > 0:
		return omit("it is a scalar in %s, to which GDAL cannot add a dimension", name)
	case !utf8.ValidString(v.Path):
		return omit("its name in %s is not UTF-8", name)
	}
	return nil
}

// hasDriver reports whether GDAL reads files of a format as varve does.
func hasDriver(format string) bool {
	return format == "HDF5" || strings.HasPrefix(format, "netCDF-3") || strings.HasPrefix(format, "netCDF-4")
}

// repeatsOf returns how often the values of a tile repeat along dimensions that the file does not have.
func repeatsOf(t *store.Tile) int64 {
	n := int64(1)
	for axis, of := range t.Axes {
		if of < 0 {
			n = min(n*min(t.Box.Shape[axis], maxRepeats+1), maxRepeats+1)
		}
	}
	return n
}

// filename returns the name by which GDAL opens a source, and whether it is relative to the VRT.
func (w *writer) filename(url string) (name string, isRelative bool, err error) {
	if !utf8.ValidString(url) {
		return "", false, omit("the name %q is not UTF-8", url)
	}
	if source.IsPacked(url) {
		return "", false, omit("%s is in a compressed file or an archive", source.Shown(url))
	}
	if local, err := source.LocalPath(url); err == nil {
		if w.opts.Folder == "" {
			return local, false, nil
		}
		below, err := filepath.Rel(w.opts.Folder, local)
		if err != nil {
			return "", false, omit("%s has no name relative to %s", local, w.opts.Folder)
		}
		return filepath.ToSlash(below), true, nil
	}
	scheme, rest, _ := strings.Cut(url, "://")
	switch scheme {
	case "http", "https":
		return "/vsicurl/" + url, false, nil
	case "s3":
		return "/vsis3/" + rest, false, nil
	case "gs":
		return "/vsigs/" + rest, false, nil
	case "az":
		return "/vsiaz/" + rest, false, nil
	}
	return "", false, omit("GDAL has no name for %s", source.Shown(url))
}

// write writes the array.
func (a *array) write(ctx context.Context, w *writer, depth int) error {
	w.open(depth, "Array", "name", a.Path()[strings.LastIndexByte(a.Path(), '/')+1:])
	w.element(depth+1, "DataType", a.dataType())
	for _, d := range a.dims {
		if d.path != "" {
			w.element(depth+1, "DimensionRef", "", "ref", d.path)
		} else {
			w.dimension(depth+1, d)
		}
	}
	a.writeSystem(w, depth+1)
	special := a.writeSpecial(w, depth+1)
	var err error
	if a.isInline {
		err = a.writeValues(ctx, w, depth+1)
	} else {
		err = a.writeSources(ctx, w, depth+1)
	}
	for name, value := range a.Attributes().All() {
		if !slices.Contains(special, name) {
			w.attribute(depth+1, name, value)
		}
	}
	w.close(depth, "Array")
	return errors.Join(err, w.err)
}

// writeSystem writes the coordinate reference system of an array on a grid.
func (a *array) writeSystem(w *writer, depth int) {
	p, err := w.finder.Place(a.Array)
	if errors.Is(err, georef.ErrNoGrid) {
		return
	}
	if err == nil && p.CRS == nil {
		err = p.Unknown
	}
	switch {
	case err != nil:
	case p.Scales != [2]float64{1, 1}:
		err = fmt.Errorf("its coordinates are not in the units of the system")
	case p.CRS.Text == "":
		err = fmt.Errorf("only the code %s is known, and not the order of its axes", p.CRS.Code)
	}
	if err != nil {
		w.Omitted = append(w.Omitted, Omission{a.Path(), System, err.Error()})
		return
	}
	if p.IsAssumed {
		w.Assumed = append(w.Assumed, a.Path())
	}
	// The mapping has, for each axis of the system, the number of the dimension.
	first, second := p.X.Axis+1, p.Y.Axis+1
	if p.CRS.IsNorthFirst {
		first, second = second, first
	}
	w.element(depth, "SRS", p.CRS.Text, "dataAxisToSRSAxisMapping", fmt.Sprintf("%d,%d", first, second))
}

// writeSpecial writes attributes for which GDAL has elements, and returns their names.
func (a *array) writeSpecial(w *writer, depth int) (names []string) {
	attributes, t := a.Attributes(), a.Schema().DataType.Type()
	if units := cf.TextIn(attributes, cf.UnitsName); units != "" {
		w.element(depth, "Unit", units)
		names = append(names, cf.UnitsName)
	}
	if !cf.IsNumber(t) {
		return names
	}
	packing, err := cf.PackingOf(cf.VariableOf(a.Path(), a.Schema()))
	if err != nil {
		return names // they stay attributes
	}
	if len(packing.Masks) > 0 && isExact(t, packing.Masks[0]) {
		w.element(depth, "NoDataValue", numberText(t, packing.Masks[0]))
		if _, has := attributes.Get(cf.FillValue); has {
			names = append(names, cf.FillValue)
		}
	}
	if a.Spec().CheckDecoding() != nil {
		return names // add_offset is not CF's
	}
	if packing.Offset != nil {
		w.element(depth, "Offset", strconv.FormatFloat(packing.Offset.Value, 'g', -1, 64))
		names = append(names, cf.AddOffset)
	}
	if packing.Scale != nil {
		w.element(depth, "Scale", strconv.FormatFloat(packing.Scale.Value, 'g', -1, 64))
		names = append(names, cf.ScaleFactor)
	}
	return names
}

// isExact reports whether GDAL, which reads NoDataValue as float64, keeps a number.
func isExact(t codec.Type, element []byte) bool {
	const most = 1 << 53
	switch f := cf.Float(t, element); {
	case t.Kind == codec.Float:
		return true
	default:
		return f >= -most && f <= most
	}
}

// numberText returns a number as GDAL parses it.
func numberText(t codec.Type, element []byte) string {
	switch t.Kind {
	case codec.Int:
		return strconv.FormatInt(int64(cf.Extend(t, element)), 10)
	case codec.Uint:
		return strconv.FormatUint(cf.Extend(t, element), 10)
	}
	return strings.ToLower(strings.TrimPrefix(strconv.FormatFloat(cf.Float(t, element), 'g', -1, 8*t.Size), "+"))
}

// writeSources writes the parts of the array in files.
func (a *array) writeSources(ctx context.Context, w *writer, depth int) error {
	if !a.isWhole {
		// Elements without a part have the fill value, which need not be NoDataValue.
		t := a.Schema().DataType.Type()
		fill := a.Schema().Fill
		if fill == nil {
			fill = make([]byte, t.Size)
		}
		w.element(depth, "ConstantValue", numberText(t, fill))
	}
	for tile, err := range a.Tiles(ctx) {
		if err != nil {
			return err
		}
		// Along axes that the variable lacks there is a source for each position.
		once := tile.Box.Clone()
		repeats := tile.Box.Clone()
		for axis, of := range tile.Axes {
			if of < 0 {
				once.Shape[axis] = 1
			} else {
				repeats.Shape[axis] = 1
			}
		}
		for at := slices.Clone(repeats.Origin); ; {
			once.Origin = at
			if err := w.source(depth, tile, once); err != nil {
				return err
			}
			if !next(at, repeats) {
				break
			}
		}
		if w.err != nil {
			return w.err
		}
	}
	return nil
}

// next moves to the next position of a region in C order, and reports whether there is one.
func next(at []int64, r grid.Region) bool {
	for axis := len(at) - 1; axis >= 0; axis-- {
		if at[axis]++; at[axis] < r.End(axis) {
			return true
		}
		at[axis] = r.Origin[axis]
	}
	return false
}

// source writes the part of a file that is a box of the array.
func (w *writer) source(depth int, t *store.Tile, box grid.Region) error {
	name, isRelative, err := w.filename(t.Source.URL)
	if err != nil {
		return err
	}
	w.open(depth, "Source")
	if isRelative {
		w.element(depth+1, "SourceFilename", name, "relativetoVRT", "1")
	} else {
		w.element(depth+1, "SourceFilename", name)
	}
	w.element(depth+1, "SourceArray", t.Variable.Path)
	var order []string // the variable's axes in the order of the array
	var view []string
	offset := make([]int64, len(box.Shape))
	isStraight, isView := true, false
	for axis, of := range t.Axes {
		if of < 0 {
			view, isView = append(view, "newaxis"), true
			continue
		}
		isStraight = isStraight && of == len(order)
		order, view = append(order, strconv.Itoa(of)), append(view, ":")
		offset[axis] = t.Within.Origin[of]
	}
	if !isStraight {
		w.element(depth+1, "SourceTranspose", strings.Join(order, ","))
	}
	if isView {
		w.element(depth+1, "SourceView", "["+strings.Join(view, ",")+"]")
	}
	if len(box.Shape) > 0 {
		w.element(depth+1, "SourceSlab", "", "offset", list(offset), "count", list(box.Shape))
		w.element(depth+1, "DestSlab", "", "offset", list(box.Origin))
	}
	w.close(depth, "Source")
	return nil
}

// list returns numbers with commas between them.
func list(numbers []int64) string {
	texts := make([]string, len(numbers))
	for i, n := range numbers {
		texts[i] = strconv.FormatInt(n, 10)
	}
	return strings.Join(texts, ",")
}

// writeValues writes the values of the array, one chunk after another.
func (a *array) writeValues(ctx context.Context, w *writer, depth int) error {
	walk, err := a.Grid().WalkRegion(grid.Whole(a.Schema().Shape))
	if err != nil {
		return err
	}
	for walk.Next() {
		form := a.Schema().Form(walk.Region.Shape)
		if err := form.CheckSize(); err != nil {
			return err
		}
		elems := codec.NewElems(form)
		if err := a.ReadRegion(ctx, walk.Region, elems); err != nil {
			return err
		}
		var place []string
		if len(walk.Region.Shape) > 0 {
			place = []string{"offset", list(walk.Region.Origin), "count", list(walk.Region.Shape)}
		}
		if form.Type.Kind == codec.String {
			w.open(depth, "InlineValuesWithValueElement", place...)
			for _, text := range elems.Var {
				w.start(depth+1, "Value", nil)
				w.text(">")
				w.escaped(string(bytes.ToValidUTF8(text, []byte("�"))))
				w.text("</Value>\n")
			}
			w.close(depth, "InlineValuesWithValueElement")
			continue
		}
		w.start(depth, "InlineValues", place)
		w.text(">")
		for i, element := 0, elems.Fixed; len(element) > 0; i, element = i+1, element[form.Type.Size:] {
			if i > 0 {
				w.text(" ")
			}
			w.text(numberText(form.Type, element[:form.Type.Size]))
		}
		w.text("</InlineValues>\n")
	}
	return w.err
}
