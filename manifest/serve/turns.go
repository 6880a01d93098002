package serve

import (
	"context"
	"time"

	"golang.org/x/sync/semaphore"
)

// limits are the limits of memory and work for all snapshots together.
type limits struct {
	reencodes *turns // chunks and plots that are being created
	work      *turns // bytes of memory in which they are created
	answers   *turns // bytes of answers in memory that clients have not received
	disk      *diskCache
}

// turns limits the use of a resource, and the time for which requests wait for it.
type turns struct {
	places *semaphore.Weighted
	size   int64
	wait   time.Duration
}

func newTurns(size int64, wait time.Duration) *turns {
	return &turns{semaphore.NewWeighted(size), size, wait}
}

// take waits for n units, or all units if there are fewer, and reports whether it got them. The caller calls
// give to return them.
func (t *turns) take(ctx context.Context, n int64) (give func(), ok bool) {
	n = min(n, t.size)
	if !t.places.TryAcquire(n) {
		ctx, cancel := context.WithTimeout(ctx, t.wait)
		defer cancel()
		if t.places.Acquire(ctx, n) != nil {
			return nil, false
		}
	}
	return func() { t.places.Release(n) }, true
}

// create waits for a turn to create something in n bytes of memory. The caller calls done when it is created.
func (l *limits) create(ctx context.Context, n int64) (done func(), ok bool) {
	// Memory comes first: whoever waits for it does not keep others from work that needs little.
	freed, ok := l.work.take(ctx, n)
	if !ok {
		return nil, false
	}
	made, ok := l.reencodes.take(ctx, 1)
	if !ok {
		freed()
		return nil, false
	}
	return func() { made(); freed() }, true
}
