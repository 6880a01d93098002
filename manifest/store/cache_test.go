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

// TestOnce holds that what many ask for at a time is made once.
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

// TestMakerGone holds that somebody else makes it if the first one goes away, and that errors
// are not kept.
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
			t.Errorf("the one that went away got %v", err)
		}
	})
	<-started
	wg.Go(func() {
		e, err := c.get(t.Context(), key{number: 1}, func() (codec.Elems, error) { return elems(3), nil })
		if err != nil || len(e.Fixed) != 3 {
			t.Errorf("the one that stayed got %d bytes (%v)", len(e.Fixed), err)
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
		t.Errorf("an error was kept: %v", err)
	}
}

func TestCacheLimit(t *testing.T) {
	c := newCache(10_000)
	for i := range int64(100) {
		if _, err := c.get(t.Context(), key{number: i}, func() (codec.Elems, error) { return elems(1000), nil }); err != nil {
			t.Fatal(err)
		}
		c.peek(key{number: 0})
	}
	if c.used > c.limit || len(c.kept) != c.order.Len() || len(c.kept) < 5 {
		t.Errorf("%d bytes in %d entries, %d in order", c.used, len(c.kept), c.order.Len())
	}
	if _, ok := c.peek(key{number: 0}); !ok {
		t.Error("what was asked for all the time is gone")
	}
	if _, ok := c.peek(key{number: 50}); ok {
		t.Error("what nobody asked for again is there")
	}
	if _, err := c.get(t.Context(), key{number: 7777}, func() (codec.Elems, error) { return elems(9000), nil }); err != nil {
		t.Fatal(err)
	}
	if _, ok := c.peek(key{number: 7777}); ok {
		t.Error("a chunk that would push out all others is kept")
	}
}

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
		t.Errorf("%d at a time, %d left, %d waiting", most.Load(), l.used, l.waiting.Len())
	}
}
