package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"varve/grid"
	"varve/manifest"
	"varve/manifest/store"
	"varve/zarrjson"
)

// hierarchy presents a dataset as a Zarr store: metadata documents, and arrays whose chunks have keys.
type hierarchy struct {
	documents map[string][]byte       // by key
	arrays    map[string]*store.Array // by path, without the first slash
}

// newHierarchy makes the documents of a store. The document of the root contains the metadata of all nodes.
func newHierarchy(st *store.Store) (*hierarchy, error) {
	h := &hierarchy{documents: map[string][]byte{}, arrays: map[string]*store.Array{}}
	groups := map[string]zarrjson.Attributes{"": {}}
	for _, g := range st.Groups() {
		groups[strings.Trim(g.Path, "/")] = g.Attributes
	}
	for _, a := range st.Arrays() {
		at := strings.Trim(a.Path(), "/")
		h.arrays[at] = a
		for up := parentOf(at); ; up = parentOf(up) {
			if _, ok := groups[up]; !ok {
				groups[up] = zarrjson.Attributes{} // Zarr requires a group above each array
			}
			if up == "" {
				break
			}
		}
	}
	all := &zarrjson.Consolidated{}
	add := func(at string, n zarrjson.Node) error {
		if err := zarrjson.CheckPath(at); err != nil {
			err = fmt.Errorf("%v: %w", err, errors.ErrUnsupported)
			return manifest.WithRemedy(err, "build/rename", "OLD=NEW").Or("build/drop", "PATH")
		}
		all.Members = append(all.Members, zarrjson.Member{Path: at, Node: n})
		doc, err := encode(n)
		h.documents[path.Join(at, "zarr.json")] = doc
		return err
	}
	for _, at := range slices.Sorted(maps.Keys(groups)) {
		if at == "" {
			continue
		}
		if err := add(at, zarrjson.Node{Group: &zarrjson.Group{Attributes: groups[at], Consolidated: &zarrjson.Consolidated{}}}); err != nil {
			return nil, err
		}
	}
	for _, at := range slices.Sorted(maps.Keys(h.arrays)) {
		if err := add(at, zarrjson.Node{Array: h.arrays[at].Schema()}); err != nil {
			return nil, err
		}
	}
	all.Sort()
	root := zarrjson.Group{Attributes: groups[""], Consolidated: all}
	doc, err := root.Encode(zarrjson.Compact)
	h.documents["zarr.json"] = doc
	return h, err
}

func encode(n zarrjson.Node) ([]byte, error) {
	if n.Array != nil {
		return n.Array.Encode(zarrjson.Compact)
	}
	return n.Group.Encode(zarrjson.Compact)
}

func parentOf(at string) string {
	up := path.Dir(at)
	if up == "." {
		return ""
	}
	return up
}

// find returns the array and the coordinates of the chunk with this key. The array is nil if there is none.
func (h *hierarchy) find(key string) (*store.Array, []int64) {
	for i := range key {
		if key[i] != '/' {
			continue
		}
		a := h.arrays[key[:i]]
		if a == nil {
			continue
		}
		coords := make([]int64, a.Grid().Rank())
		if !a.Schema().Keys.Parse(key[i+1:], coords) {
			return nil, nil
		}
		if _, ok := a.Grid().Chunk(coords); !ok {
			return nil, nil
		}
		return a, coords
	}
	return nil, nil
}

const (
	rangeAll    = 0
	rangeFromTo = 1
	rangeFrom   = 2
	rangeLast   = 3
)

// byteRange is the part of a value that a client wants.
type byteRange struct {
	kind byte
	a, b int64
}

// in returns the part of the range that is inside a value of this size.
func (r byteRange) in(size int64) (from, to int64) {
	switch r.kind {
	case rangeFromTo:
		from, to = r.a, r.b
	case rangeFrom:
		from, to = r.a, size
	case rangeLast:
		from, to = size-min(r.a, size), size
	default:
		to = size
	}
	from = min(max(from, 0), size)
	return from, max(min(to, size), from)
}

// get answers with the bytes of a key.
func (s *Server) get(ctx context.Context, l *link, b *body, done func()) error {
	handle, part := b.u32(), byteRange{b.u8(), b.i64(), b.i64()}
	key := string(b.rest)
	var data []byte
	var found bool
	err := b.err
	if err == nil {
		data, found, err = s.value(ctx, handle, key, part)
	}
	done()
	switch {
	case err != nil:
		return s.fail(l, err)
	case !found:
		return l.answer(statusNoKey)
	}
	return l.answer(statusDone, data)
}

