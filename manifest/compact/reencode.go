package compact

import (
	"cmp"
	"context"
	"slices"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"varve/grid"
	"varve/manifest"
	"varve/manifest/store"
)

// task is a chunk that is being re-encoded.
type task struct {
	number int64
	coords []int64
	weight int64
	made   chan made
}

type made struct {
	data []byte
	err  error
}

const (
	// mostTasks limits the number of finished chunks that wait for an earlier one.
	mostTasks = 4096
	// leastWeight is the weight of the smallest chunk.
	leastWeight = 64 << 10
)

func whole(a *store.Array) grid.Region { return grid.Whole(a.Grid().Counts()) }

// reencodeArray re-encodes the chunks of an array in parallel and adds them to the batch in C order.
func (c *compaction) reencodeArray(ctx context.Context, a *store.Array, index int) (reencoded int64, err error) {
	within, cancel := context.WithCancel(ctx)
	defer cancel()
	tasks := make(chan *task, mostTasks)
	room := semaphore.NewWeighted(c.opts.Memory / 2)
	var finding errgroup.Group
	finding.Go(func() error {
		defer close(tasks)
		return c.find(within, a, c.slices[index], room, tasks)
	})
	for t := range tasks {
		m := <-t.made
		if err == nil {
			err = cmp.Or(m.err, ctx.Err())
		}
		if err == nil {
			err = c.add(ctx, index, t.number, m.data)
		}
		room.Release(t.weight)
		if err != nil {
			cancel() // and continue, to receive the results of the other tasks
			continue
		}
		reencoded++
		c.progress()
	}
	if failed := finding.Wait(); err == nil {
		err = failed
	}
	return reencoded, err
}

// find starts a task for each chunk among some that has to be re-encoded.
func (c *compaction) find(ctx context.Context, a *store.Array, among span, room *semaphore.Weighted, tasks chan<- *task) error {
	var workers errgroup.Group
	workers.SetLimit(c.opts.Workers)
	defer workers.Wait() // workers send their errors to t.made, so there is no error here
	for l, err := range a.Locations(ctx, whole(a)) {
		if err != nil {
			return err
		}
		if l.Kind != manifest.Reencoded {
			continue
		}
		t := &task{coords: slices.Clone(l.Coords), made: make(chan made, 1)}
		if t.number, _ = a.Grid().Number(t.coords); t.number < among.from || t.number >= among.to {
			continue
		}
		if t.weight, err = c.weight(a, t.coords); err != nil {
			return err
		}
		if err := room.Acquire(ctx, t.weight); err != nil {
			return err
		}
		tasks <- t // the receiver takes all tasks, even after an error
		workers.Go(func() error {
			data, err := a.Chunk(ctx, t.coords)
			t.made <- made{data, err}
			return nil
		})
	}
	return ctx.Err()
}

// weight returns the approximate memory of re-encoding a chunk: its elements, and their encoded bytes. A chunk
// larger than the memory limit is re-encoded alone.
func (c *compaction) weight(a *store.Array, coords []int64) (int64, error) {
	p, err := a.Pipeline(coords)
	if err != nil {
		return 0, err
	}
	form := p.Form()
	n := int64(form.Bytes())
	if form.Type.Varies() {
		n = 64 * int64(form.Count())
	}
	return min(max(2*max(n, 0), leastWeight), c.opts.Memory/2), nil
}

func (c *compaction) progress() {
	c.done++
	c.result.Chunks++
	if c.opts.Progress != nil {
		c.opts.Progress(c.done, c.total)
	}
}
