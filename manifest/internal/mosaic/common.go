package mosaic

import (
	"slices"
	"sync"

	"varve/codec"
	"varve/manifest"
)

// common caches results that all mosaics of a layout share: an archive has many arrays, but few ways
// to store them, and all arrays look up their variables in the same headers.
type common struct {
	pipelines codec.Pipelines
	indexes   sync.Map // *manifest.Header → *list
}

// headerIndex finds the variables of a header by path, and its dimensions without names.
type headerIndex struct {
	at      map[string]int // by path
	skip    []int64        // rows of refs before each variable
	unnamed map[string]bool
}

// few is the number of variables or dimensions up to which a header is searched without an index.
const few = 64

// index returns the index of a header. It makes it at the first call.
func (c *common) index(h *manifest.Header) *headerIndex {
	known, ok := c.indexes.Load(h)
	if !ok {
		known, _ = c.indexes.LoadOrStore(h, newHeaderIndex(h))
	}
	return known.(*headerIndex)
}

// isUnnamed reports whether a dimension of a header has no name in its source.
func (c *common) isUnnamed(h *manifest.Header, path string) bool {
	if len(h.Dimensions) > few {
		return c.index(h).unnamed[path]
	}
	return slices.ContainsFunc(h.Dimensions, func(d manifest.Dimension) bool { return d.Anonymous && d.Path == path })
}

// find returns the index of the first path that the header has, and the rows of refs before that
// variable. at is -1 if it has none of them.
func (c *common) find(h *manifest.Header, paths []string) (at int, skip int64) {
	if len(h.Variables) <= few {
		return findOneByOne(h, paths)
	}
	l := c.index(h)
	for _, path := range paths {
		if at, ok := l.at[path]; ok {
			return at, l.skip[at]
		}
	}
	return -1, 0
}

func findOneByOne(h *manifest.Header, paths []string) (at int, skip int64) {
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

func newHeaderIndex(h *manifest.Header) *headerIndex {
	l := &headerIndex{at: make(map[string]int, len(h.Variables)), skip: make([]int64, len(h.Variables)), unnamed: map[string]bool{}}
	rows := int64(0)
	for i := range h.Variables {
		v := h.Variables[i]
		// A damaged header may name a path twice; the first counts, as in Header.Find.
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
