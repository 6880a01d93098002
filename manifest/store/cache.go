package store

import (
	"container/list"
	"context"
	"errors"
	"sync"

	"varve/codec"
)

// key names what the cache keeps: a stored chunk, decoded, by the row of its ref; a declared
// chunk of an array, encoded, by its number; bytes of a source, by their offset.
type key struct {
	owner  any // an array, or what others have made of one; an extent
	number int64
	stored bool
}

// cache keeps chunks, those that were asked for last, up to a number of bytes. What several
// ask for at a time is made once.
type cache struct {
	limit int64

	mu    sync.Mutex
	used  int64
	kept  map[key]*list.Element // of *entry
	order list.List             // the one that was asked for last in front
	made  map[key]*making
}

type entry struct {
	key   key
	elems codec.Elems
	bytes int64
}

// making is an entry that somebody is about to make.
type making struct {
	done  chan struct{}
	elems codec.Elems
	err   error
}

func newCache(limit int64) *cache {
	return &cache{limit: limit, kept: map[key]*list.Element{}, made: map[key]*making{}}
}

// peek returns what is kept.
func (c *cache) peek(k key) (codec.Elems, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.find(k)
}

func (c *cache) find(k key) (codec.Elems, bool) {
	e, ok := c.kept[k]
	if !ok {
		return codec.Elems{}, false
	}
	c.order.MoveToFront(e)
	return e.Value.(*entry).elems, true
}

// get returns what is kept, or what do makes, which is kept then.
func (c *cache) get(ctx context.Context, k key, do func() (codec.Elems, error)) (codec.Elems, error) {
	for {
		c.mu.Lock()
		if e, ok := c.find(k); ok {
			c.mu.Unlock()
			return e, nil
		}
		m, ok := c.made[k]
		if !ok {
			m = &making{done: make(chan struct{})}
			c.made[k] = m
			c.mu.Unlock()
			return c.make(k, m, do)
		}
		c.mu.Unlock()
		select {
		case <-m.done:
		case <-ctx.Done():
			return codec.Elems{}, ctx.Err()
		}
		// Whoever made it may have gone away, which is nobody else's business.
		if !isGone(m.err) || ctx.Err() != nil {
			return m.elems, m.err
		}
	}
}

func isGone(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

var errUnfinished = errors.New("reading the chunk did not finish")

func (c *cache) make(k key, m *making, do func() (codec.Elems, error)) (codec.Elems, error) {
	m.err = errUnfinished
	defer func() {
		c.mu.Lock()
		delete(c.made, k)
		if m.err == nil {
			c.keep(k, m.elems)
		}
		c.mu.Unlock()
		close(m.done)
	}()
	m.elems, m.err = do()
	return m.elems, m.err
}

// keep adds an entry and drops those that were not asked for the longest.
func (c *cache) keep(k key, e codec.Elems) {
	n := sizeOf(e)
	if n > c.limit/2 {
		return
	}
	c.kept[k] = c.order.PushFront(&entry{k, e, n})
	for c.used += n; c.used > c.limit; {
		last := c.order.Remove(c.order.Back()).(*entry)
		delete(c.kept, last.key)
		c.used -= last.bytes
	}
}

// sizeOf is the memory that elements take.
func sizeOf(e codec.Elems) int64 {
	n := int64(cap(e.Fixed)) + 128
	for _, v := range e.Var {
		n += 24 + int64(len(v))
	}
	return n
}
