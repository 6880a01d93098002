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
	done chan *found
}

// run scans the names by several workers, and calls take with what they find, in order, until
// it returns an error.
func (s *scanner) run(ctx context.Context, names []string, take func(*found) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	queue := make(chan *job)
	line := make(chan *job, s.Workers*ahead)
	var workers sync.WaitGroup
	for range s.Workers {
		workers.Go(func() {
			for j := range queue {
				j.done <- s.guarded(ctx, j.name)
			}
		})
	}
	go func() {
		defer close(line)
		defer close(queue)
		for _, name := range names {
			j := &job{name: name, done: make(chan *found, 1)}
			select {
			case line <- j: // waits when the line is full, which bounds memory
			case <-ctx.Done():
				return
			}
			select {
			case queue <- j:
			case <-ctx.Done():
				j.done <- nil
				return
			}
		}
	}()
	err := collect(ctx, line, take)
	cancel()
	for range line { // lets the feeder go
	}
	workers.Wait()
	return err
}

// collect takes what was found, in order.
func collect(ctx context.Context, line <-chan *job, take func(*found) error) error {
	for j := range line {
		f := <-j.done
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := take(f); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// guarded scans a source. What goes wrong within a reader is the source's fault only, and
// ends up among the broken ones.
func (s *scanner) guarded(ctx context.Context, name string) (f *found) {
	defer func() {
		if p := recover(); p != nil {
			f = &found{url: absolute(name), err: fmt.Errorf("varve failed on this file, which is a defect of varve; please report it: %v\n%s", p, debug.Stack())}
		}
	}()
	return s.scan(ctx, name)
}
