package serve

import (
	"context"
	"time"
)

// turns bound how many do something at a time, and how long others wait for their turn.
type turns struct {
	places chan struct{}
	wait   time.Duration
}

func newTurns(places int, wait time.Duration) *turns {
	return &turns{make(chan struct{}, places), wait}
}

// take waits for a turn, and reports whether it came.
func (t *turns) take(ctx context.Context) bool {
	select {
	case t.places <- struct{}{}:
		return true
	default:
	}
	late := time.NewTimer(t.wait)
	defer late.Stop()
	select {
	case t.places <- struct{}{}:
		return true
	case <-late.C:
	case <-ctx.Done():
	}
	return false
}

func (t *turns) give() { <-t.places }
