package zarrtree

import (
	"bytes"
	"slices"
	"strconv"

	"varve/readers"
	"varve/zarrjson"
)

// Writers of Zarr that know its codecs by libraries of their own spell some things as nobody else does.
// What they mean, and read, is clear.

// respell has the codecs of an array say what they mean in numcodecs' words. netCDF-C may have written it.
func respell(a *zarrjson.V2Array, nc bool) error {
	size, err := a.DataType.Type().Size, error(nil)
	a.Filters = slices.Clone(a.Filters)
	for i := range a.Filters {
		if a.Filters[i], err = respelled(a.Filters[i], size, nc); err != nil {
			return err
		}
	}
	if a.Compressor != nil {
		last, err := respelled(*a.Compressor, size, nc)
		a.Compressor = &last
		return err
	}
	return nil
}

// respelled is a codec of an array whose elements have a size.
func respelled(c zarrjson.V2Codec, size int, nc bool) (zarrjson.V2Codec, error) {
	switch {
	case c.ID == "shuffle" && nc: // netCDF-C's 0 is the size of elements; to numcodecs it says that nothing is shuffled
		return with(c, "elementsize", map[string]string{"0": strconv.Itoa(size), `"0"`: strconv.Itoa(size)})
	case c.ID == "zstd": // GDAL's truth
		return with(c, "checksum", map[string]string{`"NO"`: "false", `"YES"`: "true"})
	case c.ID == "lzma": // what GDAL's filter does is in what it stores
		return without(c, "delta")
	}
	return c, nil
}

// with is a codec after some values of a member of its configuration are replaced.
func with(c zarrjson.V2Codec, name string, values map[string]string) (zarrjson.V2Codec, error) {
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

// without is a codec without a member of its configuration.
func without(c zarrjson.V2Codec, name string) (zarrjson.V2Codec, error) {
	config, err := parseAttributes(c.Config)
	if err != nil || !config.Delete(name) {
		return c, err
	}
	c.Config = config.JSON()
	return c, nil
}

// withFill returns the document of an array of format 3 with a fill value, if it has null there, as GDAL
// writes it where nothing stands for missing data.
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
		return nil, false, readers.Corruptf("an array without a data_type")
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
