package schema

import (
	"sync"

	"varve/codec"
	"varve/zarrjson"
)

// Common caches results that arrays of an archive share. It is safe for concurrent use.
type Common struct {
	pipelines codec.Pipelines

	mu    sync.RWMutex
	texts map[string][]byte // attribute JSON, by the attribute's bytes
	types []zarrjson.DataType
}

// maxTexts limits the cached attributes. Archives have few distinct ones, or so many that a cache
// is useless.
const maxTexts = 1 << 14

func (c *Common) text(key []byte) ([]byte, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	raw, ok := c.texts[string(key)]
	return raw, ok
}

func (c *Common) keep(key, raw []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.texts == nil || len(c.texts) >= maxTexts {
		c.texts = map[string][]byte{}
	}
	c.texts[string(key)] = raw
}

// maxTypes limits the cached types.
const maxTypes = 64

func (c *Common) dataType(t codec.Type) (zarrjson.DataType, error) {
	c.mu.RLock()
	for i := range c.types {
		if c.types[i].Type().Equal(t) {
			defer c.mu.RUnlock()
			return c.types[i], nil
		}
	}
	c.mu.RUnlock()
	made, err := zarrjson.DataTypeOf(t)
	if err == nil && made.Type().Equal(t) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.types = append(c.types[:min(len(c.types), maxTypes-1)], made)
	}
	return made, err
}
