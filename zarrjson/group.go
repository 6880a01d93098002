package zarrjson

// Group is the zarr.json of a group.
type Group struct {
	Attributes   Attributes
	Consolidated *Consolidated // nil if the document has none
	Extra        []ExtraField
}

var groupFields = []string{"attributes", "zarr_format", "consolidated_metadata", "node_type"}

// ParseGroup parses the zarr.json of a group.
func ParseGroup(doc []byte) (*Group, error) {
	v, err := parseValue(doc)
	if err != nil {
		return nil, err
	}
	return parseGroup(v)
}

func parseGroup(v value) (*Group, error) {
	o, err := v.readObject("an object")
	if err != nil {
		return nil, err
	}
	if err := o.readNodeType("group"); err != nil {
		return nil, err
	}
	g := &Group{}
	err = o.readSteps([]step{
		{name: "attributes", optional: true, read: func(v value) (err error) { g.Attributes, err = readAttributesOrNull(v); return err }},
		{name: "consolidated_metadata", optional: true, read: func(v value) (err error) { g.Consolidated, err = readConsolidated(v); return err }},
	})
	if err != nil {
		return nil, err
	}
	if g.Extra, err = o.readExtra(); err != nil {
		return nil, err
	}
	return g, nil
}

// Encode returns the document, with the field order and spelling of zarr-python.
func (g *Group) Encode(layout Layout) ([]byte, error) {
	return encode(layout, g.write)
}

func (g *Group) write(w *writer) error {
	if err := validateExtra(g.Extra, groupFields); err != nil {
		return err
	}
	w.begin('{')
	w.name("attributes")
	g.Attributes.write(w)
	w.member("zarr_format", 3)
	if g.Consolidated != nil {
		w.name("consolidated_metadata")
		if err := g.Consolidated.write(w); err != nil {
			return atPath("consolidated_metadata", err)
		}
	}
	w.name("node_type")
	w.text("group")
	writeExtra(w, g.Extra)
	w.end('}')
	return nil
}

// Node is the content of a zarr.json: either an array or a group.
type Node struct {
	Array *Array
	Group *Group
}

// ParseNode parses the zarr.json of an array or a group.
func ParseNode(doc []byte) (Node, error) {
	v, err := parseValue(doc)
	if err != nil {
		return Node{}, err
	}
	return readNode(v)
}

func readNode(v value) (n Node, err error) {
	if !v.startsWith('{') {
		return Node{}, v.refuse("an object")
	}
	kind := v.member("node_type")
	switch string(kind.raw) {
	case `"array"`:
		n.Array, err = parseArray(v)
	case `"group"`:
		n.Group, err = parseGroup(v)
	case "":
		if format := v.member("zarr_format"); len(format.raw) > 0 && string(format.raw) != "3" {
			return Node{}, format.refuseFormat()
		}
		return Node{}, corruptError(kind.path, `missing; it is required: "array" or "group"`)
	default:
		return Node{}, kind.refuse(`"array" or "group"`)
	}
	return n, err
}

// member returns a member of an object, with a nil raw if there is none.
func (v value) member(name string) value {
	m := value{path: joinPath(v.path, name)}
	for s := range spans(v.raw) {
		if s.key(v.raw) == name {
			m.raw = v.raw[s.value:s.end]
		}
	}
	return m
}

func (n Node) write(w *writer) error {
	switch {
	case n.Array != nil && n.Group == nil:
		return n.Array.write(w)
	case n.Group != nil && n.Array == nil:
		return n.Group.write(w)
	}
	return corruptError("", "a node is either an array or a group")
}
