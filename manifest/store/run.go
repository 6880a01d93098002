package store

import (
	"context"
	"sync"
)

// run hands batches to as many goroutines as there is work for. A single batch is worked on
// by whoever asked for it.
type run struct {
	a      *Array
	ctx    context.Context
	cancel context.CancelFunc
	most   int // goroutines

	first *batch // nobody has begun with it
	queue chan *batch
	count int
	wg    sync.WaitGroup
	once  sync.Once
	err   error
}

// farWorkers is how many fetches from servers one read has under way.
const farWorkers = 16

func newRun(ctx context.Context, a *Array) *run {
	r := &run{a: a, most: a.store.workers, queue: make(chan *batch)}
	r.ctx, r.cancel = context.WithCancel(ctx)
	return r
}

// add takes a batch in. It waits while all goroutines are busy.
func (r *run) add(b *batch) error {
	if b.isNothing() {
		r.do(b) // sooner than anybody else could
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
	most := r.most
	if b.far {
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

// start has a new goroutine begin with a batch.
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

// fail ends the run with the first error.
func (r *run) fail(err error) {
	r.once.Do(func() { r.err = err })
	r.cancel()
}

// wait waits for all batches, of which no more are to come.
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
