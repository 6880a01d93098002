package store

import (
	"container/list"
	"context"
	"errors"
	"sync"

	"varve/codec"
)

// key identifies an entry of the cache: a decoded stored chunk by the row of its ref, an encoded
// declared chunk of an array by its number, or bytes of a source by their offset.
type key struct {
	owner  any // an array, a value derived from one by a caller of Once, or an extent
	number int64
	stored bool
}

// cache keeps the most recently used chunks, up to a number of bytes. If several goroutines request the
// same chunk at the same time, only one of them makes it.
type cache struct {
	limit int64

	mu      sync.Mutex
	used    int64
	entries map[key]*list.Element // of *entry
	order   list.List             // the most recently used entry is in front
	pending map[key]*pendingEntry
}

type entry struct {
	key   key
	elems codec.Elems
	bytes int64
}

// pendingEntry is an entry that a goroutine is making now.
type pendingEntry struct {
	done  chan struct{}
	elems codec.Elems
	err   error
}

func newCache(limit int64) *cache {
	return &cache{limit: limit, entries: map[key]*list.Element{}, pending: map[key]*pendingEntry{}}
}

// peek returns the elements of an entry, if the cache has it.
func (c *cache) peek(k key) (codec.Elems, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.find(k)
}

func (c *cache) find(k key) (codec.Elems, bool) {
	e, ok := c.entries[k]
	if !ok {
		return codec.Elems{}, false
	}
	c.order.MoveToFront(e)
	return e.Value.(*entry).elems, true
}

// get returns the elements of an entry. If the cache does not have it, do makes the elements, which
// are then added.
func (c *cache) get(ctx context.Context, k key, do func() (codec.Elems, error)) (codec.Elems, error) {
	for {
		c.mu.Lock()
		if e, ok := c.find(k); ok {
			c.mu.Unlock()
			return e, nil
		}
		m, ok := c.pending[k]
		if !ok {
			m = &pendingEntry{done: make(chan struct{})}
			c.pending[k] = m
			c.mu.Unlock()
			return c.make(k, m, do)
		}
		c.mu.Unlock()
		select {
		case <-m.done:
		case <-ctx.Done():
			return codec.Elems{}, ctx.Err()
		}
		// If the maker's request was cancelled, its error is not ours: try again.
		if !isGone(m.err) || ctx.Err() != nil {
			return m.elems, m.err
		}
	}
}

func isGone(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

var errUnfinished = errors.New("reading the chunk did not finish")

func (c *cache) make(k key, m *pendingEntry, do func() (codec.Elems, error)) (codec.Elems, error) {
	// Keep this error if do panics, so that waiting goroutines do not get an empty chunk.
	m.err = errUnfinished
	defer func() {
		c.mu.Lock()
		delete(c.pending, k)
		if m.err == nil {
			c.add(k, m.elems)
		}
		c.mu.Unlock()
		close(m.done)
	}()
	m.elems, m.err = do()
	return m.elems, m.err
}

// put adds an entry, or replaces it.
func (c *cache) put(k key, e codec.Elems) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if old, ok := c.entries[k]; ok {
		c.used -= c.order.Remove(old).(*entry).bytes
		delete(c.entries, k)
	}
	c.add(k, e)
}

// add adds an entry and removes the least recently used ones beyond the limit.
func (c *cache) add(k key, e codec.Elems) {
	// Do not add a huge chunk: all others would be removed for it.
	n := sizeOf(e)
	if n > c.limit/2 {
		return
	}
	c.entries[k] = c.order.PushFront(&entry{k, e, n})
	for c.used += n; c.used > c.limit; {
		last := c.order.Remove(c.order.Back()).(*entry)
		delete(c.entries, last.key)
		c.used -= last.bytes
	}
}

// entryBytes is about the memory of an entry beside its elements: the entry itself, its place in the list, and that in
// the map. Chunks of a few bytes are common: an index has many, and so has an array with one value for each file.
const entryBytes = 320

// sizeOf returns the memory that the entry of elements takes, in bytes.
func sizeOf(e codec.Elems) int64 {
	n := int64(cap(e.Fixed)) + entryBytes
	for _, v := range e.Var {
		n += 24 + int64(len(v))
	}
	return n
}
