package zarr

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"varve/manifest"
	"varve/zarrjson"
)

// document is a file of metadata.
type document struct {
	key  string
	data []byte
}

// documents returns all metadata, the root's last.
func documents(groups []manifest.GroupFace, arrays []*target, o *Options) ([]document, error) {
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
		root.Consolidated.Members = append(root.Consolidated.Members, zarrjson.Member{Path: strings.TrimPrefix(t.spec.Path, "/"), Node: zarrjson.Node{Array: t.face}})
	}
	root.Consolidated.Sort()
	if o.Format == 2 {
		return v2Documents(&root)
	}
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

// everyGroup returns the attributes of groups, with one for all that paths lead through.
func everyGroup(groups []manifest.GroupFace, arrays []*target) map[string]zarrjson.Attributes {
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

// v2Documents returns the same metadata in format 2.
func v2Documents(root *zarrjson.Group) ([]document, error) {
	all, err := root.ToV2(v2Options)
	if err != nil {
		return nil, err
	}
	var out []document
	for _, n := range all.Nodes {
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

// publish writes the documents, those that are not so already.
func (c *copier) publish() error {
	for _, d := range c.documents {
		if err := c.replace(d.key, d.data); err != nil {
			return err
		}
	}
	return nil
}

// replace writes a file that readers see whole or not at all.
func (c *copier) replace(key string, data []byte) error {
	name := filepath.Join(c.dest, filepath.FromSlash(key))
	if old, err := os.ReadFile(name); err == nil && bytes.Equal(old, data) {
		return nil
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	draft := filepath.Join(c.dest, stateFolder, "draft")
	f, err := os.Create(draft)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(draft, name)
}
