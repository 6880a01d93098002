package zarrtree

import (
	"bytes"
	"errors"

	"varve/codec"
	"varve/readers"
	"varve/zarrjson"
)

// document is the decoded metadata of a node.
type document struct {
	array      *zarrjson.Array // nil for a group
	attributes zarrjson.Attributes
	extra      []zarrjson.ExtraField

	// hasFill reports whether the writer set the value of cells that were not written.
	hasFill bool
	// isMasked reports whether this value also marks missing data, as it does for xarray in format 2.
	isMasked bool
	// undecodable is the reason why the array has no codecs.
	undecodable error
}

// parse decodes the documents of a node. nc reports whether netCDF-C wrote the hierarchy.
func (n *Node) parse(nc bool) (*document, error) {
	nc = nc || n.isNCZarr()
	switch {
	case n.Zarr != nil:
		return parseV3(n.Zarr)
	case n.Array != nil:
		return parseV2(n.Array, n.Attrs, nc)
	case n.Group != nil:
		if err := zarrjson.CheckV2Group(n.Group); err != nil {
			return nil, err
		}
		attributes, err := parseAttributes(n.Attrs)
		if nc && err == nil {
			attributes = withoutNCZarr(attributes)
		}
		return &document{attributes: attributes}, err
	}
	return nil, readers.Corruptf("node has .zattrs, but neither .zarray nor .zgroup")
}

func parseAttributes(doc []byte) (zarrjson.Attributes, error) {
	if doc == nil {
		return zarrjson.Attributes{}, nil
	}
	return zarrjson.ParseAttributes(doc)
}

func parseV3(doc []byte) (*document, error) {
	doc, err := withoutConsolidated(doc)
	if err != nil {
		return nil, err
	}
	doc, unset, err := withFill(doc)
	if err != nil {
		return nil, err
	}
	node, err := zarrjson.ParseNode(doc)
	if err != nil {
		return nil, err
	}
	if node.Array == nil {
		return &document{attributes: node.Group.Attributes, extra: node.Group.Extra}, nil
	}
	return &document{array: node.Array, attributes: node.Array.Attributes, extra: node.Array.Extra, hasFill: !unset}, nil
}

const consolidated = "consolidated_metadata"

// withoutConsolidated removes the documents of other nodes from the document of a group. Otherwise
// damage to them would be reported for the group.
func withoutConsolidated(doc []byte) ([]byte, error) {
	if !bytes.Contains(doc, []byte(consolidated)) {
		return doc, nil
	}
	fields, err := zarrjson.ParseAttributes(doc)
	if err != nil {
		return nil, err
	}
	fields.Delete(consolidated)
	return fields.JSON(), nil
}

// Consolidated returns the documents of other nodes in the zarr.json of a group. ok is false if
// there are none.
func Consolidated(doc []byte) (nodes []Node, ok bool, err error) {
	if !bytes.Contains(doc, []byte(consolidated)) {
		return nil, false, nil
	}
	fields, err := zarrjson.ParseAttributes(doc)
	if err != nil {
		return nil, false, err
	}
	raw, ok := fields.Get(consolidated)
	if !ok || string(raw) == "null" {
		return nil, false, nil
	}
	members, err := member(raw, "metadata")
	if err != nil {
		return nil, false, err
	}
	for path, doc := range members.All() {
		nodes = append(nodes, Node{Path: path, Zarr: doc})
	}
	return nodes, true, nil
}

// V2Consolidated returns the documents in a .zmetadata, and the member record_size, which only
// kerchunk writes.
func V2Consolidated(doc []byte) (nodes []Node, recordSize []byte, err error) {
	fields, err := zarrjson.ParseAttributes(doc)
	if err != nil {
		return nil, nil, err
	}
	documents, err := member(fields.JSON(), "metadata")
	if err != nil {
		return nil, nil, err
	}
	recordSize, _ = fields.Get("record_size")
	c := Collector{}
	for key, doc := range documents.All() {
		c.Add(key, doc)
	}
	return c.Nodes(), recordSize, nil
}

// member returns an object in an object.
func member(object []byte, name string) (zarrjson.Attributes, error) {
	fields, err := zarrjson.ParseAttributes(object)
	if err != nil {
		return fields, err
	}
	raw, ok := fields.Get(name)
	if !ok {
		return fields, readers.Corruptf("consolidated metadata have no %q", name)
	}
	return zarrjson.ParseAttributes(raw)
}

// Collector groups documents into nodes by their keys.
type Collector struct {
	nodes []*Node
	at    map[string]*Node
}

// IsDocument reports whether a key names a document.
func IsDocument(key string) bool {
	_, name := split(key)
	switch name {
	case "zarr.json", ".zarray", ".zgroup", ".zattrs":
		return true
	}
	return false
}

// Add adds a document. It ignores keys of other files.
func (c *Collector) Add(key string, doc []byte) {
	if !IsDocument(key) {
		return
	}
	path, name := split(key)
	n := c.at[path]
	if n == nil {
		n = &Node{Path: path}
		if c.at == nil {
			c.at = map[string]*Node{}
		}
		c.at[path] = n
		c.nodes = append(c.nodes, n)
	}
	switch name {
	case "zarr.json":
		n.Zarr = doc
	case ".zarray":
		n.Array = doc
	case ".zgroup":
		n.Group = doc
	case ".zattrs":
		n.Attrs = doc
	}
}

// Nodes returns the nodes in the order of their first document.
func (c *Collector) Nodes() []Node {
	out := make([]Node, len(c.nodes))
	for i, n := range c.nodes {
		out[i] = *n
	}
	return out
}

// parseV2 decodes an array of format 2. If its codecs have no counterpart in format 3, the array
// has none.
func parseV2(array, attrs []byte, nc bool) (*document, error) {
	a, err := zarrjson.ParseV2Array(array)
	if err != nil {
		return nil, err
	}
	attributes, err := parseAttributes(attrs)
	if err != nil {
		return nil, err
	}
	if err := respell(a, nc); err != nil {
		return nil, err
	}
	if nc {
		if err := nameDimensions(array, attrs, &attributes); err != nil {
			return nil, err
		}
		attributes = withoutNCZarr(attributes)
	}
	d := &document{hasFill: a.Fill != nil, isMasked: a.Fill != nil}
	d.array, err = a.ToV3(attributes, zarrjson.KeepFill)
	// Show the array's shape and attributes, although its chunks cannot be decoded.
	if errors.Is(err, errors.ErrUnsupported) {
		d.undecodable = err
		d.array, err = withoutCodecs(a, attributes)
	}
	if err != nil {
		return nil, err
	}
	d.attributes = d.array.Attributes
	return d, nil
}

// withoutCodecs returns an array that cannot be decoded without its codecs.
func withoutCodecs(a *zarrjson.V2Array, attributes zarrjson.Attributes) (*zarrjson.Array, error) {
	b := *a
	b.Filters, b.Compressor, b.Order = nil, nil, zarrjson.RowMajor
	if t := a.DataType.Type(); t.Varies() {
		b.Filters = []zarrjson.V2Codec{{ID: map[codec.Kind]string{codec.String: "vlen-utf8", codec.Bytes: "vlen-bytes"}[t.Kind]}}
	}
	var err error
	if b.DataType.Order() == zarrjson.MixedOrder {
		if b.DataType, err = zarrjson.V2DataTypeOf(a.DataType.Type(), zarrjson.LittleEndian); err != nil {
			return nil, err
		}
	}
	return b.ToV3(attributes, zarrjson.KeepFill)
}
