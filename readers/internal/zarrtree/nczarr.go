package zarrtree

import (
	"bytes"
	"encoding/json"
	"path"
	"strings"

	"varve/readers"
	"varve/zarrjson"
)

// netCDF-C writes NCZarr: it stores the parts of netCDF's model that Zarr lacks under keys that
// start with _nczarr_. Since version 4.10 these are attributes; before, they were members of
// .zarray and .zgroup in capitals. Neither they nor _NCProperties are attributes for netCDF-C and
// xarray.

// isNCZarr reports whether netCDF-C wrote a node. It marks the root, and in NCZarr mode every node.
func (n *Node) isNCZarr() bool {
	for _, doc := range [][]byte{n.Attrs, n.Array, n.Group} {
		if bytes.Contains(doc, []byte(`"_nczarr_`)) || bytes.Contains(doc, []byte(`"_NCZARR_`)) {
			return true
		}
	}
	raw, ok := fieldOf(n.Attrs, "_NCProperties")
	return ok && bytes.Contains(raw, []byte("nczarr="))
}

// fieldOf returns a member of a document, which may be invalid.
func fieldOf(doc []byte, name string) ([]byte, bool) {
	fields, err := parseAttributes(doc)
	if err != nil {
		return nil, false
	}
	return fields.Get(name)
}

// withoutNCZarr returns the attributes that netCDF-C shows.
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

// ncArray is netCDF-C's own metadata of an array.
type ncArray struct {
	Dimensions []string `json:"dimension_references"` // paths
	Older      []string `json:"dimrefs"`              // the same before version 4.10
}

const dimensionsAttribute = "_ARRAY_DIMENSIONS"

// nameDimensions sets the names of an array's dimensions in netCDF, unless the array has xarray's
// attribute for them.
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
		return readers.Corruptf("NCZarr metadata of an array are %.80q: %v", raw, err)
	}
	names := says.Dimensions
	if names == nil {
		names = says.Older
	}
	if len(names) == 0 { // a scalar, which is stored as an array of one element
		return nil
	}
	for i, p := range names {
		// xarray has names of dimensions, not paths.
		names[i] = path.Base(p)
	}
	text, err := json.Marshal(names)
	if err != nil {
		return err
	}
	return attributes.Set(dimensionsAttribute, text)
}
