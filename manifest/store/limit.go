package store

import (
	"container/list"
	"context"
	"sync"
)

// limiter limits the sum of the amounts that goroutines take at a time. It serves them in the order in which they
// ask.
type limiter struct {
	limit int64

	mu      sync.Mutex
	used    int64
	waiting list.List // of *waiter
}

type waiter struct {
	n    int64
	free chan struct{}
}

// take waits until n is free, and takes it. If n is larger than the limit, it takes the limit.
func (l *limiter) take(ctx context.Context, n int64) (taken int64, err error) {
	n = min(max(n, 0), l.limit)
	l.mu.Lock()
	if l.waiting.Len() == 0 && l.used+n <= l.limit {
		l.used += n
		l.mu.Unlock()
		return n, nil
	}
	w := &waiter{n, make(chan struct{})}
	e := l.waiting.PushBack(w)
	l.mu.Unlock()
	select {
	case <-w.free:
		return n, nil
	case <-ctx.Done():
	}
	l.mu.Lock()
	select {
	case <-w.free: // wake gave the amount at the same moment: return it
		l.used -= n
	default:
		l.waiting.Remove(e)
	}
	l.wake()
	l.mu.Unlock()
	return 0, ctx.Err()
}

// give returns an amount that take took.
func (l *limiter) give(n int64) {
	l.mu.Lock()
	l.used -= n
	l.wake()
	l.mu.Unlock()
}

// wake continues the waiting goroutines whose amounts fit. The caller holds the lock.
func (l *limiter) wake() {
	for e := l.waiting.Front(); e != nil; e = l.waiting.Front() {
		w := e.Value.(*waiter)
		// Do not serve smaller amounts that came later: a large one could wait forever.
		if l.used+w.n > l.limit {
			return
		}
		l.used += w.n
		l.waiting.Remove(e)
		close(w.free)
	}
}
