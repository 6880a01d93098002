package zarrjson

import (
	"bytes"
	"strconv"

	"varve/codec"
	"varve/grid"
)

// Array is the zarr.json of an array.
type Array struct {
	Shape          []int64
	DataType       DataType
	ChunkGrid      ChunkGrid
	Keys           KeyEncoding
	Fill           []byte // one element in memory form; nil means zeros
	Codecs         []codec.Spec
	Attributes     Attributes
	DimensionNames []DimensionName // nil if the document has none
	Extra          []ExtraField
}

// DimensionName is the name of a dimension, or null if Named is false.
type DimensionName struct {
	Name  string
	Named bool
}

// Dim returns the name of a dimension. A dimension without a name is dim_0, dim_1, …, as
// in xarray.
func (a *Array) Dim(axis int) string {
	if axis < len(a.DimensionNames) && a.DimensionNames[axis].Named {
		return a.DimensionNames[axis].Name
	}
	return "dim_" + strconv.Itoa(axis)
}

// Dims returns the names of all dimensions.
func (a *Array) Dims() []string {
	names := make([]string, len(a.Shape))
	for axis := range names {
		names[axis] = a.Dim(axis)
	}
	return names
}

// Names returns dimension names without nulls.
func Names(names ...string) []DimensionName {
	list := make([]DimensionName, len(names))
	for i, n := range names {
		list[i] = DimensionName{n, true}
	}
	return list
}

// ExtraField is a field that is in no specification that varve implements: an object with
// "must_understand": false, kept byte for byte.
type ExtraField struct {
	Name string
	JSON []byte
}

// ParseArray parses the zarr.json of an array.
func ParseArray(doc []byte) (*Array, error) {
	v, err := parseValue(doc)
	if err != nil {
		return nil, err
	}
	return parseArray(v)
}

func parseArray(v value) (*Array, error) {
	o, err := v.readObject("an object")
	if err != nil {
		return nil, err
	}
	if err := o.readNodeType("array"); err != nil {
		return nil, err
	}
	a := &Array{}
	if err := o.readSteps(a.steps()); err != nil {
		return nil, err
	}
	if err := a.readClipping(o); err != nil {
		return nil, err
	}
	if a.Extra, err = o.readExtra(); err != nil {
		return nil, err
	}
	if err := a.Validate(); err != nil {
		return nil, atPath(v.path, err)
	}
	return a, nil
}

// readNodeType takes the fields zarr_format and node_type and checks them.
func (o *object) readNodeType(kind string) error {
	format, err := o.need("zarr_format")
	if err != nil {
		return err
	}
	if string(format.raw) != "3" {
		return format.refuseFormat()
	}
	return o.needLiteral("node_type", `"`+kind+`"`)
}

// refuseFormat returns the error for a zarr_format other than 3.
func (v value) refuseFormat() error {
	// Stores written by drafts of format 3 have the URL of the draft as their
	// zarr_format.
	if bytes.HasPrefix(v.raw, []byte(`"https://purl.org/zarr/spec/`)) {
		return unsupportedError(v.path, "%s is a draft of format 3; convert the store to format 2 with the program that wrote it", abbreviate(v.raw))
	}
	return v.refuse("3")
}

// steps reads the data type before the fill value and the codecs, which depend on it.
func (a *Array) steps() []step {
	return []step{
		{name: "shape", read: a.readShape},
		{name: "data_type", read: func(v value) (err error) { a.DataType, err = readDataType(v); return err }},
		{name: "chunk_grid", read: func(v value) (err error) { a.ChunkGrid, err = readChunkGrid(v); return err }},
		{name: "chunk_key_encoding", read: func(v value) (err error) { a.Keys, err = readKeyEncoding(v); return err }},
		{name: "fill_value", read: a.readFill},
		{name: "codecs", read: func(v value) (err error) { a.Codecs, err = readCodecs(v, normalizerOf(a)); return err }},
		{name: "attributes", optional: true, read: func(v value) (err error) { a.Attributes, err = readAttributesOrNull(v); return err }},
		{name: "dimension_names", optional: true, read: a.readNames},
		{name: "storage_transformers", optional: true, read: refuseTransformers},
	}
}

func (a *Array) readShape(v value) (err error) {
	a.Shape, err = v.readIntegers()
	return err
}

// readIntegers reads a list of integers that are at least 0.
func (v value) readIntegers() ([]int64, error) {
	if !v.startsWith('[') {
		return nil, v.refuse("a list of integers")
	}
	list := []int64{}
	for i, e := range v.elements() {
		n, err := e.readInteger(0)
		if err != nil {
			return nil, atPath(indexPath(v.path, i), err)
		}
		list = append(list, n)
	}
	return list, nil
}

