package ingest

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"varve/codec"
	"varve/manifest"
	"varve/manifest/internal/planner"
	"varve/manifest/scan"
)

// loading reads the values that a plan needs. Files with equal values share them in memory.
type loading struct {
	files    []*manifest.File
	opts     *scan.Options
	sums     *scan.Sums
	memory   *semaphore.Weighted // limits the bytes of elements in memory
	progress func(done, total int64)

	mu          sync.Mutex
	same        map[string]*manifest.Values
	done, total int64
}

func (j *job) load(ctx context.Context, all []*manifest.File, needs []planner.Need) error {
	opts := &scan.Options{Opener: j.opts.Opener, ValueBytes: j.opts.ValueBytes, Allow: j.opts.Allow, Names: j.opts.Plan.Names, GRIBTimes: j.opts.Plan.GRIBTimes, GRIBIndexes: j.opts.indexes}
	l := &loading{
		files: all, opts: opts, sums: scan.NewSums(),
		memory: semaphore.NewWeighted(manifest.MostSummed), progress: j.opts.Compared, same: map[string]*manifest.Values{},
	}
	wholly := map[planner.Need]bool{}
	for _, n := range needs {
		if needsElements(n) {
			wholly[planner.Need{File: n.File, Variable: n.Variable}] = true
		}
	}
	needs = slices.DeleteFunc(slices.Clone(needs), func(n planner.Need) bool { // if all elements are read, their digest costs nothing
		return !needsElements(n) && wholly[planner.Need{File: n.File, Variable: n.Variable}]
	})
	l.total = int64(len(needs))
	byFile := map[int][]planner.Need{}
	for _, n := range needs {
		byFile[n.File] = append(byFile[n.File], n)
	}
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(cmp.Or(j.opts.Workers, runtime.GOMAXPROCS(0)))
	for _, n := range needs {
		// One goroutine reads all values of a file, so that each file is opened once.
		if some := byFile[n.File]; some[0] == n {
			group.Go(func() error { return l.readFile(within, some) })
		}
	}
	return group.Wait()
}

// needsElements reports whether all elements are needed.
func needsElements(n planner.Need) bool {
	return n.Extent == planner.All || n.Extent == planner.Compared
}

// readFile reads the needed values of one file, which is opened only once.
func (l *loading) readFile(ctx context.Context, needs []planner.Need) error {
	later, err := scan.Reopen(ctx, l.files[needs[0].File], l.opts)
	if err != nil {
		return err
	}
	for _, n := range needs {
		if err := l.read(ctx, later, n); err != nil {
			return errors.Join(err, later.Close())
		}
	}
	return later.Close()
}

func (l *loading) read(ctx context.Context, later *scan.Later, n planner.Need) error {
	h := l.files[n.File].Header
	v := h.Variables[n.Variable]
	size := max(int64(codec.Form{Type: v.Type, Shape: v.Shape}.Bytes()), 0)
	if !needsElements(n) {
		size = scan.BlockMemory(v)
	}
	// A larger request could never be granted.
	size = min(size, manifest.MostSummed)
	if err := l.memory.Acquire(ctx, size); err != nil {
		return err
	}
	defer l.memory.Release(size)
	var values *manifest.Values
	var err error
	switch n.Extent {
	case planner.All:
		values, err = later.Values(n.Variable)
	case planner.Compared:
		values, err = later.Elements(n.Variable)
	case planner.Sum:
		values, err = later.Sum(n.Variable, l.sums)
	default:
		values, err = summary(h, n.Variable, later)
	}
	if err == nil {
		l.enter(n, values)
	}
	return err
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

func (l *loading) enter(n planner.Need, values *manifest.Values) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if known := l.same[values.ID]; known != nil && known.Summed == values.Summed && values.Summary == nil {
		values = known
	}
	l.files[n.File].Values[n.Variable] = values
	if values.Summary == nil {
		l.same[values.ID] = values
	}
	l.done++
	if l.progress != nil {
		l.progress(l.done, l.total)
	}
}
