// Package progress reports the progress of exports.
package progress

import (
	"sync"
	"sync/atomic"
	"time"
)

// Counter counts the exported chunks. Several goroutines may use it. A nil Counter does nothing.
type Counter struct {
	tell     func(done, total int64)
	total    int64
	begun    time.Time
	done     atomic.Int64
	reported atomic.Int64 // the time of the last report, in nanoseconds since begun

	telling sync.Mutex
	shown   int64 // the number in the last report
}

// every is the least time between two reports. The last report does not wait.
const every = int64(100 * time.Millisecond)

// New returns a Counter of total chunks. It is nil if tell is nil. Goroutines that call Add call tell, one at a time, and
// with increasing numbers.
func New(tell func(done, total int64), total int64) *Counter {
	if tell == nil {
		return nil
	}
	return &Counter{tell: tell, total: total, begun: time.Now()}
}

// Add counts n more chunks.
func (c *Counter) Add(n int64) {
	if c == nil || n == 0 {
		return
	}
	done := c.done.Add(n)
	now, reported := int64(time.Since(c.begun)), c.reported.Load()
	if done == c.total || now-reported >= every && c.reported.CompareAndSwap(reported, now) {
		c.show(done)
	}
}

// Finish counts the chunks that are left, such as those that an append does not look at.
func (c *Counter) Finish() {
	if c != nil {
		c.Add(c.total - c.done.Load())
	}
}

// show reports done chunks, unless a larger number was reported meanwhile.
func (c *Counter) show(done int64) {
	c.telling.Lock()
	defer c.telling.Unlock()
	if done > c.shown {
		c.shown = done
		c.tell(done, c.total)
	}
}
