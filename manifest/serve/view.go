package serve

import (
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync/atomic"

	"varve/manifest"
	"varve/zarrjson"
)

// view is one hierarchy of keys: documents, and chunks of arrays.
type view struct {
	documents map[string]*document // by key, without the first slash
	arrays    map[string]*served   // by path, likewise
	meant     map[string]string    // paths, by what clients ask for that make URLs of names without escaping them
	left      []string             // what is not in the view, and why
	asked     atomic.Bool          // by a client
}

func newView(nodes []node) *view {
	v := &view{documents: map[string]*document{}, arrays: map[string]*served{}, meant: map[string]string{}}
	for _, n := range nodes {
		if plain := unescaped(n.path); plain != n.path && n.unlisted == nil {
			v.meant[plain] = n.path
		}
	}
	return v
}

// unescaped is a path without the escapes that stand in it: what is left of %41 in a name when the
// path is taken for that of a URL.
func unescaped(path string) string {
	var out strings.Builder
	for i := 0; i < len(path); i++ {
		if text, err := url.PathUnescape(path[i:min(i+3, len(path))]); err == nil && path[i] == '%' {
			out.WriteString(text)
			i += 2
			continue
		}
		out.WriteByte(path[i])
	}
	return out.String()
}

// find returns what a key names, or what it is meant to name: a document, or an array and the
// coordinates of a chunk.
func (v *view) find(key string) (doc *document, a *served, coords []int64) {
	doc, a, coords = v.named(key)
	for i := 0; i < len(key) && len(v.meant) > 0 && doc == nil && a == nil; i++ {
		if path, ok := v.meant[key[:i]]; ok && key[i] == '/' {
			doc, a, coords = v.named(path + key[i:])
		}
	}
	return doc, a, coords
}

// named returns what a key names.
func (v *view) named(key string) (doc *document, a *served, coords []int64) {
	if doc := v.documents[key]; doc != nil {
		return doc, nil, nil
	}
	for i := 0; i < len(key); i++ {
		if key[i] != '/' {
			continue
		}
		a := v.arrays[key[:i]]
		if a == nil {
			continue
		}
		coords := make([]int64, a.Grid().Rank())
		if !a.keys.Parse(key[i+1:], coords) || !inGrid(a, coords) {
			return nil, nil, nil
		}
		return nil, a, coords
	}
	return nil, nil, nil
}

func inGrid(a *served, coords []int64) bool {
	_, ok := a.Grid().Chunk(coords)
	return ok
}

// serve answers for a key, unless the view does not have it.
func (s *site) serveView(w http.ResponseWriter, r *http.Request, v *view, key string) bool {
	doc, a, coords := v.find(key)
	switch {
	case doc != nil:
		note(w, kindDocument)
		doc.serve(w, r)
	case a != nil:
		s.serveChunk(w, r, a, coords)
	default:
		return false
	}
	return true
}

// node is a group or an array of a hierarchy.
type node struct {
	path  string // without the first slash; "" is the root
	group zarrjson.Attributes
	array array // nil: a group

	unlisted error // why it is in no list of a group, if it is in none
}

// nodesOf returns the hierarchy of a dataset, the root first, parents before children. Groups
// that nobody mentions but that arrays are in are there as well.
func nodesOf(groups []manifest.GroupSchema, arrays []array) []node {
	byPath := map[string]node{"": {}}
	for _, g := range groups {
		p := relative(g.Path)
		byPath[p] = node{path: p, group: g.Attributes}
	}
	for _, a := range arrays {
		p := relative(a.Path())
		byPath[p] = node{path: p, array: a}
	}
	for p := range byPath {
		for up := parentOf(p); up != ""; up = parentOf(up) {
			if _, ok := byPath[up]; !ok {
				byPath[up] = node{path: up}
			}
		}
	}
	nodes := make([]node, 0, len(byPath))
	for _, n := range byPath {
		nodes = append(nodes, n)
	}
	slices.SortFunc(nodes, func(a, b node) int { return strings.Compare(a.path, b.path) })
	return nodes
}

// withoutKeys takes out what clients would not find, or take for another. It returns the
// reasons too.
func withoutKeys(nodes []node) (kept []node, left []error) {
	for _, n := range nodes {
		err := zarrjson.CheckPath(n.path)
		if first, _, _ := strings.Cut(n.path, "/"); err == nil && isAddress(first) {
			err = fmt.Errorf("/%s is called as the address of a snapshot: build with --rename OLD=NEW, or --drop it", n.path)
		}
		if err != nil {
			left = append(left, err)
			continue
		}
		kept = append(kept, n)
	}
	there := map[string]int{}
	for _, n := range kept {
		there[unescaped(n.path)]++
	}
	for i := range kept {
		kept[i].unlisted = unlisted(kept[i].path, there)
	}
	return kept, left
}

// unlisted says why a path is not to be listed for clients, if it is not; there counts those of all
// nodes as clients ask for them that do not escape. Of these is fsspec, by which zarr-python and
// xarray read: it makes URLs of what is listed, and leaves some escapes in them as they are and not
// others. Where what comes of that is another's path too it would ask for that one's chunks, and
// where it is none's, which is not noticed when characters are gone, for what is fill to it. Who
// escapes finds what is not listed.
func unlisted(path string, there map[string]int) error {
	if i := strings.IndexAny(path, "\t\n\r"); i >= 0 {
		return fmt.Errorf("the path %q has a %q, which clients leave out of URLs", path, path[i])
	}
	plain := unescaped(path)
	if first, _, _ := strings.Cut(plain, "/"); plain != path && (there[plain] > 1 || isAddress(first)) {
		return fmt.Errorf("the path %q, which clients do not escape in URLs, is %q to them, as another is", path, plain)
	}
	return nil
}

func relative(p string) string { return strings.Trim(p, "/") }

func parentOf(p string) string {
	up := path.Dir(p)
	if up == "." || up == "/" {
		return ""
	}
	return up
}

// newV3 returns the view of format 3.
func newV3(nodes []node, tag string) (*view, error) {
	v := newView(nodes)
	for i, n := range nodes {
		key := path.Join(n.path, "zarr.json")
		var data []byte
		var err error
		if n.array != nil {
			schema := n.array.Schema()
			data, err = schema.Encode(zarrjson.Indented)
			v.arrays[n.path] = &served{array: n.array, keys: schema.Keys, tag: []byte(tag + "\x00" + n.path)}
		} else {
			data, err = groupDocument(nodes[i:])
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		v.documents[key] = newDocument(data)
	}
	return v, nil
}

// groupDocument returns the zarr.json of the first node, a group, with the metadata of all
// below it.
func groupDocument(nodes []node) ([]byte, error) {
	group := consolidate(nodes)
	return group.Encode(zarrjson.Indented)
}

func consolidate(nodes []node) *zarrjson.Group {
	root := nodes[0]
	all := &zarrjson.Consolidated{}
	for _, n := range nodes[1:] {
		below, ok := strings.CutPrefix(n.path, root.path)
		if !ok {
			break // nor do those behind it begin so
		}
		if root.path != "" {
			if below, ok = strings.CutPrefix(below, "/"); !ok {
				continue
			}
		}
		if n.unlisted != nil {
			continue
		}
		member := zarrjson.Member{Path: below}
		if n.array != nil {
			member.Array = n.array.Schema()
		} else {
			member.Group = &zarrjson.Group{Attributes: n.group, Consolidated: &zarrjson.Consolidated{}}
		}
		all.Members = append(all.Members, member)
	}
	all.Sort()
	return &zarrjson.Group{Attributes: root.group, Consolidated: all}
}
