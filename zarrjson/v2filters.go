package zarrjson

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"varve/codec"
)

// elementFilters are the ids of the filters from elements to elements. Their
// configurations name types in NumPy's spelling, with a byte order:
//
//	{"id": "fixedscaleoffset", "dtype": ">f8", "astype": ">i2", …}
//
// In format 2 that is the order of the stored words. In format 3 the codec "bytes" has
// the byte order; if the configuration repeats it, clients swap the bytes twice. So the
// types become little-endian in format 3. They are little-endian in format 2 too, where
// varve writes no other elements before a filter.
var elementFilters = []string{"delta", "fixedscaleoffset", "quantize", "bitround", "packbits", "astype"}

// filterTypes are the types in the configuration of an element filter.
type filterTypes struct {
	DType  string `json:"dtype"`
	AsType string `json:"astype"`
	Encode string `json:"encode_dtype"`
	Decode string `json:"decode_dtype"`
}

func (f V2Codec) types() (t filterTypes) {
	_ = json.Unmarshal(configOrEmpty(f.Config), &t) // the codec itself refuses a type that is no string
	return t
}

// decodedType returns the type of a filter's input when encoding; "" if not configured.
func (t filterTypes) decodedType() string { return cmp.Or(t.Decode, t.DType) }

// storedType returns the type of a filter's output when encoding; "" if not configured.
func (t filterTypes) storedType() string { return cmp.Or(t.Encode, t.AsType, t.DType) }

// check refuses a filter whose input type has another byte order than the elements.
// numcodecs reinterprets the bytes as other numbers, which format 3 cannot express.
func (t filterTypes) check(elements ByteOrder) error {
	name := t.decodedType()
	if name == "" || elements == NoOrder {
		return nil
	}
	if order := orderOf(name); order != NoOrder && order != elements {
		return unsupportedError("", "the filter reads elements as %q, but they are stored in the other byte order", abbreviate(name))
	}
	return nil
}

// orderAfter returns the byte order of a filter's output: the order of its configured type,
// if any.
func orderAfter(f V2Codec, before ByteOrder) ByteOrder {
	if f.ID == "packbits" {
		return NoOrder
	}
	if name := f.types().storedType(); name != "" {
		return orderOf(name)
	}
	return before
}

// orderOf returns the byte order of a NumPy type name. A name without one means the
// native order of the writer, which is little-endian on the machines that run numcodecs.
func orderOf(name string) ByteOrder {
	switch name[0] {
	case '>':
		return BigEndian
	case '|':
		return NoOrder
	}
	return LittleEndian
}

// withLittleEndianTypes returns a configuration in which all types are little-endian.
func withLittleEndianTypes(config json.RawMessage) (json.RawMessage, error) {
	return changeMembers(config, func(m *member) error {
		switch m.name {
		case "dtype", "astype", "encode_dtype", "decode_dtype":
			if name, err := (value{raw: m.raw}).readText(); err == nil && strings.HasPrefix(name, ">") {
				m.raw = quote(nil, "<"+name[1:])
			}
		}
		return nil
	})
}

// shuffleSize is the default element size of numcodecs' shuffle. In format 3 the default
// is the size of the elements.
const shuffleSize = 4

// withElementSize sets the element size of a shuffle that has none.
func withElementSize(config json.RawMessage, size int) (json.RawMessage, error) {
	hasSize := false
	config, err := changeMembers(config, func(m *member) error {
		if m.name == "elementsize" {
			hasSize = true
			if string(m.raw) == "null" {
				m.raw = strconv.AppendInt(nil, int64(size), 10)
			}
		}
		return nil
	})
	if hasSize || err != nil {
		return config, err
	}
	member := strconv.AppendInt([]byte(`"elementsize":`), int64(size), 10)
	if string(config) != "{}" {
		member = append(member, ',')
	}
	return slices.Concat([]byte("{"), member, config[1:]), nil
}

// numcodecsBlosc returns numcodecs' configuration of Blosc: shuffle is a number, and the
// element size, which numcodecs takes from the array, is left out.
func numcodecsBlosc(config json.RawMessage) (json.RawMessage, error) {
	return changeMembers(config, func(m *member) error {
		switch m.name {
		case "typesize":
			m.raw = nil
		case "shuffle":
			mode := slices.Index([]string{"noshuffle", "shuffle", "bitshuffle"}, strings.Trim(string(m.raw), `"`))
			if mode < 0 {
				return value{m.raw, m.name}.refuse(`"noshuffle", "shuffle" or "bitshuffle"`)
			}
			m.raw = strconv.AppendInt(nil, int64(mode), 10)
		}
		return nil
	})
}

// changeMembers returns a configuration after change was called with each member. A
// member whose value is set to nil is left out.
func changeMembers(config json.RawMessage, change func(*member) error) (json.RawMessage, error) {
	v, err := parseValue(configOrEmpty(config))
	if err != nil {
		return nil, err
	}
	o, err := v.readObject("an object")
	if err != nil {
		return nil, err
	}
	w := &writer{layout: Compact}
	w.begin('{')
	for _, m := range o.members {
		if err := change(&m); err != nil {
			return nil, err
		}
		if m.raw != nil {
			w.name(m.name)
			w.value(m.raw)
		}
	}
	w.end('}')
	return w.out, nil
}

// toV3 returns the configuration of a filter in format 3.
func (f V2Codec) toV3() (json.RawMessage, error) {
	switch {
	case slices.Contains(elementFilters, f.ID):
		return withLittleEndianTypes(f.Config)
	case f.ID == "shuffle":
		return withElementSize(f.Config, shuffleSize)
	}
	return configOrEmpty(f.Config), nil
}

// withoutChecksum removes the checksum from a configuration of zstd if it is off, which is its default. TensorStore knows
// only the level.
func withoutChecksum(config json.RawMessage) (json.RawMessage, error) {
	var c struct {
		Level    *json.RawMessage `json:"level,omitempty"`
		Checksum *bool            `json:"checksum,omitempty"`
	}
	if json.Unmarshal(configOrEmpty(config), &c) != nil || c.Checksum == nil || *c.Checksum {
		return config, nil
	}
	c.Checksum = nil
	return json.Marshal(c)
}

// filterOf returns a codec of format 3 as a filter of format 2. Size is the size of its
// input elements; 0 means unknown.
func filterOf(spec codec.Spec, size int) (f V2Codec, err error) {
	id, ok := coreIDs[spec.Name]
	if !ok {
		info, _ := codec.Lookup(spec.Name)
		id = info.V2
	}
	if id == "" {
		return f, unsupportedError("", "format 2 has no codec %q", abbreviate(spec.Name))
	}
	f = V2Codec{ID: id, Config: spec.Config}
	switch {
	case spec.Name == "blosc":
		f.Config, err = numcodecsBlosc(spec.Config)
	case id == "zstd":
		f.Config, err = withoutChecksum(spec.Config)
	case slices.Contains(elementFilters, id):
		f.Config, err = withLittleEndianTypes(spec.Config)
	case id == "shuffle" && size == 0:
		var config struct{ ElementSize *int }
		if json.Unmarshal(configOrEmpty(spec.Config), &config) == nil && config.ElementSize == nil {
			err = unsupportedError("elementsize", "missing; the filters before change the element size, so it must be set")
		}
	case id == "shuffle":
		f.Config, err = withElementSize(spec.Config, size)
	}
	return f, err
}
