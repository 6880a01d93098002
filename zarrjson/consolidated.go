package zarrjson

import (
	"cmp"
	"slices"
	"strings"
)

// Consolidated is the metadata of everything below a group, inside the group's own
// document. No specification has it; the form is zarr-python's:
//
//	"consolidated_metadata": {
//	  "kind": "inline",
//	  "must_understand": false,
//	  "metadata": {"x": {…}, "sub": {…}, "sub/y": {…}}
//	}
//
// Groups among the members hold an empty one of their own, which tells zarr-python
// that what they contain is listed already.
type Consolidated struct {
	Members []Member // in the order of the document
}

// Member is a node below a group, by its path relative to that group.
type Member struct {
	Path string
	Node
}

// Sort orders members as zarr-python does: by depth, then by path without regard to
// case.
func (c *Consolidated) Sort() {
	slices.SortStableFunc(c.Members, func(a, b Member) int {
		return cmp.Or(
			cmp.Compare(strings.Count(a.Path, "/"), strings.Count(b.Path, "/")),
			cmp.Compare(strings.ToLower(a.Path), strings.ToLower(b.Path)),
			cmp.Compare(a.Path, b.Path),
		)
	})
}

// consolidated reads the field, which older versions of zarr-python may leave null.
func consolidated(v value) (*Consolidated, error) {
	if v.isNull() {
		return nil, nil
	}
	o, err := v.object("an object of kind, must_understand and metadata")
	if err != nil {
		return nil, err
	}
	if err := o.literal("kind", `"inline"`); err != nil {
		return nil, err
	}
	if m, ok := o.take("must_understand"); ok && string(m.raw) != "false" {
		return nil, m.refuse("false")
	}
	metadata, err := o.need("metadata")
	if err != nil {
		return nil, err
	}
	if err := o.rest("kind, must_understand, metadata"); err != nil {
		return nil, err
	}
	return members(metadata)
}

func members(v value) (*Consolidated, error) {
	o, err := v.object("an object of paths and documents")
	if err != nil {
		return nil, err
	}
	c := &Consolidated{Members: make([]Member, 0, len(o.members))}
	for _, m := range o.members {
		doc := value{m.raw, v.path + "[" + abbreviate(m.name) + "]"}
		if err := checkPath(m.name); err != nil {
			return nil, at(doc.path, err)
		}
		n, err := node(doc)
		if err != nil {
			return nil, err
		}
		c.Members = append(c.Members, Member{m.name, n})
	}
	return c, nil
}

// checkPath refuses paths that are not names joined by slashes, and names that the
// core specification forbids: a client may use them as file names.
func checkPath(path string) error {
	for name := range strings.SplitSeq(path, "/") {
		switch {
		case name == "":
			return wrong("", "the path %q has an empty name", abbreviate(path))
		case strings.Trim(name, ".") == "":
			return wrong("", "the path %q has a name of dots only", abbreviate(path))
		}
	}
	return nil
}

// CheckPath reports whether clients find what stands at a path, which may begin with a slash:
// names of dots only mean other places to some, and zarr-python takes a backslash for a slash.
func CheckPath(path string) error {
	path = strings.Trim(path, "/")
	if path == "" {
		return nil
	}
	if strings.Contains(path, `\`) {
		return wrong("", "the path %q has a backslash, which zarr-python takes for a slash", abbreviate(path))
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
			return wrong(path, "occurs twice")
		}
		if err := checkPath(m.Path); err != nil {
			return at(path, err)
		}
		w.name(m.Path)
		if err := m.write(w); err != nil {
			return at(path, err)
		}
	}
	w.end('}')
	w.end('}')
	return nil
}
