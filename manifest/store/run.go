package store

import (
	"context"
	"sync"

	"varve/readers/source"
)

// run distributes batches to goroutines, which it starts when there is work for them. If there is only one
// batch, the calling goroutine does the work itself, so that small reads start no goroutine.
type run struct {
	a          *Array
	ctx        context.Context
	cancel     context.CancelFunc
	maxWorkers int // largest number of goroutines

	first *batch // waits for a second batch to come
	queue chan *batch
	count int
	wg    sync.WaitGroup
	once  sync.Once
	err   error
}

// farWorkers is the number of concurrent fetches of one read from servers. The host and the bytes in memory limit them too.
const farWorkers = source.MaxPerHost

func newRun(ctx context.Context, a *Array) *run {
	r := &run{a: a, maxWorkers: a.store.workers, queue: make(chan *batch)}
	r.ctx, r.cancel = context.WithCancel(ctx)
	return r
}

// add accepts a batch. It waits while all goroutines are busy.
func (r *run) add(b *batch) error {
	if b.isNothing() {
		r.do(b) // faster than passing it to another goroutine
		return nil
	}
	if r.first == nil && r.count == 0 {
		r.first = b
		return nil
	}
	if r.first != nil {
		first := r.first
		r.first = nil
		r.start(first)
	}
	// Fetches from servers wait for the network, so more of them than cores make sense.
	most := r.maxWorkers
	if b.isFar {
		most = max(most, farWorkers)
	}
	if r.count < most {
		r.start(b)
		return nil
	}
	select {
	case r.queue <- b:
		return nil
	case <-r.ctx.Done():
		return r.ctx.Err()
	}
}

// start starts a goroutine with a batch.
func (r *run) start(b *batch) {
	r.count++
	r.wg.Go(func() {
		r.do(b)
		for b := range r.queue {
			r.do(b)
		}
	})
}

func (r *run) do(b *batch) {
	err := r.ctx.Err()
	if err == nil {
		err = r.a.work(r.ctx, b)
	}
	if err != nil {
		r.fail(err)
	}
}

// fail ends the run and keeps the first error.
func (r *run) fail(err error) {
	r.once.Do(func() { r.err = err })
	r.cancel()
}

// wait waits for all batches. No more may be added.
func (r *run) wait() error {
	if r.first != nil {
		r.do(r.first)
		r.first = nil
	}
	close(r.queue)
	r.wg.Wait()
	r.cancel()
	return r.err
}
