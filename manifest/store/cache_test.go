package store

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"varve/codec"
)

func elems(n int) codec.Elems { return codec.Elems{Fixed: make([]byte, n)} }

// TestOnce checks that concurrent requests for one key make the entry once.
func TestOnce(t *testing.T) {
	c := newCache(1 << 20)
	var made atomic.Int64
	var wg sync.WaitGroup
	begin := make(chan struct{})
	for range 50 {
		wg.Go(func() {
			<-begin
			e, err := c.get(t.Context(), key{number: 1}, func() (codec.Elems, error) {
				made.Add(1)
				time.Sleep(10 * time.Millisecond)
				return elems(7), nil
			})
			if err != nil || len(e.Fixed) != 7 {
				t.Errorf("got %d bytes (%v)", len(e.Fixed), err)
			}
		})
	}
	close(begin)
	wg.Wait()
	if made.Load() != 1 {
		t.Errorf("made %d times", made.Load())
	}
}

// TestMakerGone checks that another request makes the entry if the first one is cancelled, and that
// errors are not cached.
func TestMakerGone(t *testing.T) {
	c := newCache(1 << 20)
	ctx, cancel := context.WithCancel(t.Context())
	started := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		_, err := c.get(ctx, key{number: 1}, func() (codec.Elems, error) {
			close(started)
			<-ctx.Done()
			return codec.Elems{}, ctx.Err()
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("the cancelled request got %v", err)
		}
	})
	<-started
	wg.Go(func() {
		e, err := c.get(t.Context(), key{number: 1}, func() (codec.Elems, error) { return elems(3), nil })
		if err != nil || len(e.Fixed) != 3 {
			t.Errorf("the other request got %d bytes (%v)", len(e.Fixed), err)
		}
	})
	time.Sleep(5 * time.Millisecond)
	cancel()
	wg.Wait()
	boom := errors.New("boom")
	if _, err := c.get(t.Context(), key{number: 2}, func() (codec.Elems, error) { return codec.Elems{}, boom }); err != boom {
		t.Errorf("got %v, want %v", err, boom)
	}
	if _, err := c.get(t.Context(), key{number: 2}, func() (codec.Elems, error) { return elems(1), nil }); err != nil {
		t.Errorf("the error was cached: %v", err)
	}
}

// TestCacheLimit checks that the cache obeys its limit, removes the least recently used entries, and does not
// keep huge entries.
func TestCacheLimit(t *testing.T) {
	c := newCache(10_000)
	for i := range int64(100) {
		if _, err := c.get(t.Context(), key{number: i}, func() (codec.Elems, error) { return elems(1000), nil }); err != nil {
			t.Fatal(err)
		}
		c.peek(key{number: 0})
	}
	if c.used > c.limit || len(c.entries) != c.order.Len() || len(c.entries) < 5 {
		t.Errorf("%d bytes in %d entries, %d in order", c.used, len(c.entries), c.order.Len())
	}
	if _, ok := c.peek(key{number: 0}); !ok {
		t.Error("an entry that was always in use is gone")
	}
	if _, ok := c.peek(key{number: 50}); ok {
		t.Error("an entry that was not used again remains")
	}
	if _, err := c.get(t.Context(), key{number: 7777}, func() (codec.Elems, error) { return elems(9000), nil }); err != nil {
		t.Fatal(err)
	}
	if _, ok := c.peek(key{number: 7777}); ok {
		t.Error("a chunk larger than half of the limit was cached")
	}
}

// TestLimiter checks that concurrent goroutines never take more than the limit, also if some give up.
func TestLimiter(t *testing.T) {
	l := &limiter{limit: 100}
	var now, most atomic.Int64
	var wg sync.WaitGroup
	for i := range int64(200) {
		wg.Go(func() {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if i%7 == 0 {
				time.AfterFunc(50*time.Microsecond, cancel)
			}
			n, err := l.take(ctx, 1+i%60*3)
			if err != nil {
				return
			}
			if n > 100 || n < 1 {
				t.Errorf("took %d", n)
			}
			most.Store(max(most.Load(), now.Add(n)))
			time.Sleep(20 * time.Microsecond)
			now.Add(-n)
			l.give(n)
		})
	}
	wg.Wait()
	if most.Load() > 100 || l.used != 0 || l.waiting.Len() != 0 {
		t.Errorf("at most %d at a time, %d still taken, %d waiting", most.Load(), l.used, l.waiting.Len())
	}
}
