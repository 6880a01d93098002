package zarrjson

import (
	"cmp"
	"slices"
	"strings"
)

// Consolidated is the metadata of all nodes below a group, stored in the group's own
// document. It is in no specification; this is zarr-python's form:
//
//	"consolidated_metadata": {
//	  "kind": "inline",
//	  "must_understand": false,
//	  "metadata": {"x": {…}, "sub": {…}, "sub/y": {…}}
//	}
//
// Groups among the members have an empty consolidated_metadata of their own. From it
// zarr-python knows that their members are listed already.
type Consolidated struct {
	Members []Member // in the order of the document
}

// Member is a node below a group and its path relative to that group.
type Member struct {
	Path string
	Node
}

// Sort sorts members as zarr-python does: by depth, then by path, ignoring case.
func (c *Consolidated) Sort() {
	slices.SortStableFunc(c.Members, func(a, b Member) int {
		return cmp.Or(
			cmp.Compare(strings.Count(a.Path, "/"), strings.Count(b.Path, "/")),
			cmp.Compare(strings.ToLower(a.Path), strings.ToLower(b.Path)),
			cmp.Compare(a.Path, b.Path),
		)
	})
}

// readConsolidated reads the field, which is null in documents of older zarr-python.
func readConsolidated(v value) (*Consolidated, error) {
	if v.isNull() {
		return nil, nil
	}
	o, err := v.readObject("an object of kind, must_understand and metadata")
	if err != nil {
		return nil, err
	}
	if err := o.needLiteral("kind", `"inline"`); err != nil {
		return nil, err
	}
	if m, ok := o.take("must_understand"); ok && string(m.raw) != "false" {
		return nil, m.refuse("false")
	}
	metadata, err := o.need("metadata")
	if err != nil {
		return nil, err
	}
	if err := o.refuseRest("kind, must_understand, metadata"); err != nil {
		return nil, err
	}
	return readMembers(metadata)
}

func readMembers(v value) (*Consolidated, error) {
	o, err := v.readObject("an object of paths and documents")
	if err != nil {
		return nil, err
	}
	c := &Consolidated{Members: make([]Member, 0, len(o.members))}
	for _, m := range o.members {
		doc := value{m.raw, v.path + "[" + abbreviate(m.name) + "]"}
		if err := checkPath(m.name); err != nil {
			return nil, atPath(doc.path, err)
		}
		n, err := readNode(doc)
		if err != nil {
			return nil, err
		}
		c.Members = append(c.Members, Member{m.name, n})
	}
	return c, nil
}

// checkPath returns an error unless a path consists of names joined by slashes. The core
// specification forbids names of dots only: a client may use them as file names.
func checkPath(path string) error {
	for name := range strings.SplitSeq(path, "/") {
		switch {
		case name == "":
			return corruptError("", "the path %q has an empty name", abbreviate(path))
		case strings.Trim(name, ".") == "":
			return corruptError("", "the path %q has a name of dots only", abbreviate(path))
		}
	}
	return nil
}

// CheckPath returns an error if clients cannot find a node at a path, which may begin
// with a slash. Some clients resolve names of dots only as relative paths, and
// zarr-python reads a backslash as a slash.
func CheckPath(path string) error {
	path = strings.Trim(path, "/")
	if path == "" {
		return nil
	}
	if strings.Contains(path, `\`) {
		return corruptError("", "the path %q has a backslash, which zarr-python reads as a slash", abbreviate(path))
	}
	return checkPath(path)
}

func (c *Consolidated) write(w *writer) error {
	w.begin('{')
	w.name("kind")
	w.text("inline")
	w.name("must_understand")
	w.verbatim([]byte("false"))
	w.name("metadata")
	w.begin('{')
	var names nameSet
	for _, m := range c.Members {
		path := "metadata[" + abbreviate(m.Path) + "]"
		if !names.add(m.Path) {
			return corruptError(path, "occurs twice")
		}
		if err := checkPath(m.Path); err != nil {
			return atPath(path, err)
		}
		w.name(m.Path)
		if err := m.write(w); err != nil {
			return atPath(path, err)
		}
	}
	w.end('}')
	w.end('}')
	return nil
}
