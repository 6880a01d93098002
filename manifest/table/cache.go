package table

import "sync"

// Cache keeps decoded pages of any number of tables, up to a number of bytes. What was used
// last stays longest. It may be used by any number of goroutines.
type Cache struct {
	mu    sync.Mutex
	limit int64
	bytes int64
	items map[cacheKey]*cacheItem
	ring  cacheItem // ring.next was used last, ring.last is next to go
}

// cacheKey names what is kept of a table: a page of a row group, or a part of one.
type cacheKey struct {
	table uint64
	group int32
	page  int32
	what  content
}

// content is what is kept.
type content uint16

// The contents. Those of single columns come behind the others.
const (
	layoutContent content = iota
	pageContent           // the page, decoded as its kind is
	documentContent
	dictionaryContent
	columnContent = dictionaryContent + 256
)

type cacheItem struct {
	key        cacheKey
	value      any
	size       int64
	last, next *cacheItem
}

// itemBytes is about what an item takes besides its value.
const itemBytes = 160

// NewCache returns a cache. It keeps one page even if that is larger than the limit.
func NewCache(limit int64) *Cache {
	c := &Cache{limit: limit, items: map[cacheKey]*cacheItem{}}
	c.ring.last, c.ring.next = &c.ring, &c.ring
	return c
}

// Bytes is what the cache holds.
func (c *Cache) Bytes() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bytes
}

func (c *Cache) get(key cacheKey) any {
	c.mu.Lock()
	defer c.mu.Unlock()
	item := c.items[key]
	if item == nil {
		return nil
	}
	if c.ring.next != item {
		item.unlink()
		c.link(item)
	}
	return item.value
}

// put keeps a value, and returns it or one that another goroutine was faster to put.
func (c *Cache) put(key cacheKey, value any, size int64) any {
	c.mu.Lock()
	defer c.mu.Unlock()
	if item := c.items[key]; item != nil {
		return item.value
	}
	item := &cacheItem{key: key, value: value, size: size + itemBytes}
	c.items[key] = item
	c.link(item)
	c.bytes += item.size
	for c.bytes > c.limit && c.ring.last != item {
		c.drop(c.ring.last)
	}
	return value
}

// forget drops all that is kept of a table.
func (c *Cache) forget(table uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for item := c.ring.next; item != &c.ring; {
		next := item.next
		if item.key.table == table {
			c.drop(item)
		}
		item = next
	}
}

func (c *Cache) drop(item *cacheItem) {
	item.unlink()
	delete(c.items, item.key)
	c.bytes -= item.size
}

func (c *Cache) link(item *cacheItem) {
	item.last, item.next = &c.ring, c.ring.next
	item.next.last, c.ring.next = item, item
}

func (i *cacheItem) unlink() {
	i.last.next, i.next.last = i.next, i.last
}

// kept returns what the cache has under a key, or loads and keeps it.
func kept[T any](c *Cache, key cacheKey, load func() (T, int64, error)) (T, error) {
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
