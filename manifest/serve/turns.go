package serve

import (
	"context"
	"time"

	"golang.org/x/sync/semaphore"
)

// limits bound memory and work across all snapshots.
type limits struct {
	reencodes *turns // chunks and plots that are being created
	answers   *turns // bytes of answers in memory that clients have not received
}

// turns bounds a resource and how long requests wait for it.
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
