package zarrjson

import (
	"encoding/json"
	"slices"

	"varve/codec"
)

// v3Codecs returns the array's filters and compressor as a chain of format 3. Format 2
// applies them one after the other to the elements in their stored byte order; format 3
// says between which of them elements become bytes.
func (a *V2Array) v3Codecs() ([]codec.Spec, error) {
	c := &chain{order: a.DataType.Order()}
	if a.Order == ColumnMajor && len(a.Shape) > 1 {
		c.specs = append(c.specs, codec.Spec{Name: "transpose", Config: reversed(len(a.Shape))})
	}
	if c.order == MixedOrder {
		return nil, unsupported("dtype", "%s has fields of both byte orders, which format 3 cannot say", abbreviate(a.DataType.spelled))
	}
	for i, f := range a.Filters {
		if err := c.add(f); err != nil {
			return nil, at(index("filters", i), err)
		}
	}
	if a.Compressor != nil {
		if err := c.add(*a.Compressor); err != nil {
			return nil, at("compressor", err)
		}
	}
	c.toBytes()
	return c.specs, nil
}

// reversed is the configuration of a transpose that reverses the axes.
func reversed(rank int) json.RawMessage {
	w := &writer{layout: Compact}
	w.begin('{')
	w.name("order")
	w.begin('[')
	for axis := rank - 1; axis >= 0; axis-- {
		w.next()
		w.whole(int64(axis))
	}
	w.end(']')
	w.end('}')
	return w.out
}

// chain is a chain of format 3 as it grows.
type chain struct {
	specs []codec.Spec
	bytes bool      // the elements have become bytes
	order ByteOrder // of the elements, as long as they have not
}

func (c *chain) add(f V2Codec) error {
	config, err := f.toV3()
	if err != nil {
		return err
	}
	if f.ID == "vlen-utf8" || f.ID == "vlen-bytes" {
		if c.bytes {
			return unsupported("", "%q behind a filter that makes bytes", f.ID)
		}
		c.bytes = true
		c.specs = append(c.specs, codec.Spec{Name: f.ID, Config: config})
		return nil
	}
	info, ok := codec.LookupV2(f.ID)
	if !ok {
		return unsupported("id", "%q is not a codec that varve knows", abbreviate(f.ID))
	}
	if !slices.Contains(elementFilters, f.ID) {
		c.toBytes()
	} else if c.bytes {
		return unsupported("id", "%q works on elements, but the filter before it makes bytes", f.ID)
	} else if err := f.types().check(c.order); err != nil {
		return err
	} else {
		c.order = orderAfter(f, c.order)
	}
	c.specs = append(c.specs, codec.Spec{Name: info.Name, Config: config})
	return nil
}

func configOrEmpty(config json.RawMessage) json.RawMessage {
	if config == nil {
		return json.RawMessage("{}")
	}
	return config
}

// toBytes lays the elements out as bytes, unless they are already.
func (c *chain) toBytes() {
	if c.bytes {
		return
	}
	c.bytes = true
	spec := codec.Spec{Name: "bytes"}
	switch c.order {
	case LittleEndian:
		spec.Config = json.RawMessage(`{"endian":"little"}`)
	case BigEndian:
		spec.Config = json.RawMessage(`{"endian":"big"}`)
	}
	c.specs = append(c.specs, spec)
}

// setCodecs translates the codecs of a, and with them order and data type.
func (v *V2Array) setCodecs(a *Array) error {
	v.Order = RowMajor
	order, size := LittleEndian, a.DataType.typ.Size
	for i, spec := range a.Codecs {
		path := index("codecs", i)
		switch spec.Name {
		case "bytes":
			order = v2ByteOrder(spec)
			if order == BigEndian && len(v.Filters) > 0 {
				return unsupported(path, "big-endian elements behind the filter %q", v.Filters[len(v.Filters)-1].ID)
			}
		case "transpose":
			if err := v.setTranspose(a, i); err != nil {
				return at(path, err)
			}
		default:
			f, err := filterOf(spec, size)
			if err != nil {
				return at(path, err)
			}
			if f.ID != "bitround" && slices.Contains(elementFilters, f.ID) {
				size = 0
			}
			v.Filters = append(v.Filters, f)
		}
	}
	v.splitCompressor()
	var err error
	v.DataType, err = V2DataTypeOf(a.DataType.typ, order)
	return err
}

// compressors are the ids that readers of format 2 look for under compressor, and some
// under nothing else.
var compressors = []string{"blosc", "zstd", "gzip", "zlib", "lz4", "bz2", "lzma", "lzf"}

// splitCompressor moves the last filter, if it compresses, to where it is looked for.
func (v *V2Array) splitCompressor() {
	last := len(v.Filters) - 1
	if last >= 0 && slices.Contains(compressors, v.Filters[last].ID) {
		v.Compressor = &v.Filters[last]
		v.Filters = v.Filters[:last:last]
	}
}

func v2ByteOrder(spec codec.Spec) ByteOrder {
	var config struct{ Endian string }
	if json.Unmarshal(spec.Config, &config) == nil && config.Endian == "big" {
		return BigEndian
	}
	return LittleEndian
}

// setTranspose accepts the two orders of elements that format 2 has.
func (v *V2Array) setTranspose(a *Array, i int) error {
	var config struct{ Order []int }
	if err := json.Unmarshal(a.Codecs[i].Config, &config); err != nil {
		return wrong("configuration", "%v", err)
	}
	kept, turned := true, len(config.Order) == len(a.Shape)
	for k, axis := range config.Order {
		kept = kept && axis == k
		turned = turned && axis == len(a.Shape)-1-k
	}
	switch {
	case kept:
		return nil
	case !turned || i > 0:
		return unsupported("", "format 2 has no transpose but order F, before all filters")
	}
	v.Order = ColumnMajor
	return nil
}

// coreIDs are the ids of the core codecs, whose bytes are those of numcodecs.
var coreIDs = map[string]string{
	"gzip": "gzip", "zstd": "zstd", "crc32c": "crc32c", "blosc": "blosc",
	"vlen-utf8": "vlen-utf8", "vlen-bytes": "vlen-bytes",
}
