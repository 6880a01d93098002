package zarrjson

import (
	"strings"
)

// CheckV2Group reports what is wrong with a .zgroup, which says nothing but that there
// is a group.
func CheckV2Group(doc []byte) error {
	v, err := document(doc)
	if err != nil {
		return err
	}
	return v2Group(v)
}

func v2Group(v value) error {
	o, err := v.object("an object")
	if err != nil {
		return err
	}
	return o.literal("zarr_format", "2")
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

// ParseV2Consolidated reads a .zmetadata. Kerchunk's, which has no
// zarr_consolidated_format, is accepted.
func ParseV2Consolidated(doc []byte) (*V2Consolidated, error) {
	v, err := document(doc)
	if err != nil {
		return nil, err
	}
	o, err := v.object("an object")
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
	documents, err := metadata.object("an object of keys and documents")
	if err != nil {
		return nil, err
	}
	return v2Nodes(documents)
}

// v2Builder puts together the nodes of documents that come in any order.
type v2Builder struct {
	nodes []V2Node
	known []bool // the node has a .zarray or a .zgroup
	at    map[string]int
}

func v2Nodes(documents *object) (*V2Consolidated, error) {
	b := &v2Builder{at: map[string]int{}}
	for _, m := range documents.members {
		doc := value{m.raw, documents.path + "[" + abbreviate(m.name) + "]"}
		if err := b.add(m.name, doc); err != nil {
			return nil, err
		}
	}
	for i, known := range b.known {
		if !known {
			return nil, wrong(documents.path, "%q has attributes, but no .zarray or .zgroup", abbreviate(b.nodes[i].Path))
		}
	}
	return &V2Consolidated{Nodes: b.nodes}, nil
}

func (b *v2Builder) add(key string, doc value) (err error) {
	path, name := "", key
	if cut := strings.LastIndexByte(key, '/'); cut >= 0 {
		path, name = key[:cut], key[cut+1:]
		if err := checkPath(path); err != nil {
			return at(doc.path, err)
		}
	}
	i := b.node(path)
	switch name {
	case ".zattrs":
		b.nodes[i].Attributes, err = attributes(doc)
		return err
	case ".zgroup":
		err = v2Group(doc)
	case ".zarray":
		b.nodes[i].Array, err = parseV2Array(doc)
	default:
		return wrong(doc.path, "the key ends in none of .zarray, .zgroup, .zattrs")
	}
	if b.known[i] {
		return wrong(doc.path, "the node is an array and a group")
	}
	b.known[i] = true
	return err
}

func (b *v2Builder) node(path string) int {
	i, ok := b.at[path]
	if !ok {
		i = len(b.nodes)
		b.at[path] = i
		b.nodes = append(b.nodes, V2Node{Path: path})
		b.known = append(b.known, false)
	}
	return i
}

// Encode writes the document.
func (c *V2Consolidated) Encode(layout Layout) ([]byte, error) { return encode(layout, c.write) }

func (c *V2Consolidated) write(w *writer) error {
	w.begin('{')
	w.name("metadata")
	w.begin('{')
	var names nameSet
	for _, n := range c.Nodes {
		if !names.add(n.Path) {
			return wrong("metadata", "the path %q occurs twice", abbreviate(n.Path))
		}
		if err := n.write(w); err != nil {
			return at("metadata["+abbreviate(n.Path)+"]", err)
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
