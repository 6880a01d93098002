package zarrtree

import (
	"bytes"
	"errors"

	"varve/codec"
	"varve/readers"
	"varve/zarrjson"
)

// document is what the documents of a node say.
type document struct {
	array      *zarrjson.Array // nil for a group
	attributes zarrjson.Attributes

	// fill is whether cells that nobody wrote have a value that somebody chose.
	fill bool
	// masked is whether that value also stands for missing data, as in format 2 it does
	// for xarray.
	masked bool
	// undecodable is why the chain of codecs is not there.
	undecodable error
}

// parse reads the documents of a node, which netCDF-C may have written.
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
	return nil, readers.Corruptf("there are attributes, but neither .zarray nor .zgroup")
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
		return &document{attributes: node.Group.Attributes}, nil
	}
	return &document{array: node.Array, attributes: node.Array.Attributes, fill: !unset}, nil
}

const consolidated = "consolidated_metadata"

// withoutConsolidated takes the documents of other nodes out of that of a group, so that
// what is wrong with one of them is not the group's fault.
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

// Consolidated returns the documents of other nodes that the zarr.json of a group has in
// it, if it has any.
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

// V2Consolidated returns the documents in a .zmetadata, and the member record_size, which
// only kerchunk's have.
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
		return fields, readers.Corruptf("consolidated metadata without %q", name)
	}
	return zarrjson.ParseAttributes(raw)
}

// Collector puts the nodes of documents together that come under their keys.
type Collector struct {
	nodes []*Node
	at    map[string]*Node
}

// IsDocument reports whether the key is that of a document, and not of a chunk.
func IsDocument(key string) bool {
	_, name := split(key)
	switch name {
	case "zarr.json", ".zarray", ".zgroup", ".zattrs":
		return true
	}
	return false
}

// Add takes a document. Others are left out.
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

// Nodes returns the nodes in the order in which they came.
func (c *Collector) Nodes() []Node {
	out := make([]Node, len(c.nodes))
	for i, n := range c.nodes {
		out[i] = *n
	}
	return out
}

// parseV2 reads an array of format 2. One whose codecs have no place in format 3 comes
// without them.
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
	d := &document{fill: a.Fill != nil, masked: a.Fill != nil}
	d.array, err = a.ToV3(attributes, zarrjson.KeepFill)
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

// withoutCodecs returns what can be said of an array that cannot be decoded.
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
