package zarrtree

import (
	"bytes"
	"encoding/json"
	"path"
	"strings"

	"varve/readers"
	"varve/zarrjson"
)

// netCDF-C writes Zarr of its own, NCZarr: how netCDF's model goes beyond Zarr's stands under keys that
// begin with _nczarr_, since version 4.10 in attributes and before that, in capitals, in .zarray and .zgroup.
// To it they are no attributes, nor is _NCProperties, and nor are they to xarray.

// isNCZarr reports whether netCDF-C wrote a node, which says so in the root and, unless it was told to write
// nothing but Zarr, elsewhere.
func (n *Node) isNCZarr() bool {
	for _, doc := range [][]byte{n.Attrs, n.Array, n.Group} {
		if bytes.Contains(doc, []byte(`"_nczarr_`)) || bytes.Contains(doc, []byte(`"_NCZARR_`)) {
			return true
		}
	}
	raw, ok := fieldOf(n.Attrs, "_NCProperties")
	return ok && bytes.Contains(raw, []byte("nczarr="))
}

// fieldOf returns a member of a document that may be no object.
func fieldOf(doc []byte, name string) ([]byte, bool) {
	fields, err := parseAttributes(doc)
	if err != nil {
		return nil, false
	}
	return fields.Get(name)
}

// withoutNCZarr returns the attributes that are some to netCDF.
func withoutNCZarr(attributes zarrjson.Attributes) zarrjson.Attributes {
	var own []string
	for name := range attributes.All() {
		if strings.HasPrefix(strings.ToLower(name), "_nc") {
			own = append(own, name)
		}
	}
	for _, name := range own {
		attributes.Delete(name)
	}
	return attributes
}

// ncArray is what netCDF-C says of an array.
type ncArray struct {
	Dimensions []string `json:"dimension_references"` // paths
	Older      []string `json:"dimrefs"`              // the same, before version 4.10
}

const dimensionsAttribute = "_ARRAY_DIMENSIONS"

// nameDimensions gives an array that was not written for xarray the names that its dimensions have in netCDF.
func nameDimensions(array, attrs []byte, attributes *zarrjson.Attributes) error {
	if _, ok := attributes.Get(dimensionsAttribute); ok {
		return nil
	}
	raw, ok := fieldOf(attrs, "_nczarr_array")
	if !ok {
		if raw, ok = fieldOf(array, "_NCZARR_ARRAY"); !ok {
			return nil
		}
	}
	var says ncArray
	if err := json.Unmarshal(raw, &says); err != nil {
		return readers.Corruptf("what netCDF-C says of an array is %.80q: %v", raw, err)
	}
	names := says.Dimensions
	if names == nil {
		names = says.Older
	}
	if len(names) == 0 { // of a scalar, which is stored as a list of one
		return nil
	}
	for i, p := range names {
		names[i] = path.Base(p)
	}
	text, err := json.Marshal(names)
	if err != nil {
		return err
	}
	return attributes.Set(dimensionsAttribute, text)
}
