package zarrjson

import (
	"strings"
)

// CheckV2Group returns an error unless doc is a valid .zgroup, which contains nothing but
// the format.
func CheckV2Group(doc []byte) error {
	v, err := parseValue(doc)
	if err != nil {
		return err
	}
	return readV2Group(v)
}

func readV2Group(v value) error {
	o, err := v.readObject("an object")
	if err != nil {
		return err
	}
	return o.needLiteral("zarr_format", "2")
}

// V2Group returns a .zgroup.
func V2Group(layout Layout) []byte {
	w := &writer{layout: layout}
	writeV2Group(w)
	return w.out
}

func writeV2Group(w *writer) {
	w.begin('{')
	w.member("zarr_format", 2)
	w.end('}')
}

// V2Node is a node of a format 2 hierarchy with its attributes.
type V2Node struct {
	Path       string   // "" is the root
	Array      *V2Array // nil: a group
	Attributes Attributes
}

// V2Consolidated is a .zmetadata: the documents of a hierarchy under their keys.
//
//	{"metadata": {".zgroup": {…}, ".zattrs": {…}, "x/.zarray": {…}, "x/.zattrs": {…}},
//	 "zarr_consolidated_format": 1}
type V2Consolidated struct {
	Nodes []V2Node // in the order of the document
}

// ParseV2Consolidated parses a .zmetadata. It accepts kerchunk's, which has no
// zarr_consolidated_format.
func ParseV2Consolidated(doc []byte) (*V2Consolidated, error) {
	v, err := parseValue(doc)
	if err != nil {
		return nil, err
	}
	o, err := v.readObject("an object")
	if err != nil {
		return nil, err
	}
	if f, ok := o.take("zarr_consolidated_format"); ok && string(f.raw) != "1" {
		return nil, f.refuse("1")
	}
	metadata, err := o.need("metadata")
	if err != nil {
		return nil, err
	}
	documents, err := metadata.readObject("an object of keys and documents")
	if err != nil {
		return nil, err
	}
	return readV2Nodes(documents)
}

// v2Builder collects the nodes of documents that are in any order.
type v2Builder struct {
	nodes   []V2Node
	hasType []bool // the node has a .zarray or a .zgroup
	at      map[string]int
}

func readV2Nodes(documents *object) (*V2Consolidated, error) {
	b := &v2Builder{at: map[string]int{}}
	for _, m := range documents.members {
		doc := value{m.raw, documents.path + "[" + abbreviate(m.name) + "]"}
		if err := b.add(m.name, doc); err != nil {
			return nil, err
		}
	}
	for i, known := range b.hasType {
		if !known {
			return nil, corruptError(documents.path, "%q has attributes, but no .zarray or .zgroup", abbreviate(b.nodes[i].Path))
		}
	}
	return &V2Consolidated{Nodes: b.nodes}, nil
}

func (b *v2Builder) add(key string, doc value) (err error) {
	path, name := "", key
	if cut := strings.LastIndexByte(key, '/'); cut >= 0 {
		path, name = key[:cut], key[cut+1:]
		if err := checkPath(path); err != nil {
			return atPath(doc.path, err)
		}
	}
	i := b.node(path)
	switch name {
	case ".zattrs":
		b.nodes[i].Attributes, err = readAttributes(doc)
		return err
	case ".zgroup":
		err = readV2Group(doc)
	case ".zarray":
		b.nodes[i].Array, err = parseV2Array(doc)
	default:
		return corruptError(doc.path, "the key does not end in .zarray, .zgroup or .zattrs")
	}
	// The scanner refuses duplicate keys, so the node has both a .zarray and a .zgroup.
	if b.hasType[i] {
		return corruptError(doc.path, "the node is an array and a group")
	}
	b.hasType[i] = true
	return err
}

func (b *v2Builder) node(path string) int {
	i, ok := b.at[path]
	if !ok {
		i = len(b.nodes)
		b.at[path] = i
		b.nodes = append(b.nodes, V2Node{Path: path})
		b.hasType = append(b.hasType, false)
	}
	return i
}

// Encode returns the document.
func (c *V2Consolidated) Encode(layout Layout) ([]byte, error) { return encode(layout, c.write) }

func (c *V2Consolidated) write(w *writer) error {
	w.begin('{')
	w.name("metadata")
	w.begin('{')
	var names nameSet
	for _, n := range c.Nodes {
		if !names.add(n.Path) {
			return corruptError("metadata", "the path %q occurs twice", abbreviate(n.Path))
		}
		if err := n.write(w); err != nil {
			return atPath("metadata["+abbreviate(n.Path)+"]", err)
		}
	}
	w.end('}')
	w.member("zarr_consolidated_format", 1)
	w.end('}')
	return nil
}

func (n V2Node) write(w *writer) error {
	prefix := ""
	if n.Path != "" {
		if err := checkPath(n.Path); err != nil {
			return err
		}
		prefix = n.Path + "/"
	}
	if n.Array == nil {
		w.name(prefix + ".zgroup")
		writeV2Group(w)
	} else {
		w.name(prefix + ".zarray")
		if err := n.Array.write(w); err != nil {
			return err
		}
	}
	w.name(prefix + ".zattrs")
	n.Attributes.write(w)
	return nil
}
