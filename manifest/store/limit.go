package store

import (
	"container/list"
	"context"
	"sync"
)

// limiter bounds a sum that any number of goroutines take from, first come first served.
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

// take waits until n fits. What is larger than the limit takes all of it.
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
	case <-w.free: // in the meantime
		l.used -= n
	default:
		l.waiting.Remove(e)
	}
	l.wake()
	l.mu.Unlock()
	return 0, ctx.Err()
}

func (l *limiter) give(n int64) {
	l.mu.Lock()
	l.used -= n
	l.wake()
	l.mu.Unlock()
}

// wake lets those go on that fit. The lock is held.
func (l *limiter) wake() {
	for e := l.waiting.Front(); e != nil; e = l.waiting.Front() {
		w := e.Value.(*waiter)
		if l.used+w.n > l.limit {
			return
		}
		l.used += w.n
		l.waiting.Remove(e)
		close(w.free)
	}
}
