package zarrjson

import (
	"math"
	"strconv"
	"strings"

	"varve/codec"
)

// maxElement is the largest size of one element in bytes. A document of fifty bytes can
// declare any size, and a fill value takes as much memory.
const maxElement = 1 << 20

// DataType is an element type and its spelling in a document. The zero value is no type.
//
// It reads bool, int8 to uint64, float16 to float64, complex64 and complex128 (also as
// complex_float32 and complex_float64), r8, r16, …, string, variable_length_bytes (also
// as bytes), null_terminated_bytes, raw_bytes, fixed_length_utf32, numpy.datetime64,
// numpy.timedelta64, struct (also as structured).
type DataType struct {
	typ     codec.Type
	name    string
	docJSON []byte     // compact JSON
	fields  []DataType // the fields of a struct
}

// Type returns the type of the elements in memory.
func (d DataType) Type() codec.Type { return d.typ }

// Name returns the name that the document uses.
func (d DataType) Name() string { return d.name }

// JSON returns the data type in the spelling of the document, without white space. The
// caller must not change it.
func (d DataType) JSON() []byte { return d.docJSON }

// ParseDataType parses the value of data_type.
func ParseDataType(json []byte) (DataType, error) {
	v, err := parseValue(json)
	if err != nil {
		return DataType{}, err
	}
	v.path = "data_type"
	return readDataType(v)
}

func readDataType(v value) (DataType, error) {
	name, config, err := v.readExtension()
	if err != nil {
		return DataType{}, err
	}
	d := DataType{name: name, docJSON: compactJSON(v.raw)}
	if t, ok := plainTypes[name]; ok {
		d.typ = t
	} else if err := d.readConfigured(v, config); err != nil {
		return DataType{}, err
	}
	if err := config.refuseRest("the fields that the type needs"); err != nil {
		return DataType{}, err
	}
	if d.typ.Size > maxElement {
		return DataType{}, unsupportedError(v.path, "elements of %d bytes; varve reads up to %d", d.typ.Size, maxElement)
	}
	return d, nil
}

// plainTypes are the types that have no configuration.
var plainTypes = map[string]codec.Type{
	"bool":                  {Kind: codec.Bool, Size: 1},
	"int8":                  {Kind: codec.Int, Size: 1},
	"int16":                 {Kind: codec.Int, Size: 2},
	"int32":                 {Kind: codec.Int, Size: 4},
	"int64":                 {Kind: codec.Int, Size: 8},
	"uint8":                 {Kind: codec.Uint, Size: 1},
	"uint16":                {Kind: codec.Uint, Size: 2},
	"uint32":                {Kind: codec.Uint, Size: 4},
	"uint64":                {Kind: codec.Uint, Size: 8},
	"float16":               {Kind: codec.Float, Size: 2},
	"float32":               {Kind: codec.Float, Size: 4},
	"float64":               {Kind: codec.Float, Size: 8},
	"complex64":             {Kind: codec.Complex, Size: 8},
	"complex128":            {Kind: codec.Complex, Size: 16},
	"complex_float32":       {Kind: codec.Complex, Size: 8},  // zarr-extensions' name of complex64
	"complex_float64":       {Kind: codec.Complex, Size: 16}, // and of complex128
	"string":                {Kind: codec.String},
	"variable_length_bytes": {Kind: codec.Bytes},
	"bytes":                 {Kind: codec.Bytes},
}

// refusedTypes are the registered types that varve does not read, and a description of
// their elements.
var refusedTypes = map[string]string{
	"bfloat16":           "a 16-bit brain float",
	"complex_bfloat16":   "a pair of 16-bit brain floats",
	"complex_float16":    "a pair of 16-bit floats",
	"float4_e2m1fn":      "a 4-bit float",
	"float6_e2m3fn":      "a 6-bit float",
	"float6_e3m2fn":      "a 6-bit float",
	"float8_e3m4":        "an 8-bit float",
	"float8_e4m3":        "an 8-bit float",
	"float8_e4m3b11fnuz": "an 8-bit float",
	"float8_e4m3fn":      "an 8-bit float",
	"float8_e4m3fnuz":    "an 8-bit float",
	"float8_e5m2":        "an 8-bit float",
	"float8_e5m2fnuz":    "an 8-bit float",
	"float8_e8m0fnu":     "an 8-bit float",
	"int2":               "a 2-bit integer",
	"int4":               "a 4-bit integer",
	"uint2":              "a 2-bit integer",
	"uint4":              "a 4-bit integer",
	"optional":           "a value that may be missing",
	"geoarrow.wkb":       "a geometry",
}

