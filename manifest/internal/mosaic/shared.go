package mosaic

import (
	"slices"

	"varve/codec"
	"varve/manifest"
)

// sharedCache caches results that all mosaics of a layout need: an archive has many arrays, but few
// ways to store them, and all arrays look up their variables in the same headers.
type sharedCache struct {
	pipelines codec.Pipelines
	indexes   bounded[*manifest.Header, *headerIndex]
}

// headerIndex finds the variables of a header by path, and its dimensions without names.
type headerIndex struct {
	at         map[string]int  // the position of each variable, by path
	rowsBefore []int64         // the rows of refs before each variable
	unnamed    map[string]bool // the paths of dimensions without a name
}

// maxUnindexed is the number of variables or dimensions up to which a header is searched one by one.
// Most headers are so small that a map would cost more than it saves.
const maxUnindexed = 64

// index returns the index of a header, which it makes at the first call.
func (c *sharedCache) index(h *manifest.Header) *headerIndex {
	if known, ok := c.indexes.load(h); ok {
		return known
	}
	return c.indexes.loadOrStore(h, newHeaderIndex(h))
}

// isUnnamed reports whether a dimension of a header has no name in its source.
func (c *sharedCache) isUnnamed(h *manifest.Header, path string) bool {
	if len(h.Dimensions) > maxUnindexed {
		return c.index(h).unnamed[path]
	}
	return slices.ContainsFunc(h.Dimensions, func(d manifest.Dimension) bool { return d.Anonymous && d.Path == path })
}

// find returns the position of the first of these paths that is a variable of the header, and the rows
// of refs before that variable. at is -1 if the header has none of them.
func (c *sharedCache) find(h *manifest.Header, paths []string) (at int, rowsBefore int64) {
	if len(h.Variables) <= maxUnindexed {
		return findOneByOne(h, paths)
	}
	x := c.index(h)
	for _, path := range paths {
		if at, ok := x.at[path]; ok {
			return at, x.rowsBefore[at]
		}
	}
	return -1, 0
}

func findOneByOne(h *manifest.Header, paths []string) (at int, rowsBefore int64) {
	for _, path := range paths {
		if at = h.Find(path); at < 0 {
			continue
		}
		for i := range at {
			rowsBefore += h.Variables[i].Rows()
		}
		return at, rowsBefore
	}
	return -1, 0
}

func newHeaderIndex(h *manifest.Header) *headerIndex {
	x := &headerIndex{at: make(map[string]int, len(h.Variables)), rowsBefore: make([]int64, len(h.Variables)), unnamed: map[string]bool{}}
	rows := int64(0)
	for i := range h.Variables {
		v := h.Variables[i]
		// A damaged header may name a path twice; the first counts, as in Header.Find.
		if _, twice := x.at[v.Path]; !twice {
			x.at[v.Path] = i
		}
		x.rowsBefore[i] = rows
		rows += v.Rows()
	}
	for _, d := range h.Dimensions {
		if d.Anonymous {
			x.unnamed[d.Path] = true
		}
	}
	return x
}
