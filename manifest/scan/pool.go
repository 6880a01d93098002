package scan

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"

	"varve/readers/source"
)

// ahead limits the number of sources per worker that may be finished before an earlier source.
const ahead = 8

// job is a source to scan.
type job struct {
	name string
	rows *stream // nil if rows are passed on only with the result
	held *holding
	done chan *found
}

// end delivers the result, or nil if the source was not scanned, and unblocks the receiver of its rows.
func (j *job) end(f *found) {
	if j.rows != nil {
		close(j.rows.batches)
	}
	j.done <- f
}

// run scans the names with several workers and passes the results to a collector in order, until it returns
// an error.
func (s *scanner) run(ctx context.Context, names []string, c *collector) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var workers sync.WaitGroup
	work := func(n int) chan *job {
		queue := make(chan *job)
		for range n {
			workers.Go(func() {
				for j := range queue {
					j.end(s.guarded(ctx, j))
				}
			})
		}
		return queue
	}
	// Local sources have workers of their own, because more than one per processor would only need memory.
	local, far := source.Workers(s.Workers, false), source.Workers(s.Workers, true)
	remote := slices.ContainsFunc(names, source.IsRemote)
	near := work(local)
	queues := []chan *job{near}
	if remote && s.Workers <= 0 {
		queues = append(queues, work(far))
	} else {
		far = local
	}
	line := make(chan *job, far*ahead)
	go func() {
		defer close(line)
		defer func() {
			for _, queue := range queues {
				close(queue)
			}
		}()
		room := make(chan struct{}, maxBatches)
		memory := newMemory()
		for _, name := range names {
			j := &job{name: name, held: memory.hold(ctx), done: make(chan *found, 1)}
			queue := near
			if source.IsRemote(name) {
				queue = queues[len(queues)-1]
			}
			if s.early {
				j.rows = newStream(room)
			}
			select {
			case line <- j: // blocks when the line is full, which bounds memory
			case <-ctx.Done():
				return
			}
			select {
			case queue <- j:
			case <-ctx.Done():
				j.end(nil)
				return
			}
		}
	}()
	err := collect(ctx, line, c)
	cancel()
	for range line { // unblocks the goroutine that sends to line
	}
	workers.Wait()
	return err
}

// collect takes the results in order.
func collect(ctx context.Context, line <-chan *job, c *collector) error {
	for j := range line {
		j.held.setCurrent()
		c.begin()
		if j.rows != nil {
			if err := j.rows.each(c.more); err != nil {
				return err
			}
		}
		f := <-j.done
		if err := ctx.Err(); err != nil {
			return err
		}
		err := c.take(f)
		j.held.release()
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

// PanicError is the error of a source on which a reader panicked, which is a bug of varve.
type PanicError struct {
	Value any
	Stack []byte
}

// Error returns the value and the stack, for a bug report.
func (e *PanicError) Error() string {
	return fmt.Sprintf("varve failed on this file because of a bug; please report it: %v\n%s", e.Value, e.Stack)
}

// guarded scans a source. A panic in a reader becomes the error of this source, so that the others are still
// scanned.
func (s *scanner) guarded(ctx context.Context, j *job) (f *found) {
	url, name, err := s.named(j.name)
	defer func() {
		if p := recover(); p != nil {
			f = &found{url: url, err: &PanicError{p, debug.Stack()}}
		}
	}()
	if err == nil {
		err = j.held.begin()
	}
	if err != nil {
		return &found{url: url, err: err}
	}
	return s.scan(ctx, url, name, request{indexes: s.Sink != nil, stream: j.rows, held: j.held})
}