// value returns a part of the value of a key. A missing chunk has no key.
func (s *Server) value(ctx context.Context, handle uint32, key string, part byteRange) (data []byte, found bool, err error) {
	at, err := s.datasets.get(ctx, handle)
	if err != nil {
		return nil, false, err
	}
	defer s.datasets.release(at)
	h, err := at.keys()
	if err != nil {
		return nil, false, err
	}
	if doc, ok := h.documents[key]; ok {
		from, to := part.in(int64(len(doc)))
		return doc[from:to], true, nil
	}
	a, coords := h.find(key)
	if a == nil {
		return nil, false, nil
	}
	where, err := a.Locate(ctx, coords)
	if err != nil || where.Kind == manifest.Missing {
		return nil, false, err
	}
	if where.Kind != manifest.Reencoded && where.Source >= 0 {
		from, to := part.in(where.Size)
		data, err = a.ReadStored(ctx, &where, from, to-from)
		return data, err == nil, err
	}
	if data, err = a.Chunk(ctx, coords); err != nil {
		return nil, false, err
	}
	from, to := part.in(int64(len(data)))
	return data[from:to], true, nil
}

// keysAnswer is the answer to list: some of the keys.
type keysAnswer struct {
	Keys []string `json:"keys"`
	Next int64    `json:"next"` // the start of the next request; 0 at the end
}

// list answers with the keys that have a prefix: first documents, then chunks that are not missing. start is
// the number of the first chunk, where missing chunks count too.
func (s *Server) list(ctx context.Context, l *link, b *body, done func()) error {
	handle, start, most := b.u32(), b.i64(), b.i64()
	prefix := string(b.rest)
	err := b.err
	var answer keysAnswer
	if err == nil {
		answer, err = s.keys(ctx, handle, prefix, start, most)
	}
	done()
	if err != nil {
		return s.fail(l, err)
	}
	return s.say(l, answer)
}

func (s *Server) keys(ctx context.Context, handle uint32, prefix string, start, most int64) (answer keysAnswer, err error) {
	answer.Keys = []string{}
	at, err := s.datasets.get(ctx, handle)
	if err != nil {
		return answer, err
	}
	defer s.datasets.release(at)
	h, err := at.keys()
	if err != nil {
		return answer, err
	}
	if start == 0 {
		for _, key := range slices.Sorted(maps.Keys(h.documents)) {
			if strings.HasPrefix(key, prefix) {
				answer.Keys = append(answer.Keys, key)
			}
		}
	}
	passed := int64(0) // number of chunks of earlier arrays
	for _, at := range slices.Sorted(maps.Keys(h.arrays)) {
		if !strings.HasPrefix(at+"/", prefix) && !strings.HasPrefix(prefix, at+"/") {
			continue
		}
		a := h.arrays[at]
		count := a.Grid().Chunks()
		for n := max(start-passed, 0); n < count; {
			if int64(len(answer.Keys)) >= most {
				answer.Next = passed + n
				return answer, nil
			}
			n, err = chunkKeys(ctx, a, at, prefix, n, most, &answer.Keys)
			if err != nil {
				return answer, err
			}
		}
		passed += count
	}
	return answer, nil
}

// chunkKeys appends the keys of the chunks that are not missing, from the n-th chunk to at most the end of
// its row along the last axis. It returns the number of the next chunk.
func chunkKeys(ctx context.Context, a *store.Array, at, prefix string, n, most int64, keys *[]string) (next int64, err error) {
	rank := a.Grid().Rank()
	coords := make([]int64, rank)
	if !a.Grid().Coords(n, coords) {
		return n, fmt.Errorf("%s: %w: no chunk %d", a.Path(), grid.ErrOutOfBounds, n)
	}
	row := grid.Region{Origin: slices.Clone(coords), Shape: slices.Repeat([]int64{1}, rank)}
	length := int64(1)
	if rank > 0 {
		length = min(a.Grid().Counts()[rank-1]-coords[rank-1], max(most, 1))
		row.Shape[rank-1] = length
	}
	for l, err := range a.Locations(ctx, row) {
		if err != nil {
			return n, err
		}
		if l.Kind == manifest.Missing {
			continue
		}
		if key := at + "/" + string(a.Schema().Keys.Append(nil, l.Coords)); strings.HasPrefix(key, prefix) {
			*keys = append(*keys, key)
		}
	}
	return n + length, nil
}
