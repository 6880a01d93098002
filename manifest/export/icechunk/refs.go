package icechunk

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"varve/grid"
	"varve/manifest/export/internal/progress"
)

// part is a box of an array's chunks whose refs are to be written.
type part struct {
	array *inputArray
	node  nodeID
	box   grid.Region
	log   *written
	// Only chunks from here on along an axis are new; the others were in the repository
	// before, in a manifest that this one takes the place of.
	axis  int
	fresh int64

	refs int // in the manifest, once it is written
}

// job is one manifest that is to be written.
type job struct {
	id    objectID
	parts []*part
	info  manifestInfo
	count Counts
}

// Counts are refs by where the bytes are.
type Counts struct {
	Virtual   int64 // in a source
	Unguarded int64 // of these, those whose source has nothing that Icechunk could check
	Native    int64 // in an object of the repository
	Inline    int64 // in a manifest
}

func (c *Counts) add(d Counts) {
	c.Virtual += d.Virtual
	c.Unguarded += d.Unguarded
	c.Native += d.Native
	c.Inline += d.Inline
}

// pile gathers parts into jobs: small arrays share a manifest.
func pile(parts []*part, most int64, ids *names) (jobs []*job, err error) {
	n := most + 1
	for _, p := range parts {
		size := chunks(p.box)
		if n+size > most {
			id, err := ids.object()
			if err != nil {
				return nil, err
			}
			jobs, n = append(jobs, &job{id: id}), 0
		}
		last := jobs[len(jobs)-1]
		last.parts = append(last.parts, p)
		n += size
	}
	for _, j := range jobs {
		slices.SortFunc(j.parts, func(a, b *part) int { return slices.Compare(a.node[:], b.node[:]) })
	}
	return jobs, nil
}

// writer writes manifests and the chunks of the repository that they name.
type writer struct {
	home      home
	in        *input
	inline    int // bytes that go into a manifest rather than into an object
	ids       *names
	reach     reach
	reencoded chan struct{} // holds as many as may be re-encoded at a time
	seen      *progress.Counter

	mu   sync.Mutex
	made []string // the files that were created
}

// begin notes a file that is about to be created.
func (w *writer) begin(key string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.made = append(w.made, key)
}

// add creates a file. What leads to it has to wait until the home is settled.
func (w *writer) add(ctx context.Context, data []byte, folder string, id objectID) error {
	key := folder + "/" + id.String()
	if id != firstSnapshot { // which is another's as well
		w.begin(key)
	}
	return w.home.add(ctx, data, key)
}

// write does jobs, as many at a time as there are workers.
func (w *writer) write(ctx context.Context, jobs []*job, workers int) error {
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	w.reencoded = make(chan struct{}, w.home.reencodeing(workers))
	queue := make(chan *job)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		defer close(queue)
		for _, j := range jobs {
			select {
			case queue <- j:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	})
	for range min(workers, max(len(jobs), 1)) {
		g.Go(func() error { return w.work(ctx, queue) })
	}
	return g.Wait()
}

func (w *writer) work(ctx context.Context, queue <-chan *job) error {
	e, err := newEncoder(nil, 1)
	if err != nil {
		return fmt.Errorf("zstd: %w", err)
	}
	b := &bench{writer: w, encoder: e, places: map[int64]placed{}}
	for j := range queue {
		if err := b.do(ctx, j); err != nil {
			return err
		}
	}
	return nil
}
