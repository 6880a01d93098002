package scan

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
)

// ahead is how many sources may be finished for each worker before an earlier one is.
const ahead = 8

// job is a source on its way.
type job struct {
	name string
	rows *stream // nil if none are handed on before all is found
	done chan *found
}

// end says that there is no more than f, or nothing if nobody looked at the source: whoever
// waits for its rows goes on.
func (j *job) end(f *found) {
	if j.rows != nil {
		close(j.rows.batches)
	}
	j.done <- f
}

// run scans the names by several workers, and gives a collector what they find, in order, until
// it returns an error.
func (s *scanner) run(ctx context.Context, names []string, c *collector) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	queue := make(chan *job)
	line := make(chan *job, s.Workers*ahead)
	var workers sync.WaitGroup
	for range s.Workers {
		workers.Go(func() {
			for j := range queue {
				j.end(s.guarded(ctx, j))
			}
		})
	}
	go func() {
		defer close(line)
		defer close(queue)
		room := make(chan struct{}, maxBatches)
		for _, name := range names {
			j := &job{name: name, done: make(chan *found, 1)}
			if s.early {
				j.rows = newStream(room)
			}
			select {
			case line <- j: // waits when the line is full, which bounds memory
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
	for range line { // lets the feeder go
	}
	workers.Wait()
	return err
}

// collect takes what was found, in order.
func collect(ctx context.Context, line <-chan *job, c *collector) error {
	for j := range line {
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
		if err := c.take(f); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// guarded scans a source. What goes wrong within a reader is the source's fault only, and
// ends up among the broken ones.
func (s *scanner) guarded(ctx context.Context, j *job) (f *found) {
	defer func() {
		if p := recover(); p != nil {
			f = &found{url: absolute(j.name), err: fmt.Errorf("varve failed on this file, which is a defect of varve; please report it: %v\n%s", p, debug.Stack())}
		}
	}()
	return s.scan(ctx, j.name, j.rows)
}