func (a *Array) readFill(v value) (err error) {
	a.Fill, err = a.DataType.readFill(v)
	return err
}

func (a *Array) readNames(v value) error {
	if v.isNull() {
		return nil
	}
	if !v.startsWith('[') {
		return v.refuse("a list of strings and nulls")
	}
	a.DimensionNames = []DimensionName{}
	for i, e := range v.elements() {
		if e.isNull() {
			a.DimensionNames = append(a.DimensionNames, DimensionName{})
			continue
		}
		name, err := e.readText()
		if err != nil {
			return corruptError(indexPath(v.path, i), "%s is not a string or null", abbreviate(e.raw))
		}
		a.DimensionNames = append(a.DimensionNames, DimensionName{name, true})
	}
	return nil
}

func refuseTransformers(v value) error {
	if v.isNull() {
		return nil
	}
	list, err := v.readList("a list")
	if err != nil || len(list) == 0 {
		return err
	}
	name, _, err := list[0].readExtension()
	if err != nil {
		return err
	}
	return unsupportedError(v.path, "varve supports no storage transformers, which change how chunks are stored; found %q", abbreviate(name))
}

// Grid returns the chunk grid of the array.
func (a *Array) Grid() (*grid.Grid, error) { return a.ChunkGrid.Bind(a.Shape) }

// Form returns the input of the codecs for a chunk of the given shape.
func (a *Array) Form(chunkShape []int64) codec.Form {
	return codec.Form{Type: a.DataType.typ, Shape: chunkShape, Fill: a.Fill}
}

// Validate returns an error for the first field that cannot be written to a document.
func (a *Array) Validate() error {
	if a.DataType.docJSON == nil {
		return corruptError("data_type", "missing; it is required")
	}
	for i, n := range a.Shape {
		if n < 0 {
			return corruptError(indexPath("shape", i), "%d is negative", n)
		}
	}
	if err := a.ChunkGrid.validate(); err != nil {
		return err
	}
	if _, err := a.Grid(); err != nil {
		return err
	}
	if a.DimensionNames != nil && len(a.DimensionNames) != len(a.Shape) {
		return corruptError("dimension_names", "has %d names, but the shape has %d axes", len(a.DimensionNames), len(a.Shape))
	}
	if len(a.Codecs) == 0 {
		return corruptError("codecs", "empty; at least one codec is needed")
	}
	if err := a.Keys.validate(); err != nil {
		return err
	}
	return validateExtra(a.Extra, arrayFields)
}

// Encode returns the document, with the field order and spelling of zarr-python.
func (a *Array) Encode(layout Layout) ([]byte, error) {
	return encode(layout, a.write)
}

// Append appends the result of Encode to dst.
func (a *Array) Append(dst []byte, layout Layout) ([]byte, error) {
	return encodeTo(dst, layout, a.write)
}

var arrayFields = []string{"shape", "data_type", "chunk_grid", "chunk_key_encoding", "fill_value", "codecs",
	"attributes", "dimension_names", "zarr_format", "node_type", "storage_transformers", clipField}

func (a *Array) write(w *writer) error {
	if err := a.Validate(); err != nil {
		return err
	}
	w.begin('{')
	w.name("shape")
	w.integers(a.Shape)
	w.name("data_type")
	w.value(a.DataType.docJSON)
	w.name("chunk_grid")
	if err := a.ChunkGrid.write(w, a.Shape); err != nil {
		return err
	}
	w.name("chunk_key_encoding")
	a.Keys.write(w)
	w.name("fill_value")
	if err := a.DataType.writeFill(w, a.Fill); err != nil {
		return atPath("fill_value", err)
	}
	w.name("codecs")
	if err := writeCodecs(w, a.Codecs); err != nil {
		return err
	}
	w.name("attributes")
	a.Attributes.write(w)
	if a.DimensionNames != nil {
		w.name("dimension_names")
		writeNames(w, a.DimensionNames)
	}
	w.member("zarr_format", 3)
	w.name("node_type")
	w.text("array")
	w.name("storage_transformers")
	w.verbatim([]byte("[]"))
	a.writeClipping(w)
	writeExtra(w, a.Extra)
	w.end('}')
	return nil
}

func writeNames(w *writer, names []DimensionName) {
	w.begin('[')
	for _, n := range names {
		w.next()
		if n.Named {
			w.text(n.Name)
		} else {
			w.verbatim([]byte("null"))
		}
	}
	w.end(']')
}
