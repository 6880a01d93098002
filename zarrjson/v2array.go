package zarrjson

import (
	"encoding/json"
	"slices"

	"varve/grid"
)

// V2Array is the .zarray of an array of format 2. Its attributes are in a separate
// document, .zattrs.
type V2Array struct {
	Shape      []int64
	Chunks     []int64
	DataType   V2DataType
	Fill       []byte // one element in memory form; nil means null: see Missing
	Order      ElementOrder
	Filters    []V2Codec // in the order of encoding; none is null
	Compressor *V2Codec  // nil is null
	Separator  byte      // between chunk coordinates: '.' or '/'
}

// ElementOrder is the order of a chunk's elements in memory.
type ElementOrder byte

// The orders of elements: the last index varies fastest, or the first.
const (
	RowMajor    ElementOrder = 'C'
	ColumnMajor ElementOrder = 'F'
)

// V2Codec is a codec of a format 2 document: {"id": …} and its configuration.
type V2Codec struct {
	ID     string
	Config json.RawMessage // the object without id
}

// ParseV2Array parses a .zarray. It ignores unknown fields, as the specification
// requires.
func ParseV2Array(doc []byte) (*V2Array, error) {
	v, err := parseValue(doc)
	if err != nil {
		return nil, err
	}
	return parseV2Array(v)
}

func parseV2Array(v value) (*V2Array, error) {
	o, err := v.readObject("an object")
	if err != nil {
		return nil, err
	}
	if err := o.needLiteral("zarr_format", "2"); err != nil {
		return nil, err
	}
	a := &V2Array{Separator: '.'}
	if err := o.readSteps(a.steps()); err != nil {
		return nil, err
	}
	if err := a.Validate(); err != nil {
		return nil, atPath(v.path, err)
	}
	return a, nil
}

// steps reads the codecs before the data type, and the data type before the fill value,
// since each depends on the one before.
func (a *V2Array) steps() []step {
	return []step{
		{name: "shape", read: func(v value) (err error) { a.Shape, err = v.readIntegers(); return err }},
		{name: "chunks", read: func(v value) (err error) { a.Chunks, err = v.readIntegers(); return err }},
		{name: "order", read: a.readOrder},
		{name: "filters", optional: true, read: a.readFilters},
		{name: "compressor", optional: true, read: a.readCompressor},
		{name: "dtype", read: func(v value) (err error) { a.DataType, err = readV2DataType(v, a.objectCodec()); return err }},
		{name: "fill_value", optional: true, read: func(v value) (err error) { a.Fill, err = a.DataType.readV2Fill(v); return err }},
		{name: "dimension_separator", optional: true, read: a.readSeparator},
	}
}

func (a *V2Array) readOrder(v value) error {
	switch string(v.raw) {
	case `"C"`:
		a.Order = RowMajor
	case `"F"`:
		a.Order = ColumnMajor
	default:
		return v.refuse(`"C" or "F"`)
	}
	return nil
}

func (a *V2Array) readSeparator(v value) error {
	text, err := v.readText()
	if err != nil || text != "." && text != "/" {
		return v.refuse(`"." or "/"`)
	}
	a.Separator = text[0]
	return nil
}

func (a *V2Array) readFilters(v value) error {
	if v.isNull() {
		return nil
	}
	list, err := v.readList("null or a list of filters")
	if err == nil {
		err = checkCount(v.path, len(list))
	}
	if err != nil {
		return err
	}
	for _, e := range list {
		c, err := readV2Codec(e)
		if err != nil {
			return err
		}
		a.Filters = append(a.Filters, c)
	}
	return nil
}

func (a *V2Array) readCompressor(v value) error {
	if v.isNull() {
		return nil
	}
	c, err := readV2Codec(v)
	if err != nil {
		return err
	}
	a.Compressor = &c
	return nil
}

func readV2Codec(v value) (V2Codec, error) {
	o, err := v.readObject("an object with an id")
	if err != nil {
		return V2Codec{}, err
	}
	id, err := o.needText("id")
	if err != nil {
		return V2Codec{}, err
	}
	if id == "" {
		return V2Codec{}, corruptError(joinPath(v.path, "id"), "empty")
	}
	w := &writer{layout: Compact}
	w.begin('{')
	for _, m := range o.members {
		w.name(m.name)
		w.value(m.raw)
	}
	w.end('}')
	return V2Codec{ID: id, Config: w.out}, nil
}

// objectCodecs are the ids of the filters that define the elements of the type "|O".
var objectCodecs = []string{"vlen-utf8", "vlen-bytes", "vlen-array", "pickle", "json2", "msgpack2"}

