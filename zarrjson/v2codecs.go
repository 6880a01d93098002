package zarrjson

import (
	"encoding/json"
	"slices"

	"varve/codec"
)

// v3Codecs returns the array's filters and compressor as a codec chain of format 3.
// Format 2 applies them in sequence to elements in their stored byte order; format 3
// states with a codec of its own where elements become bytes.
func (a *V2Array) v3Codecs() ([]codec.Spec, error) {
	c := &chain{order: a.DataType.Order()}
	// The transpose comes first: filters see the elements in stored order. With one
	// dimension, both orders are the same.
	if a.Order == ColumnMajor && len(a.Shape) > 1 {
		c.specs = append(c.specs, codec.Spec{Name: "transpose", Config: reverseTranspose(len(a.Shape))})
	}
	if c.order == MixedOrder {
		return nil, unsupportedError("dtype", "%s has fields of both byte orders, which format 3 cannot express", abbreviate(a.DataType.docJSON))
	}
	for i, f := range a.Filters {
		if err := c.add(f); err != nil {
			return nil, atPath(indexPath("filters", i), err)
		}
	}
	if a.Compressor != nil {
		if err := c.add(*a.Compressor); err != nil {
			return nil, atPath("compressor", err)
		}
	}
	c.toBytes()
	return c.specs, nil
}

// reverseTranspose returns the configuration of a transpose that reverses the axes.
func reverseTranspose(rank int) json.RawMessage {
	w := &writer{layout: Compact}
	w.begin('{')
	w.name("order")
	w.begin('[')
	for axis := rank - 1; axis >= 0; axis-- {
		w.next()
		w.integer(int64(axis))
	}
	w.end(']')
	w.end('}')
	return w.out
}

// chain is a codec chain of format 3 under construction.
type chain struct {
	specs   []codec.Spec
	isBytes bool      // the elements have become bytes
	order   ByteOrder // of the elements, until they become bytes
}

func (c *chain) add(f V2Codec) error {
	config, err := f.toV3()
	if err != nil {
		return err
	}
	// These take elements and return bytes: in format 3 they replace the codec "bytes".
	if f.ID == "vlen-utf8" || f.ID == "vlen-bytes" || f.ID == "grib" {
		if c.isBytes {
			return unsupportedError("", "%q after a filter that returns bytes", f.ID)
		}
		c.isBytes = true
		c.specs = append(c.specs, codec.Spec{Name: f.ID, Config: config})
		return nil
	}
	info, ok := codec.LookupV2(f.ID)
	if !ok {
		return unsupportedError("id", "%q is not a known codec", abbreviate(f.ID))
	}
	if !slices.Contains(elementFilters, f.ID) {
		c.toBytes()
	} else if c.isBytes {
		return unsupportedError("id", "%q takes elements, but the filter before it returns bytes", f.ID)
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

// toBytes appends the codec "bytes", unless the elements are bytes already.
func (c *chain) toBytes() {
	if c.isBytes {
		return
	}
	c.isBytes = true
	spec := codec.InOrder("")
	switch c.order {
	case LittleEndian:
		spec = codec.InOrder(codec.LittleEndian)
	case BigEndian:
		spec = codec.InOrder(codec.BigEndian)
	}
	c.specs = append(c.specs, spec)
}

// setCodecs converts the codecs of a, and sets the order and the data type from them.
func (v *V2Array) setCodecs(a *Array) error {
	v.Order = RowMajor
	order, size := LittleEndian, a.DataType.typ.Size
	for i, spec := range a.Codecs {
		path := indexPath("codecs", i)
		switch spec.Name {
		case "bytes":
			order = v2ByteOrder(spec)
			if order == BigEndian && len(v.Filters) > 0 {
				return unsupportedError(path, "big-endian elements after the filter %q", v.Filters[len(v.Filters)-1].ID)
			}
		case "transpose":
			if err := v.setTranspose(a, i); err != nil {
				return atPath(path, err)
			}
		default:
			f, err := filterOf(spec, size)
			if err != nil {
				return atPath(path, err)
			}
			// Only bitround keeps the element size, which a later shuffle needs.
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

// compressors are the ids that readers of format 2 expect under compressor; some readers
// find them nowhere else.
var compressors = []string{"blosc", "zstd", "gzip", "zlib", "lz4", "bz2", "lzma", "lzf"}

// splitCompressor moves the last filter to compressor, if it compresses.
func (v *V2Array) splitCompressor() {
	last := len(v.Filters) - 1
	if last >= 0 && slices.Contains(compressors, v.Filters[last].ID) {
		v.Compressor = &v.Filters[last]
		// Limit the capacity, so that an append does not overwrite the compressor.
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

// setTranspose accepts the two element orders that format 2 has.
func (v *V2Array) setTranspose(a *Array, i int) error {
	var config struct{ Order []int }
	if err := json.Unmarshal(a.Codecs[i].Config, &config); err != nil {
		return corruptError("configuration", "%v", err)
	}
	isIdentity, isReversed := true, len(config.Order) == len(a.Shape)
	for k, axis := range config.Order {
		isIdentity = isIdentity && axis == k
		isReversed = isReversed && axis == len(a.Shape)-1-k
	}
	switch {
	case isIdentity:
		return nil
	case !isReversed || i > 0:
		return unsupportedError("", "format 2 has only the transpose that reverses all axes (order F), before all filters")
	}
	v.Order = ColumnMajor
	return nil
}

// coreIDs are the ids of the core codecs, whose bytes equal the bytes of numcodecs.
var coreIDs = map[string]string{
	"gzip": "gzip", "zstd": "zstd", "crc32c": "crc32c", "blosc": "blosc",
	"vlen-utf8": "vlen-utf8", "vlen-bytes": "vlen-bytes",
}
