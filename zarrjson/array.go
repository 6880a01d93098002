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
	Fill           []byte // one element in memory form; nil stands for zeros
	Codecs         []codec.Spec
	Attributes     Attributes
	DimensionNames []DimensionName // nil if the document has none
	Extra          []ExtraField
}

// DimensionName is the name of a dimension or, if it is not Named, null.
type DimensionName struct {
	Name  string
	Named bool
}

// Dim is the name of a dimension, or dim_0, dim_1 as xarray calls what has none.
func (a *Array) Dim(axis int) string {
	if axis < len(a.DimensionNames) && a.DimensionNames[axis].Named {
		return a.DimensionNames[axis].Name
	}
	return "dim_" + strconv.Itoa(axis)
}

// Dims are the names of all dimensions.
func (a *Array) Dims() []string {
	names := make([]string, len(a.Shape))
	for axis := range names {
		names[axis] = a.Dim(axis)
	}
	return names
}

// Names returns dimension names none of which is null.
func Names(names ...string) []DimensionName {
	list := make([]DimensionName, len(names))
	for i, n := range names {
		list[i] = DimensionName{n, true}
	}
	return list
}

// ExtraField is a field that no specification of varve's knows: an object with
// "must_understand": false, kept byte for byte.
type ExtraField struct {
	Name string
	JSON []byte
}

// ParseArray reads the zarr.json of an array.
func ParseArray(doc []byte) (*Array, error) {
	v, err := document(doc)
	if err != nil {
		return nil, err
	}
	return parseArray(v)
}

func parseArray(v value) (*Array, error) {
	o, err := v.object("an object")
	if err != nil {
		return nil, err
	}
	if err := o.node("array"); err != nil {
		return nil, err
	}
	a := &Array{}
	if err := o.each(a.steps()); err != nil {
		return nil, err
	}
	if a.Extra, err = o.extra(); err != nil {
		return nil, err
	}
	if err := a.Validate(); err != nil {
		return nil, at(v.path, err)
	}
	return a, nil
}

// node takes the fields that say what kind of document it is.
func (o *object) node(kind string) error {
	format, err := o.need("zarr_format")
	if err != nil {
		return err
	}
	if string(format.raw) != "3" {
		return format.refuseFormat()
	}
	return o.literal("node_type", `"`+kind+`"`)
}

// refuseFormat says that a zarr_format is not 3.
func (v value) refuseFormat() error {
	if bytes.HasPrefix(v.raw, []byte(`"https://purl.org/zarr/spec/`)) {
		return unsupported(v.path, "%s is a draft of format 3; convert the store with what wrote it to format 2", abbreviate(v.raw))
	}
	return v.refuse("3")
}

func (a *Array) steps() []step {
	return []step{
		{name: "shape", read: a.readShape},
		{name: "data_type", read: func(v value) (err error) { a.DataType, err = dataType(v); return err }},
		{name: "chunk_grid", read: func(v value) (err error) { a.ChunkGrid, err = chunkGrid(v); return err }},
		{name: "chunk_key_encoding", read: func(v value) (err error) { a.Keys, err = keyEncoding(v); return err }},
		{name: "fill_value", read: a.readFill},
		{name: "codecs", read: func(v value) (err error) { a.Codecs, err = codecs(v, spellingOf(a)); return err }},
		{name: "attributes", optional: true, read: func(v value) (err error) { a.Attributes, err = attributesOrNull(v); return err }},
		{name: "dimension_names", optional: true, read: a.readNames},
		{name: "storage_transformers", optional: true, read: noTransformers},
	}
}

func (a *Array) readShape(v value) (err error) {
	a.Shape, err = v.wholes()
	return err
}

// wholes reads a list of integers that are not negative.
func (v value) wholes() ([]int64, error) {
	if !v.is('[') {
		return nil, v.refuse("a list of integers")
	}
	list := []int64{}
	for i, e := range v.elements() {
		n, err := e.whole(0)
		if err != nil {
			return nil, at(index(v.path, i), err)
		}
		list = append(list, n)
	}
	return list, nil
}

func (a *Array) readFill(v value) (err error) {
	a.Fill, err = a.DataType.fill(v)
	return err
}

func (a *Array) readNames(v value) error {
	if v.isNull() {
		return nil
	}
	if !v.is('[') {
		return v.refuse("a list of strings and nulls")
	}
	a.DimensionNames = []DimensionName{}
	for i, e := range v.elements() {
		if e.isNull() {
			a.DimensionNames = append(a.DimensionNames, DimensionName{})
			continue
		}
		name, err := e.text()
		if err != nil {
			return wrong(index(v.path, i), "%s is not a string or null", abbreviate(e.raw))
		}
		a.DimensionNames = append(a.DimensionNames, DimensionName{name, true})
	}
	return nil
}

func noTransformers(v value) error {
	if v.isNull() {
		return nil
	}
	list, err := v.list("a list")
	if err != nil || len(list) == 0 {
		return err
	}
	name, _, err := list[0].named()
	if err != nil {
		return err
	}
	return unsupported(v.path, "storage transformers change how chunks are stored, and varve has none; found %q", abbreviate(name))
}

// Grid returns the chunks of the array.
func (a *Array) Grid() (*grid.Grid, error) { return a.ChunkGrid.Bind(a.Shape) }

// Form returns what the codecs see of a chunk of the given shape.
func (a *Array) Form(chunkShape []int64) codec.Form {
	return codec.Form{Type: a.DataType.typ, Shape: chunkShape, Fill: a.Fill}
}

// Validate reports the first thing that keeps the array from being a document.
func (a *Array) Validate() error {
	if a.DataType.spelled == nil {
		return wrong("data_type", "missing; it is required")
	}
	for i, n := range a.Shape {
		if n < 0 {
			return wrong(index("shape", i), "%d is negative", n)
		}
	}
	if err := a.ChunkGrid.validate(); err != nil {
		return err
	}
	if _, err := a.Grid(); err != nil {
		return err
	}
	if a.DimensionNames != nil && len(a.DimensionNames) != len(a.Shape) {
		return wrong("dimension_names", "%d names; the shape has %d axes", len(a.DimensionNames), len(a.Shape))
	}
	if len(a.Codecs) == 0 {
		return wrong("codecs", "empty; at least one codec is needed")
	}
	if err := a.Keys.validate(); err != nil {
		return err
	}
	return validateExtra(a.Extra, arrayFields)
}

// Encode writes the document, in the order and spelling of zarr-python.
func (a *Array) Encode(layout Layout) ([]byte, error) {
	return encode(layout, a.write)
}

// Append appends what Encode returns.
func (a *Array) Append(dst []byte, layout Layout) ([]byte, error) {
	return encodeTo(dst, layout, a.write)
}

var arrayFields = []string{"shape", "data_type", "chunk_grid", "chunk_key_encoding", "fill_value", "codecs",
	"attributes", "dimension_names", "zarr_format", "node_type", "storage_transformers"}

func (a *Array) write(w *writer) error {
	if err := a.Validate(); err != nil {
		return err
	}
	w.begin('{')
	w.name("shape")
	w.wholes(a.Shape)
	w.name("data_type")
	w.value(a.DataType.spelled)
	w.name("chunk_grid")
	if err := a.ChunkGrid.write(w, a.Shape); err != nil {
		return err
	}
	w.name("chunk_key_encoding")
	a.Keys.write(w)
	w.name("fill_value")
	if err := a.DataType.writeFill(w, a.Fill); err != nil {
		return at("fill_value", err)
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
