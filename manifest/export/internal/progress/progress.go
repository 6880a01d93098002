// Package progress tells whoever waits for an export how far it is.
package progress

import (
	"sync"
	"sync/atomic"
	"time"
)

// Counter counts the chunks that an export is done with. Several goroutines may count; a nil
// Counter does not.
type Counter struct {
	tell  func(done, total int64)
	total int64
	begun time.Time
	done  atomic.Int64
	told  atomic.Int64 // when, since begun

	telling sync.Mutex
	shown   int64 // what was told last
}

// every is how often somebody is told, but for the end.
const every = int64(100 * time.Millisecond)

// New returns a Counter of so many chunks. It is nil if nobody is to be told. Tell is called by
// whoever counts, by one at a time, and with numbers that grow.
func New(tell func(done, total int64), total int64) *Counter {
	if tell == nil {
		return nil
	}
	return &Counter{tell: tell, total: total, begun: time.Now()}
}

// Add says that n more chunks are done.
func (c *Counter) Add(n int64) {
	if c == nil || n == 0 {
		return
	}
	done := c.done.Add(n)
	now, told := int64(time.Since(c.begun)), c.told.Load()
	if done == c.total || now-told >= every && c.told.CompareAndSwap(told, now) {
		c.show(done)
	}
}

// show tells how far the export is, if nobody has told more meanwhile.
func (c *Counter) show(done int64) {
	c.telling.Lock()
	defer c.telling.Unlock()
	if done > c.shown {
		c.shown = done
		c.tell(done, c.total)
	}
}
