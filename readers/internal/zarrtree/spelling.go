package zarrtree

import (
	"bytes"
	"slices"
	"strconv"

	"varve/readers"
	"varve/zarrjson"
)

// Some writers of Zarr use other libraries than numcodecs and spell configurations in their own
// way. Their meaning is clear from their code.

// respell rewrites the codecs of an array in numcodecs' spelling. nc reports whether netCDF-C may
// have written the array.
func respell(a *zarrjson.V2Array, nc bool) error {
	size, err := a.DataType.Type().Size, error(nil)
	a.Filters = slices.Clone(a.Filters)
	for i := range a.Filters {
		if a.Filters[i], err = respellCodec(a.Filters[i], size, nc); err != nil {
			return err
		}
	}
	if a.Compressor != nil {
		last, err := respellCodec(*a.Compressor, size, nc)
		a.Compressor = &last
		return err
	}
	return nil
}

// respellCodec returns a codec in numcodecs' spelling, for elements of the given size.
func respellCodec(c zarrjson.V2Codec, size int, nc bool) (zarrjson.V2Codec, error) {
	switch {
	case c.ID == "shuffle" && nc: // 0 is the size of elements for netCDF-C, but no shuffle for numcodecs
		return replaceValue(c, "elementsize", map[string]string{"0": strconv.Itoa(size), `"0"`: strconv.Itoa(size)})
	case c.ID == "zstd": // GDAL's booleans
		return replaceValue(c, "checksum", map[string]string{`"NO"`: "false", `"YES"`: "true"})
	case c.ID == "lzma": // GDAL's delta filter is part of the LZMA stream
		return deleteMember(c, "delta")
	}
	return c, nil
}

// replaceValue returns a codec after it has replaced some values of a member of its configuration.
func replaceValue(c zarrjson.V2Codec, name string, values map[string]string) (zarrjson.V2Codec, error) {
	config, err := parseAttributes(c.Config)
	if err != nil {
		return c, err
	}
	raw, _ := config.Get(name)
	value, ok := values[string(raw)]
	if !ok {
		return c, nil
	}
	err = config.Set(name, []byte(value))
	c.Config = config.JSON()
	return c, err
}

// deleteMember returns a codec without a member of its configuration.
func deleteMember(c zarrjson.V2Codec, name string) (zarrjson.V2Codec, error) {
	config, err := parseAttributes(c.Config)
	if err != nil || !config.Delete(name) {
		return c, err
	}
	c.Config = config.JSON()
	return c, nil
}

// withFill returns the document of an array of format 3 with the default fill value if it is null.
// GDAL writes null if no value marks missing data.
func withFill(doc []byte) (filled []byte, replaced bool, err error) {
	if !bytes.Contains(doc, []byte("null")) {
		return doc, false, nil
	}
	fields, err := zarrjson.ParseAttributes(doc)
	if err != nil {
		return nil, false, err
	}
	if fill, ok := fields.Get("fill_value"); !ok || string(fill) != "null" {
		return doc, false, nil
	}
	name, ok := fields.Get("data_type")
	if !ok {
		return nil, false, readers.Corruptf("array has no data_type")
	}
	t, err := zarrjson.ParseDataType(name)
	if err != nil {
		return nil, false, err
	}
	fill, err := t.FillJSON(t.DefaultFill())
	if err == nil {
		err = fields.Set("fill_value", fill)
	}
	return fields.JSON(), true, err
}
