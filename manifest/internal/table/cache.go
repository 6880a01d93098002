package table

import (
	"sync"
	"sync/atomic"
)

// Cache keeps decoded pages of any number of tables, up to a number of bytes. It evicts by the clock
// algorithm: first a page that was not used since the hand last passed it. A use then only sets a
// mark, while moving entries of a list would write all over memory. It may be used by any number of
// goroutines.
type Cache struct {
	mu    sync.RWMutex
	limit int64
	bytes int64
	items map[cacheKey]*cacheItem
	hand  *cacheItem // in a ring of all items
}

// cacheKey identifies an entry: a page of a row group of a table, or a part of one.
type cacheKey struct {
	table uint64
	group int32
	page  int32
	what  content
}

// content is the kind of an entry.
type content uint16

// The kinds of entries. Columns and their dictionaries have numbers after the others.
const (
	layoutContent content = iota
	pageContent           // the page, decoded in the form of its table kind
	documentContent
	dictionaryContent
	columnContent = dictionaryContent + 256
)

type cacheItem struct {
	key        cacheKey
	value      any
	size       int64
	used       atomic.Bool // since the hand passed it
	last, next *cacheItem
}

// itemBytes is the approximate memory of an item without its value.
const itemBytes = 160

// NewCache returns a cache with a limit in bytes. It keeps one page even if that is larger.
func NewCache(limit int64) *Cache {
	return &Cache{limit: limit, items: map[cacheKey]*cacheItem{}}
}

func (c *Cache) get(key cacheKey) any {
	c.mu.RLock()
	item := c.items[key]
	c.mu.RUnlock()
	if item == nil {
		return nil
	}
	// Read before writing: a store would take the cache line from all other cores.
	if !item.used.Load() {
		item.used.Store(true)
	}
	return item.value
}

// put adds a value and returns it, or returns the value that another goroutine added first.
func (c *Cache) put(key cacheKey, value any, size int64) any {
	c.mu.Lock()
	defer c.mu.Unlock()
	if item := c.items[key]; item != nil {
		return item.value
	}
	item := &cacheItem{key: key, value: value, size: size + itemBytes}
	c.items[key] = item
	c.bytes += item.size
	c.link(item)
	// The new item itself is never evicted: the caller is about to use it.
	for c.bytes > c.limit && len(c.items) > 1 {
		if c.hand == item || c.hand.used.Swap(false) {
			c.hand = c.hand.next
			continue
		}
		c.drop(c.hand)
	}
	return value
}

// link inserts an item where the hand comes last.
func (c *Cache) link(item *cacheItem) {
	if c.hand == nil {
		item.last, item.next, c.hand = item, item, item
		return
	}
	item.last, item.next = c.hand.last, c.hand
	item.last.next, item.next.last = item, item
}

// drop removes an item. If the hand is at it, the hand moves on.
func (c *Cache) drop(item *cacheItem) {
	item.last.next, item.next.last = item.next, item.last
	if c.hand == item {
		c.hand = item.next
	}
	delete(c.items, item.key)
	c.bytes -= item.size
	if len(c.items) == 0 {
		c.hand = nil
	}
}

// forget removes all entries of a table.
func (c *Cache) forget(table uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, item := range c.items {
		if key.table == table {
			c.drop(item)
		}
	}
}

// cached returns the entry of a key, or loads and adds it.
func cached[T any](c *Cache, key cacheKey, load func() (T, int64, error)) (T, error) {
	if v, ok := c.get(key).(T); ok {
		return v, nil
	}
	v, size, err := load()
	if err != nil {
		return v, err
	}
	if w, ok := c.put(key, v, size).(T); ok {
		return w, nil
	}
	return v, nil
}