// readConfigured reads a type that has a configuration.
func (d *DataType) readConfigured(v value, config *object) (err error) {
	switch d.name {
	case "null_terminated_bytes":
		d.typ, err = readLengthType(codec.FixedBytes, 1, config)
	case "raw_bytes":
		d.typ, err = readLengthType(codec.Raw, 1, config)
	case "fixed_length_utf32":
		d.typ, err = readLengthType(codec.FixedUTF32, 4, config)
	case "numpy.datetime64":
		d.typ, err = readTimeType(codec.DateTime, config)
	case "numpy.timedelta64":
		d.typ, err = readTimeType(codec.TimeDelta, config)
	case "struct", "structured":
		err = d.readStruct(config)
	default:
		d.typ, err = readRawBits(v.path, d.name)
	}
	return err
}

// readRawBits reads r8, r16, r24, … of the core specification.
func readRawBits(path, name string) (codec.Type, error) {
	digits, found := strings.CutPrefix(name, "r")
	bits, rest, ok := parseCoordinate(digits)
	if !found || !ok || rest != "" {
		if elements, known := refusedTypes[name]; known {
			return codec.Type{}, unsupportedError(path, "%q (%s) is not supported", name, elements)
		}
		return codec.Type{}, unsupportedError(path, "%q is not a known data type", abbreviate(name))
	}
	// The specification defines r* for whole bytes only.
	if bits == 0 || bits%8 != 0 {
		return codec.Type{}, corruptError(path, "%q: the number of bits is not a multiple of 8", abbreviate(name))
	}
	return codec.Type{Kind: codec.Raw, Size: int(bits / 8)}, nil
}

func readLengthType(kind codec.Kind, unit int64, config *object) (codec.Type, error) {
	n, err := config.needInteger("length_bytes", 1)
	if err != nil {
		return codec.Type{}, err
	}
	if n%unit != 0 {
		return codec.Type{}, corruptError(joinPath(config.path, "length_bytes"), "%d is not a multiple of %d", n, unit)
	}
	return codec.Type{Kind: kind, Size: int(n)}, nil
}

// timeUnits maps the units of NumPy's datetime64 to their canonical spelling.
var timeUnits = map[string]string{
	"Y": "Y", "M": "M", "W": "W", "D": "D", "h": "h", "m": "m", "s": "s", "ms": "ms", "us": "us", "μs": "us",
	"ns": "ns", "ps": "ps", "fs": "fs", "as": "as", "generic": "generic",
}

const timeUnitNames = "one of Y, M, W, D, h, m, s, ms, us, ns, ps, fs, as, generic"

func readTimeType(kind codec.Kind, config *object) (codec.Type, error) {
	v, err := config.need("unit")
	if err != nil {
		return codec.Type{}, err
	}
	text, _ := v.readText()
	unit, ok := timeUnits[text]
	if !ok {
		return codec.Type{}, v.refuse(timeUnitNames)
	}
	ticks, err := config.needInteger("scale_factor", 1)
	if err != nil {
		return codec.Type{}, err
	}
	// NumPy stores the scale factor as an int32.
	if ticks > math.MaxInt32 {
		return codec.Type{}, corruptError(joinPath(config.path, "scale_factor"), "%d is more than %d", ticks, math.MaxInt32)
	}
	return codec.Type{Kind: kind, Size: 8, Unit: unit, Ticks: int(ticks)}, nil
}

// readStruct reads the fields of a struct: objects of name and data_type, or pairs, which
// zarr-python wrote under the name structured.
func (d *DataType) readStruct(config *object) error {
	v, err := config.need("fields")
	if err != nil {
		return err
	}
	list, err := v.readList("a list of fields")
	if err != nil {
		return err
	}
	var names nameSet
	d.typ.Kind = codec.Struct
	for _, e := range list {
		name, t, err := readStructField(e)
		if err != nil {
			return err
		}
		if !names.add(name) {
			return corruptError(e.path, "the field name %q occurs twice", abbreviate(name))
		}
		if err := d.addField(e.path, name, t); err != nil {
			return err
		}
	}
	if len(list) == 0 {
		return v.refuse("a list of at least one field")
	}
	return nil
}

