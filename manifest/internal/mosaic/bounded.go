package mosaic

import (
	"sync"
	"sync/atomic"
)

// bounded caches a limited number of values. When it is full, it forgets all: most archives have few headers, and if
// each file has its own, readers go from file to file and rarely come back. The zero value is ready, and safe for
// concurrent use.
type bounded[K comparable, V any] struct {
	now atomic.Pointer[generation]
}

// generation has the values since the cache was full.
type generation struct {
	values sync.Map
	n      atomic.Int64
}

// mostFits is the number of values of one cache. A fit takes some kilobytes.
const mostFits = 512

func (c *bounded[K, V]) load(key K) (v V, ok bool) {
	g := c.now.Load()
	if g == nil {
		return v, false
	}
	found, ok := g.values.Load(key)
	if !ok {
		return v, false
	}
	return found.(V), true
}

// loadOrStore returns the value of a key, which it sets to v if there is none.
func (c *bounded[K, V]) loadOrStore(key K, v V) V {
	g := c.now.Load()
	if g == nil || g.n.Load() >= mostFits {
		// If another goroutine was faster, the value goes to its generation or to the old one. Both are correct.
		c.now.CompareAndSwap(g, &generation{})
		g = c.now.Load()
	}
	kept, ok := g.values.LoadOrStore(key, v)
	if !ok {
		g.n.Add(1)
	}
	return kept.(V)
}
