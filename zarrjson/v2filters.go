package zarrjson

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"varve/codec"
)

// elementFilters are the ids that take elements and give elements. Their configurations
// name types as NumPy spells them, with a byte order:
//
//	{"id": "fixedscaleoffset", "dtype": ">f8", "astype": ">i2", …}
//
// In format 2 that is the order of the stored words. In format 3 the codec "bytes" says
// it, and a string that says it once more has clients turn the bytes of elements. So
// strings become little-endian in format 3. They do in format 2, where varve writes no
// other elements before a filter.
var elementFilters = []string{"delta", "fixedscaleoffset", "quantize", "bitround", "packbits", "astype"}

// filterTypes are the types that an element filter names.
type filterTypes struct {
	DType  string `json:"dtype"`
	AsType string `json:"astype"`
	Encode string `json:"encode_dtype"`
	Decode string `json:"decode_dtype"`
}

func (f V2Codec) types() (t filterTypes) {
	_ = json.Unmarshal(configOrEmpty(f.Config), &t) // what is no string is for the codec to refuse
	return t
}

// decoded is what the filter takes elements for, and stored what it makes of them; both
// may be left out.
func (t filterTypes) decoded() string { return cmp.Or(t.Decode, t.DType) }
func (t filterTypes) stored() string  { return cmp.Or(t.Encode, t.AsType, t.DType) }

// check reports a filter that takes elements for words of the other byte order than they
// have: numcodecs looks at the same bytes as other numbers, which format 3 cannot say.
func (t filterTypes) check(elements ByteOrder) error {
	name := t.decoded()
	if name == "" || elements == NoOrder {
		return nil
	}
	if order := orderOf(name); order != NoOrder && order != elements {
		return unsupported("", "it takes elements for %q, but their words are of the other byte order", abbreviate(name))
	}
	return nil
}

// orderAfter returns the byte order of what a filter makes of elements: that of the
// type it names, if it names one.
func orderAfter(f V2Codec, before ByteOrder) ByteOrder {
	if f.ID == "packbits" {
		return NoOrder
	}
	if name := f.types().stored(); name != "" {
		return orderOf(name)
	}
	return before
}

// orderOf returns the byte order that a type's name begins with. Names without one are
// taken as numcodecs' own machines take them.
func orderOf(name string) ByteOrder {
	switch name[0] {
	case '>':
		return BigEndian
	case '|':
		return NoOrder
	}
	return LittleEndian
}

// littleTypes has all types that a configuration names be little-endian.
func littleTypes(config json.RawMessage) (json.RawMessage, error) {
	return respelled(config, func(m *member) error {
		switch m.name {
		case "dtype", "astype", "encode_dtype", "decode_dtype":
			if name, err := (value{raw: m.raw}).text(); err == nil && strings.HasPrefix(name, ">") {
				m.raw = quote(nil, "<"+name[1:])
			}
		}
		return nil
	})
}

// shuffleSize is what numcodecs takes for the element size of a shuffle that names none. In
// format 3 it is that of the elements instead.
const shuffleSize = 4

// withElementSize names the element size of a shuffle that does not.
func withElementSize(config json.RawMessage, size int) (json.RawMessage, error) {
	named := false
	config, err := respelled(config, func(m *member) error {
		if m.name == "elementsize" {
			named = true
			if string(m.raw) == "null" {
				m.raw = strconv.AppendInt(nil, int64(size), 10)
			}
		}
		return nil
	})
	if named || err != nil {
		return config, err
	}
	member := strconv.AppendInt([]byte(`"elementsize":`), int64(size), 10)
	if string(config) != "{}" {
		member = append(member, ',')
	}
	return slices.Concat([]byte("{"), member, config[1:]), nil
}

// bloscFilter spells shuffle as numcodecs does, by number, and leaves out the element
// size, which numcodecs takes from the array.
func bloscFilter(config json.RawMessage) (json.RawMessage, error) {
	return respelled(config, func(m *member) error {
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

// respelled is a configuration after a change of its members. One without a value is left out.
func respelled(config json.RawMessage, change func(*member) error) (json.RawMessage, error) {
	v, err := document(configOrEmpty(config))
	if err != nil {
		return nil, err
	}
	o, err := v.object("an object")
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

// toV3 is the configuration of a filter as format 3 has it.
func (f V2Codec) toV3() (json.RawMessage, error) {
	switch {
	case slices.Contains(elementFilters, f.ID):
		return littleTypes(f.Config)
	case f.ID == "shuffle":
		return withElementSize(f.Config, shuffleSize)
	}
	return configOrEmpty(f.Config), nil
}

// filterOf is a codec of format 3 as a filter of format 2, for elements of a size, which is
// 0 if that is not known.
func filterOf(spec codec.Spec, size int) (f V2Codec, err error) {
	id, ok := coreIDs[spec.Name]
	if !ok {
		info, _ := codec.Lookup(spec.Name)
		id = info.V2
	}
	if id == "" {
		return f, unsupported("", "format 2 has no codec %q", abbreviate(spec.Name))
	}
	f = V2Codec{ID: id, Config: spec.Config}
	switch {
	case spec.Name == "blosc":
		f.Config, err = bloscFilter(spec.Config)
	case slices.Contains(elementFilters, id):
		f.Config, err = littleTypes(spec.Config)
	case id == "shuffle" && size == 0:
		var config struct{ ElementSize *int }
		if json.Unmarshal(configOrEmpty(spec.Config), &config) == nil && config.ElementSize == nil {
			err = unsupported("elementsize", "missing; the elements have not the size of the array's")
		}
	case id == "shuffle":
		f.Config, err = withElementSize(spec.Config, size)
	}
	return f, err
}