func (a *V2Array) objectCodec() string {
	for _, c := range a.codecs() {
		if slices.Contains(objectCodecs, c.ID) {
			return c.ID
		}
	}
	return ""
}

// codecs returns filters and compressor in the order of encoding.
func (a *V2Array) codecs() []V2Codec {
	if a.Compressor == nil {
		return a.Filters
	}
	return append(slices.Clip(a.Filters), *a.Compressor)
}

// Grid returns the chunk grid of the array.
func (a *V2Array) Grid() (*grid.Grid, error) {
	if len(a.Chunks) != len(a.Shape) {
		return nil, corruptError("chunks", "has %d axes, but the shape has %d", len(a.Chunks), len(a.Shape))
	}
	for axis, size := range a.Chunks {
		if _, err := grid.NewFixed(size, a.Shape[axis]); err != nil {
			return nil, atPath(indexPath("chunks", axis), err)
		}
	}
	g, err := grid.Regular(a.Shape, a.Chunks)
	return g, atPath("shape", err)
}

// Keys returns the chunk key encoding of the array.
func (a *V2Array) Keys() KeyEncoding { return KeyEncoding{Style: V2Keys, Separator: a.Separator} }

// Missing returns the elements of a missing chunk: the fill value or, without one, the
// default of the type, as in zarr-python.
func (a *V2Array) Missing() []byte {
	if a.Fill != nil {
		return a.Fill
	}
	return a.DataType.DefaultFill()
}

// Validate returns an error for the first field that cannot be written to a document.
func (a *V2Array) Validate() error {
	for i, n := range a.Shape {
		if n < 0 {
			return corruptError(indexPath("shape", i), "%d is negative", n)
		}
	}
	if _, err := a.Grid(); err != nil {
		return err
	}
	if a.DataType.docJSON == nil {
		return corruptError("dtype", "missing; it is required")
	}
	if a.Order != RowMajor && a.Order != ColumnMajor {
		return corruptError("order", "%q is not 'C' or 'F'", byte(a.Order))
	}
	if a.Separator != '.' && a.Separator != '/' {
		return corruptError("dimension_separator", "%q is not '.' or '/'", a.Separator)
	}
	// The type depends on the filters here: a program may have removed the one that
	// defines it.
	if string(a.DataType.docJSON) == `"|O"` {
		_, err := readObjectType(value{path: "dtype"}, a.objectCodec())
		return err
	}
	return nil
}

// Encode returns the document, with the field order and spelling of zarr-python.
func (a *V2Array) Encode(layout Layout) ([]byte, error) {
	return encode(layout, a.write)
}

func (a *V2Array) write(w *writer) error {
	if err := a.Validate(); err != nil {
		return err
	}
	w.begin('{')
	w.name("shape")
	w.integers(a.Shape)
	w.name("chunks")
	w.integers(a.Chunks)
	w.name("dtype")
	w.value(a.DataType.docJSON)
	w.name("fill_value")
	if err := a.DataType.writeV2Fill(w, a.Fill); err != nil {
		return atPath("fill_value", err)
	}
	w.name("order")
	w.text(string(rune(a.Order)))
	w.name("filters")
	if err := a.writeFilters(w); err != nil {
		return err
	}
	w.name("dimension_separator")
	w.text(string(rune(a.Separator)))
	w.name("compressor")
	if err := a.writeCompressor(w); err != nil {
		return err
	}
	w.member("zarr_format", 2)
	w.end('}')
	return nil
}

func (a *V2Array) writeFilters(w *writer) error {
	if len(a.Filters) == 0 {
		w.verbatim([]byte("null"))
		return nil
	}
	w.begin('[')
	for i, c := range a.Filters {
		w.next()
		if err := c.write(w); err != nil {
			return atPath(indexPath("filters", i), err)
		}
	}
	w.end(']')
	return nil
}

func (a *V2Array) writeCompressor(w *writer) error {
	if a.Compressor == nil {
		w.verbatim([]byte("null"))
		return nil
	}
	return atPath("compressor", a.Compressor.write(w))
}

func (c V2Codec) write(w *writer) error {
	config := value{raw: []byte("{}")}
	if c.Config != nil {
		var err error
		if config, err = parseValue(c.Config); err != nil {
			return err
		}
	}
	o, err := config.readObject("an object")
	if err != nil {
		return err
	}
	if _, taken := o.take("id"); taken || c.ID == "" {
		return corruptError("id", "%q, and the configuration must not have one of its own", abbreviate(c.ID))
	}
	w.begin('{')
	w.name("id")
	w.text(c.ID)
	for _, m := range o.members {
		w.name(m.name)
		w.value(m.raw)
	}
	w.end('}')
	return nil
}
