package serve

import (
	"context"
	"time"

	"golang.org/x/sync/semaphore"
)

// limits are what all snapshots that are served share.
type limits struct {
	reencodes *turns // chunks and plots that are being made
	answers   *turns // bytes of answers that are in memory until clients have them
}

// turns bound how much there is of something at a time, and how long others wait for their turn.
type turns struct {
	places *semaphore.Weighted
	size   int64
	wait   time.Duration
}

func newTurns(size int64, wait time.Duration) *turns {
	return &turns{semaphore.NewWeighted(size), size, wait}
}

// take waits for so many places, or all if there are fewer, and reports whether they came. Who has them
// gives them back.
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
