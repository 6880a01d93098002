package ingest

import (
	"context"
	"errors"
	"sync"

	"golang.org/x/sync/semaphore"

	"varve/codec"
	"varve/manifest"
	"varve/manifest/internal/planner"
	"varve/manifest/scan"
	"varve/readers/source"
)

// loading answers a plan's requests for values by reading the files. Files with equal values share them
// in memory. It is a planner.Values.
type loading struct {
	files    []*manifest.File
	opts     func(file int) *scan.Options
	sums     *scan.Sums
	memory   *semaphore.Weighted // limits the bytes of elements in memory
	workers  int
	progress func(done, total int64)

	mu          sync.Mutex
	same        map[string]*manifest.Values
	done, total int64
}

// load returns the source of values for a plan of files.
func (j *job) load(all []*manifest.File) *loading {
	opts := func(file int) *scan.Options { return j.reading(all, file).later() }
	return &loading{
		files: all, opts: opts, sums: scan.NewSums(), memory: semaphore.NewWeighted(manifest.MostSummed),
		workers: j.opts.Workers, progress: j.opts.Comparing, same: map[string]*manifest.Values{},
	}
}

// Get reads the requested values.
func (l *loading) Get(ctx context.Context, requests []planner.Request) ([]*manifest.Values, error) {
	values := make([]*manifest.Values, len(requests))
	type variable struct{ file, variable int }
	whole := map[variable]int{} // the request for all elements; their digest costs nothing then
	for i, r := range requests {
		if needsElements(r) {
			whole[variable{r.File, r.Variable}] = i
		}
	}
	byFile := map[int][]int{} // the requests to read, by file
	var files []int
	l.done, l.total = 0, 0
	for i, r := range requests {
		if _, ok := whole[variable{r.File, r.Variable}]; ok && !needsElements(r) {
			continue
		}
		if byFile[r.File] == nil {
			files = append(files, r.File)
		}
		byFile[r.File] = append(byFile[r.File], i)
		l.total++
	}
	group, within := source.NewGroup(ctx, l.workers)
	for _, f := range files {
		// One goroutine reads all values of a file, so that each file is opened once.
		group.Go(l.files[f].URL, func() error { return l.readFile(within, requests, byFile[f], values) })
	}
	err := group.Wait()
	for i, r := range requests {
		if values[i] == nil {
			values[i] = values[whole[variable{r.File, r.Variable}]]
		}
	}
	return values, err
}

// needsElements reports whether all elements are requested.
func needsElements(r planner.Request) bool {
	return r.Extent == planner.All || r.Extent == planner.ForComparison
}

// readFile reads the requested values of one file, which is opened only once.
func (l *loading) readFile(ctx context.Context, requests []planner.Request, some []int, values []*manifest.Values) error {
	file := requests[some[0]].File
	later, err := scan.Reopen(ctx, l.files[file], l.opts(file))
	if err != nil {
		return err
	}
	for _, i := range some {
		if values[i], err = l.read(ctx, later, requests[i]); err != nil {
			return errors.Join(err, later.Close())
		}
	}
	return later.Close()
}

func (l *loading) read(ctx context.Context, later *scan.Later, r planner.Request) (*manifest.Values, error) {
	h := l.files[r.File].Header
	v := h.Variable(r.Variable)
	size := max(int64(codec.Form{Type: v.Type, Shape: v.Shape}.Bytes()), 0)
	if !needsElements(r) {
		size = scan.BlockMemory(v)
	}
	// A larger request could never be granted.
	size = min(size, manifest.MostSummed)
	if err := l.memory.Acquire(ctx, size); err != nil {
		return nil, err
	}
	defer l.memory.Release(size)
	var values *manifest.Values
	var err error
	switch r.Extent {
	case planner.All:
		values, err = later.Values(r.Variable)
	case planner.ForComparison:
		values, err = later.Elements(r.Variable)
	case planner.Sum:
		values, err = later.Sum(r.Variable, l.sums)
	default:
		values, err = summary(h.Expand(), r.Variable, later)
	}
	if err != nil {
		return nil, err
	}
	return l.share(values), nil
}

// summary computes the summary of a variable's values in blocks.
func summary(h *manifest.Header, variable int, later *scan.Later) (*manifest.Values, error) {
	g, err := planner.NewGauge(h, variable)
	if err == nil {
		err = later.Blocks(variable, g.Add)
	}
	if err != nil {
		return nil, err
	}
	return g.Values(), nil
}

// share returns equal values that were read before, if there are any.
func (l *loading) share(values *manifest.Values) *manifest.Values {
	l.mu.Lock()
	defer l.mu.Unlock()
	if known := l.same[values.ID]; known != nil && known.Summed == values.Summed && values.Summary == nil {
		values = known
	}
	if values.Summary == nil {
		l.same[values.ID] = values
	}
	l.done++
	if l.progress != nil {
		l.progress(l.done, l.total)
	}
	return values
}
