package schema

import (
	"sync"

	"varve/codec"
	"varve/zarrjson"
)

// Common keeps what arrays of an archive have in common, so that it is worked out once. It may
// be used by any number of goroutines.
type Common struct {
	pipelines codec.Pipelines

	mu    sync.RWMutex
	texts map[string][]byte // attributes as JSON, by their bytes
	types []zarrjson.DataType
}

// maxTexts bounds what is kept of attributes, most of which are few or all different.
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

// maxTypes bounds the types that are kept.
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