func (d *DataType) addField(path, name string, t DataType) error {
	if t.typ.Varies() {
		return unsupportedError(path, "field %q is %s; the fields of a struct have fixed sizes", abbreviate(name), t.typ)
	}
	t.docJSON = nil // the struct's own docJSON has it
	d.fields = append(d.fields, t)
	d.typ.Fields = append(d.typ.Fields, codec.Field{Name: name, Type: t.typ})
	d.typ.Size += t.typ.Size // no overflow: each is at most maxElement, and each takes bytes of the document
	return nil
}

func readStructField(v value) (string, DataType, error) {
	if v.startsWith('[') {
		pair, err := v.readList("a pair")
		if err != nil {
			return "", DataType{}, err
		}
		if len(pair) != 2 {
			return "", DataType{}, v.refuse("a pair of name and data type")
		}
		return readNameAndType(pair[0], pair[1])
	}
	o, err := v.readObject("an object of name and data_type")
	if err != nil {
		return "", DataType{}, err
	}
	name, err := o.need("name")
	if err != nil {
		return "", DataType{}, err
	}
	t, err := o.need("data_type")
	if err != nil {
		return "", DataType{}, err
	}
	if err := o.refuseRest("name, data_type"); err != nil {
		return "", DataType{}, err
	}
	return readNameAndType(name, t)
}

func readNameAndType(name, t value) (string, DataType, error) {
	text, err := name.readText()
	if err != nil {
		return "", DataType{}, err
	}
	d, err := readDataType(t)
	return text, d, err
}

// DataTypeOf returns a type in the spelling of zarr-python.
func DataTypeOf(t codec.Type) (DataType, error) {
	spelled, err := encode(Compact, func(w *writer) error { return writeType(w, t) })
	if err != nil {
		return DataType{}, atPath("data_type", err)
	}
	// Parse the text again: it is checked like any other, and the fields get their types.
	return ParseDataType(spelled)
}

func writeType(w *writer, t codec.Type) error {
	switch t.Kind {
	case codec.FixedBytes:
		writeConfigured(w, "null_terminated_bytes", func() { w.member("length_bytes", int64(t.Size)) })
	case codec.Raw:
		writeConfigured(w, "raw_bytes", func() { w.member("length_bytes", int64(t.Size)) })
	case codec.FixedUTF32:
		writeConfigured(w, "fixed_length_utf32", func() { w.member("length_bytes", int64(t.Size)) })
	case codec.DateTime:
		writeTime(w, "numpy.datetime64", t)
	case codec.TimeDelta:
		writeTime(w, "numpy.timedelta64", t)
	case codec.Struct:
		return writeStruct(w, t)
	default:
		return writePlain(w, t)
	}
	return nil
}

func writePlain(w *writer, t codec.Type) error {
	var name string
	switch t.Kind {
	case codec.Bool, codec.String:
		name = t.String()
	case codec.Bytes:
		name = "variable_length_bytes"
	case codec.Int, codec.Uint, codec.Float, codec.Complex:
		name = map[codec.Kind]string{codec.Int: "int", codec.Uint: "uint", codec.Float: "float", codec.Complex: "complex"}[t.Kind] +
			strconv.Itoa(t.Size*8)
	}
	if known, ok := plainTypes[name]; !ok || !known.Equal(t) {
		return unsupportedError("", "%s has no name in a document", t)
	}
	w.text(name)
	return nil
}

func writeConfigured(w *writer, name string, members func()) {
	w.begin('{')
	w.name("name")
	w.text(name)
	w.name("configuration")
	w.begin('{')
	members()
	w.end('}')
	w.end('}')
}

func writeTime(w *writer, name string, t codec.Type) {
	writeConfigured(w, name, func() {
		w.name("unit")
		w.text(t.Unit)
		w.member("scale_factor", int64(t.Ticks))
	})
}

func writeStruct(w *writer, t codec.Type) (err error) {
	writeConfigured(w, "struct", func() {
		w.name("fields")
		w.begin('[')
		for _, f := range t.Fields {
			w.next()
			w.begin('{')
			w.name("name")
			w.text(f.Name)
			w.name("data_type")
			if err == nil {
				err = atPath(f.Name, writeType(w, f.Type))
			}
			w.end('}')
		}
		w.end(']')
	})
	return err
}
