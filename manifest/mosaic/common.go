package mosaic

import (
	"slices"
	"sync"

	"varve/codec"
	"varve/manifest"
)

// common is what mosaics find out that others on the same layout can use: an archive has many
// arrays, few ways to store them, and a header that all of them look for their variable in.
type common struct {
	pipelines codec.Pipelines
	lists     sync.Map // *manifest.Header → *list
}

// list is the variables of a header, and what dimensions its source has no name for.
type list struct {
	at      map[string]int // by path
	skip    []int64        // rows of refs before each
	unnamed map[string]bool
}

// few is up to how many variables, or dimensions, a header is searched one by one.
const few = 64

// list returns what a header's variables are listed in.
func (c *common) list(h *manifest.Header) *list {
	known, ok := c.lists.Load(h)
	if !ok {
		known, _ = c.lists.LoadOrStore(h, newList(h))
	}
	return known.(*list)
}

// isUnnamed reports whether a dimension of a header is one that its source has no name for.
func (c *common) isUnnamed(h *manifest.Header, path string) bool {
	if len(h.Dimensions) > few {
		return c.list(h).unnamed[path]
	}
	return slices.ContainsFunc(h.Dimensions, func(d manifest.Dimension) bool { return d.Anonymous && d.Path == path })
}

// find returns the place of the first of some paths that a header has, and the rows of refs
// before those of the variable, or -1.
func (c *common) find(h *manifest.Header, paths []string) (at int, skip int64) {
	if len(h.Variables) <= few {
		return search1(h, paths)
	}
	l := c.list(h)
	for _, path := range paths {
		if at, ok := l.at[path]; ok {
			return at, l.skip[at]
		}
	}
	return -1, 0
}

func search1(h *manifest.Header, paths []string) (at int, skip int64) {
	for _, path := range paths {
		if at = h.Find(path); at < 0 {
			continue
		}
		for i := range at {
			skip += h.Variables[i].Rows()
		}
		return at, skip
	}
	return -1, 0
}

func newList(h *manifest.Header) *list {
	l := &list{at: make(map[string]int, len(h.Variables)), skip: make([]int64, len(h.Variables)), unnamed: map[string]bool{}}
	rows := int64(0)
	for i := range h.Variables {
		v := h.Variables[i]
		if _, twice := l.at[v.Path]; !twice {
			l.at[v.Path] = i
		}
		l.skip[i] = rows
		rows += v.Rows()
	}
	for _, d := range h.Dimensions {
		if d.Anonymous {
			l.unnamed[d.Path] = true
		}
	}
	return l
}
