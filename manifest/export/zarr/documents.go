package zarr

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"varve/manifest"
	"varve/zarrjson"
)

// document is a metadata file.
type document struct {
	key  string
	data []byte
}

// documents returns all metadata files, the root's last.
func documents(groups []manifest.GroupSchema, arrays []*target, o *Options) ([]document, error) {
	root := zarrjson.Group{Consolidated: &zarrjson.Consolidated{}}
	for path, attributes := range everyGroup(groups, arrays) {
		if path == "/" {
			root.Attributes = attributes
			continue
		}
		g := &zarrjson.Group{Attributes: attributes, Consolidated: &zarrjson.Consolidated{}}
		root.Consolidated.Members = append(root.Consolidated.Members, zarrjson.Member{Path: path[1:], Node: zarrjson.Node{Group: g}})
	}
	for _, t := range arrays {
		root.Consolidated.Members = append(root.Consolidated.Members, zarrjson.Member{Path: strings.TrimPrefix(t.spec.Path, "/"), Node: zarrjson.Node{Array: t.schema}})
	}
	root.Consolidated.Sort()
	make := v3Documents
	if o.Format == 2 {
		make = v2Documents
	}
	out, err := make(&root)
	if err != nil {
		return nil, err
	}
	return out, checkNames(root.Consolidated.Members, out)
}

// checkNames rejects groups and arrays with the path of a document or of the copy's own folder.
func checkNames(members []zarrjson.Member, documents []document) error {
	taken := map[string]bool{stateFolder: true}
	for _, d := range documents {
		taken[d.key] = true
	}
	for _, m := range members {
		if taken[m.Path] {
			return manifest.WithRemedy(fmt.Errorf("/%s: the name is reserved in a copy: %w", m.Path, errors.ErrUnsupported), "build/rename", "OLD=NEW").Or("build/drop", "PATH")
		}
	}
	return nil
}

func v3Documents(root *zarrjson.Group) ([]document, error) {
	var out []document
	for _, m := range root.Consolidated.Members {
		data, err := encodeNode(m.Node)
		if err != nil {
			return nil, fmt.Errorf("/%s: %w", m.Path, err)
		}
		out = append(out, document{m.Path + "/zarr.json", data})
	}
	data, err := root.Encode(zarrjson.Indented)
	return append(out, document{"zarr.json", data}), err
}

func encodeNode(n zarrjson.Node) ([]byte, error) {
	if n.Array != nil {
		return n.Array.Encode(zarrjson.Indented)
	}
	g := *n.Group
	g.Consolidated = nil
	return g.Encode(zarrjson.Indented)
}

// everyGroup returns the attributes of all groups, including groups that occur only in paths.
func everyGroup(groups []manifest.GroupSchema, arrays []*target) map[string]zarrjson.Attributes {
	out := map[string]zarrjson.Attributes{"/": {}}
	parents := func(path string) {
		for i := strings.LastIndexByte(path, '/'); i > 0; i = strings.LastIndexByte(path[:i], '/') {
			if _, ok := out[path[:i]]; !ok {
				out[path[:i]] = zarrjson.Attributes{}
			}
		}
	}
	for _, g := range groups {
		out[g.Path] = g.Attributes
	}
	for _, g := range groups {
		parents(g.Path)
	}
	for _, t := range arrays {
		parents(t.spec.Path)
	}
	return out
}

// v2Documents returns the metadata in format 2. The root's .zgroup follows its members.
func v2Documents(root *zarrjson.Group) ([]document, error) {
	all, err := root.ToV2(v2Options)
	if err != nil {
		return nil, err
	}
	nodes := slices.Clone(all.Nodes)
	// Readers must not find the root before its members.
	slices.SortStableFunc(nodes, func(a, b zarrjson.V2Node) int { return cmp.Compare(min(len(b.Path), 1), min(len(a.Path), 1)) })
	var out []document
	for _, n := range nodes {
		prefix := n.Path
		if prefix != "" {
			prefix += "/"
		}
		name, data := ".zgroup", zarrjson.V2Group(zarrjson.Indented)
		if n.Array != nil {
			if data, err = n.Array.Encode(zarrjson.Indented); err != nil {
				return nil, fmt.Errorf("/%s: %w", n.Path, err)
			}
			name = ".zarray"
		}
		if n.Attributes.Len() > 0 {
			out = append(out, document{prefix + ".zattrs", n.Attributes.JSON()})
		}
		out = append(out, document{prefix + name, data})
	}
	data, err := all.Encode(zarrjson.Indented)
	return append(out, document{".zmetadata", data}), err
}

// publish writes the documents that have changed; the root replaces the given version.
func (c *copier) publish(ctx context.Context, version string) error {
	last := len(c.documents) - 1
	for _, d := range c.documents[:last] {
		if err := c.home.replace(ctx, d.key, d.data); err != nil {
			return err
		}
	}
	return c.home.publish(ctx, c.documents[last].key, c.documents[last].data, version)
}
