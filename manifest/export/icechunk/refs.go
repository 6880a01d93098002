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
	"varve/manifest/internal/home"
)

// part is a box of an array's chunks whose refs are written to one manifest.
type part struct {
	array *inputArray
	node  nodeID
	box   grid.Region
	log   *written
	// Chunks before fresh along axis were in the repository already, in a manifest that this one replaces.
	// axis is -1 if all chunks are new.
	axis  int
	fresh int64
	alone bool // no other part is in its manifest: see Options.ManifestChunks

	refs int // number of refs in the manifest, after writing
}

// job is one manifest to write.
type job struct {
	id    objectID
	parts []*part
	info  manifestInfo
	count Counts
}

// Counts has the number of refs by the place of their bytes.
type Counts struct {
	Virtual   int64 // in a source
	Unguarded int64 // virtual refs without a check, because the source has no time or ETag
	Native    int64 // in an object of the repository
	Inline    int64 // in a manifest
}

func (c *Counts) add(d Counts) {
	c.Virtual += d.Virtual
	c.Unguarded += d.Unguarded
	c.Native += d.Native
	c.Inline += d.Inline
}

// pile groups parts into jobs of at most most chunks, so that small arrays share a manifest.
func pile(parts []*part, most int64, ids *names) (jobs []*job, err error) {
	n := most + 1
	for _, p := range parts {
		size := chunks(p.box)
		if n+size > most || p.alone {
			id, err := ids.object()
			if err != nil {
				return nil, err
			}
			jobs, n = append(jobs, &job{id: id}), 0
		}
		last := jobs[len(jobs)-1]
		last.parts = append(last.parts, p)
		if n += size; p.alone {
			n = most + 1
		}
	}
	// Icechunk searches the arrays of a manifest by node id.
	for _, j := range jobs {
		slices.SortFunc(j.parts, func(a, b *part) int { return slices.Compare(a.node[:], b.node[:]) })
	}
	return jobs, nil
}

// writer writes manifests and re-encoded chunks.
type writer struct {
	home      home.Home
	in        *input
	inline    int // maximum bytes of a chunk that is stored in a manifest instead of an object
	ids       *names
	reach     reach
	reencoded chan struct{} // semaphore of concurrent re-encodings
	seen      *progress.Counter

	mu   sync.Mutex
	made []string // keys of created files
}

// begin records a file before it is created, so that takeBack can remove it.
func (w *writer) begin(key string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.made = append(w.made, key)
}

// add creates a file. Files that refer to it must be written after home.Settle.
func (w *writer) add(ctx context.Context, data []byte, folder string, id objectID) error {
	key := folder + "/" + id.String()
	if id != firstSnapshot { // the first snapshot is the same in every repository
		w.begin(key)
	}
	return w.home.Put(ctx, key, data, home.Flushed)
}

// write writes the manifests of all jobs; workers bounds the concurrency.
func (w *writer) write(ctx context.Context, jobs []*job, workers int) error {
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	atOnce := workers
	if _, isAway := w.home.(*home.Prefix); isAway {
		atOnce = max(atOnce, awayChunks)
	}
	w.reencoded = make(chan struct{}, atOnce)
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
	b := &manifestWorker{writer: w, encoder: e, sources: map[int64]sourceRecord{}}
	for j := range queue {
		if err := b.do(ctx, j); err != nil {
			return err
		}
	}
	return nil
}
