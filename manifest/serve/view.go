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

// view is one hierarchy: documents and chunks of arrays by key.
type view struct {
	documents map[string]*document // by key, without the first slash
	arrays    map[string]*served   // by path, without the first slash
	unescaped map[string]string    // paths, by the path that clients request if they do not escape names
	omitted   []string             // why arrays are not in the view
	asked     atomic.Bool          // whether a client has used it
}

func newView(nodes []node) *view {
	v := &view{documents: map[string]*document{}, arrays: map[string]*served{}, unescaped: map[string]string{}}
	for _, n := range nodes {
		if plain := unescaped(n.path); plain != n.path && n.unlisted == nil {
			v.unescaped[plain] = n.path
		}
	}
	return v
}

// unescaped replaces the percent escapes in a path: a name that contains "%41" literally becomes "A" if a
// client puts it into a URL without escaping.
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

// find returns the document or the chunk of a key. If none has exactly this key, it tries the paths of
// clients that do not escape names.
func (v *view) find(key string) (doc *document, a *served, coords []int64) {
	doc, a, coords = v.lookUp(key)
	for i := 0; i < len(key) && len(v.unescaped) > 0 && doc == nil && a == nil; i++ {
		if path, ok := v.unescaped[key[:i]]; ok && key[i] == '/' {
			doc, a, coords = v.lookUp(path + key[i:])
		}
	}
	return doc, a, coords
}

// lookUp returns the document, or the array and chunk coordinates, with exactly this key.
func (v *view) lookUp(key string) (doc *document, a *served, coords []int64) {
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

// serveView answers a request for a key and reports whether the view has it.
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

// node is a group or array.
type node struct {
	path  string // without the first slash; "" is the root
	group zarrjson.Attributes
	array array // nil for a group

	unlisted error // why no list of a group contains it; nil if it is listed
}

// nodesOf returns the nodes of a dataset, sorted by path, so that parents come before children. It adds groups that
// occur only in paths of arrays.
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

// withoutKeys removes nodes that clients could not find or would confuse with others, and returns the
// reasons.
func withoutKeys(nodes []node) (served []node, omitted []error) {
	for _, n := range nodes {
		err := zarrjson.CheckPath(n.path)
		if first, _, _ := strings.Cut(n.path, "/"); err == nil && isAddress(first) {
			err = manifest.WithRemedy(fmt.Errorf("/%s: the name is reserved for the address of a snapshot", n.path), "build/rename", "OLD=NEW").Or("build/drop", "PATH")
		}
		if err != nil {
			omitted = append(omitted, err)
			continue
		}
		served = append(served, n)
	}
	counts := map[string]int{}
	for _, n := range served {
		counts[unescaped(n.path)]++
	}
	for i := range served {
		served[i].unlisted = unlisted(served[i].path, counts)
	}
	return served, omitted
}

// unlisted returns why a path must not be listed for clients, or nil. counts has the number of nodes per
// unescaped path.
//
// zarr-python and xarray read through fsspec, which makes URLs of listed names and leaves some escapes in them
// unchanged. If the result is the path of another node, the client would read the chunks of that node. If there is no
// node with this path, the client would read fill values. Clients that escape names correctly can still read a node
// that is not listed.
func unlisted(path string, counts map[string]int) error {
	if i := strings.IndexAny(path, "\t\n\r"); i >= 0 {
		return fmt.Errorf("the path %q contains %q, which clients remove from URLs", path, path[i])
	}
	plain := unescaped(path)
	if first, _, _ := strings.Cut(plain, "/"); plain != path && (counts[plain] > 1 || isAddress(first)) {
		return fmt.Errorf("the path %q becomes %q in clients that do not escape it, which is also the path of another node", path, plain)
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

// newV3 returns the hierarchy in Zarr format 3.
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

// groupDocument returns the zarr.json of the first node, a group, with the consolidated metadata of all nodes
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
			break // the nodes are sorted, so no later node is below the root either
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
