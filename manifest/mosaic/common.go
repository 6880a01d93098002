package mosaic

import (
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

// list is the variables of a header.
type list struct {
	at   map[string]int // by path
	skip []int64        // rows of refs before each
}

// fewVariables is up to how many variables a header is searched one by one.
const fewVariables = 64

// find returns the place of the first of some paths that a header has, and the rows of refs
// before those of the variable, or -1.
func (c *common) find(h *manifest.Header, paths []string) (at int, skip int64) {
	if len(h.Variables) <= fewVariables {
		return search1(h, paths)
	}
	known, ok := c.lists.Load(h)
	if !ok {
		known, _ = c.lists.LoadOrStore(h, newList(h))
	}
	l := known.(*list)
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
	l := &list{at: make(map[string]int, len(h.Variables)), skip: make([]int64, len(h.Variables))}
	rows := int64(0)
	for i := range h.Variables {
		v := h.Variables[i]
		if _, twice := l.at[v.Path]; !twice {
			l.at[v.Path] = i
		}
		l.skip[i] = rows
		rows += v.Rows()
	}
	return l
}
