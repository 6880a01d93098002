// Package compact re-encodes the chunks that need it once, and stores the results in files of the manifest. Then each
// of these chunks is a range of a file: clients read it without decoding, and exports refer to it.
//
//	plan       merge short chunks on request                makes schemas with longer chunks
//	adopt      take the batches of an interrupted run       makes runs of chunks
//	re-encode  the remaining chunks, batch by batch         writes chunks-SUM.bin and patches-SUM.parquet
//	publish    all schemas and runs in one snapshot
//
// Sources and values do not change. Readers see the old snapshot until the end. Each batch is flushed together with
// a draft of the snapshot that lists it. If a run is killed, or if another writer publishes first, the next run
// continues from the draft. So at most one batch is lost.
package compact

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"runtime"
	"slices"
	"time"

	"varve/codec"
	"varve/manifest"
	"varve/manifest/internal/patches"
	"varve/manifest/repo"
	"varve/manifest/store"
	"varve/readers/source"
)

// DimensionError is returned for a dimension of Options.Chunks that no array has.
type DimensionError = patches.DimensionError

// Options configure Compact. Nil means the zero value.
type Options struct {
	// Chunks merges neighbouring chunks along dimensions, by name or path, up to these lengths.
	Chunks map[string]int64
	// Store configures reading, such as allowed folders.
	Store      store.Options
	Workers    int    // chunks that are re-encoded at a time; 0: as many as there are processors
	Memory     int64  // bytes for chunks that are being re-encoded; 0: 512 MiB
	BatchBytes int64  // the smallest size of a file of chunks, except the last; 0: 64 MiB
	Writer     string // the program, recorded in the snapshot
	// Slice restricts the run to one slice of the chunks that must be re-encoded. They are kept in the manifest for a run
	// without a slice, which publishes them. GC removes them if no such run comes before.
	Slice manifest.Slice
	// Progress is called by one goroutine with the number of chunks that are done.
	Progress func(done, total int64)
}

// Result counts what Compact did.
type Result struct {
	Snapshot *manifest.Snapshot // the published snapshot; nil if there was nothing to do
	Merged   []string           // paths of the arrays whose chunks were merged
	Chunks   int64              // number of chunks that were re-encoded
	Adopted  int64              // number of chunks that an interrupted run or other slices had re-encoded
	Bytes    int64              // total size of the chunks that were re-encoded
}

// span is the chunks from ≤ number < to of an array.
type span struct{ from, to int64 }

// attempts is the number of times that a run continues after another writer published first.
const attempts = 5

// draftPrefix begins the names of the drafts that interrupted runs and slices leave.
const draftPrefix = "compact"

// draftName returns the name of the draft of a slice, or of the whole.
func draftName(s manifest.Slice) string {
	if s.IsWhole() {
		return draftPrefix
	}
	return fmt.Sprintf("%s-%d-of-%d", draftPrefix, s.Number, s.Of)
}

// Compact re-encodes chunks of the manifest in dir, stores them in the manifest, and publishes a snapshot with them.
func Compact(ctx context.Context, dir string, opts *Options) (result *Result, err error) {
	if opts == nil {
		opts = &Options{}
	}
	if err := opts.Slice.Check(); err != nil {
		return nil, err
	}
	repository, err := repo.Open(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, repository.Close()) }()
	c := &compaction{repo: repository, opts: *opts}
	c.opts.Workers = cmp.Or(max(opts.Workers, 0), runtime.GOMAXPROCS(0))
	c.opts.Memory = cmp.Or(max(opts.Memory, 0), 512<<20)
	c.opts.BatchBytes = cmp.Or(max(opts.BatchBytes, 0), 64<<20)
	for range attempts {
		if err = c.attempt(ctx); !errors.Is(err, repo.ErrConflict) {
			break
		}
	}
	if err != nil {
		return nil, err
	}
	return &c.result, nil
}

// compaction is the state of one run.
type compaction struct {
	repo   *repo.Repository
	opts   Options
	result Result

	old     *manifest.Snapshot // the current snapshot
	planned *manifest.Snapshot // the next snapshot
	merged  map[string]bool    // paths of the arrays whose chunks were merged
	batch   *batch             // the batch that is being written; nil if there is none
	done    int64              // number of chunks that this attempt has re-encoded
	total   int64              // number of chunks that this attempt must re-encode
	slices  []span             // by array: the chunks of the slice
}

// attempt compacts the current snapshot.
func (c *compaction) attempt(ctx context.Context) error {
	drafts, err := c.drafts(ctx)
	if err != nil {
		return err
	}
	parent, err := c.repo.Current(ctx)
	if err != nil {
		return err
	}
	if c.old, err = c.repo.Load(ctx, parent); err != nil {
		return err
	}
	if err := c.plan(); err != nil {
		return err
	}
	adopted := int64(0)
	for _, name := range drafts {
		n, err := c.adopt(ctx, name)
		if err != nil {
			return err
		}
		adopted += n
	}
	c.result.Adopted = max(adopted-c.result.Chunks, 0) // an earlier attempt of this run re-encoded the others
	if err := c.reencode(ctx); err != nil || !c.opts.Slice.IsWhole() {
		return err
	}
	if adopted > 0 || c.done > 0 || len(c.merged) > 0 {
		c.planned.Message = fmt.Sprintf("compact %d chunks", adopted+c.done)
		if err := c.repo.Publish(ctx, c.planned, parent); err != nil {
			return err
		}
		c.result.Snapshot = c.planned
	}
	for _, name := range drafts {
		if err := c.repo.RemoveDraft(ctx, name); err != nil {
			return err
		}
	}
	return c.repo.RemoveDraft(ctx, draftPrefix)
}

// drafts returns the names of the drafts whose chunks this run takes: its own, and those of all slices if it is the whole.
func (c *compaction) drafts(ctx context.Context) ([]string, error) {
	if c.opts.Slice.IsWhole() {
		return c.repo.Drafts(ctx, draftPrefix)
	}
	return []string{draftName(c.opts.Slice)}, nil
}

// adopt adds the chunks of a draft that are still valid, and returns their number. Without a usable draft, its chunks are
// re-encoded.
func (c *compaction) adopt(ctx context.Context, name string) (int64, error) {
	draft, err := c.repo.LoadDraft(ctx, name)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, codec.ErrCorrupt) || errors.Is(err, errors.ErrUnsupported) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	rows, err := patches.Carry(ctx, c.repo, draft, c.planned, patches.Options{})
	if errors.Is(err, codec.ErrCorrupt) {
		err = nil
	}
	return rows, err
}

// plan prepares the next snapshot without reading chunks.
func (c *compaction) plan() error {
	next := *c.old
	next.ID, next.Created, next.Writer = "", time.Time{}, c.opts.Writer
	next.Arrays, next.Tables = slices.Clone(c.old.Arrays), slices.Clone(c.old.Tables)
	c.planned, c.merged, c.done = &next, map[string]bool{}, 0
	c.result.Merged = nil
	if err := patches.CheckDims(c.old.Arrays, c.opts.Chunks); err != nil {
		return err
	}
	next.Merged = maps.Clone(c.old.Merged)
	for dim, n := range c.opts.Chunks {
		if next.Merged == nil {
			next.Merged = map[string]int64{}
		}
		next.Merged[dim] = n
	}
	for i := range next.Arrays {
		a := &next.Arrays[i]
		merged, err := patches.Merge(a, c.opts.Chunks)
		if err != nil {
			return fmt.Errorf("%s: %w", a.Path, err)
		}
		if merged {
			c.merged[a.Path] = true
			c.result.Merged = append(c.result.Merged, a.Path)
		}
	}
	return nil
}

// reencode re-encodes the remaining chunks, and updates the counts of arrays that change. If it fails, it saves the
// chunks that it has finished in the draft.
func (c *compaction) reencode(ctx context.Context) (err error) {
	opts := c.opts.Store
	opts.Workers, opts.CacheBytes, opts.FlightBytes = c.opts.Workers, max(c.opts.Memory/4, 1), max(c.opts.Memory/4, 1)
	now := *c.planned // a copy for the store, because reencode adds runs to c.planned
	now.Arrays = slices.Clone(c.planned.Arrays)
	s, err := store.New(c.repo, &now, &opts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := c.count(ctx, s); err != nil {
		return err
	}
	err = c.reencodeAll(ctx, s)
	if err == nil {
		return c.commit(ctx)
	}
	// The chunks before the error are valid, so their batch is kept.
	if kept := c.commit(context.WithoutCancel(ctx)); kept != nil {
		err = errors.Join(err, kept)
	}
	if errors.Is(err, source.ErrChanged) && ctx.Err() == nil {
		err = errors.Join(err, c.changed(ctx, s))
	}
	return err
}

func (c *compaction) reencodeAll(ctx context.Context, s *store.Store) error {
	for i, a := range s.Arrays() {
		if c.planned.Arrays[i].Chunks.Reencoded == 0 || a.Spec().Placement == "" {
			continue
		}
		made, err := c.reencodeArray(ctx, a, i)
		counts := &c.planned.Arrays[i].Chunks
		counts.Reencoded -= made
		counts.Verbatim += made
		counts.Patched += made
		if err != nil {
			return fmt.Errorf("%s: %w", a.Path(), err)
		}
	}
	return nil
}

// count counts the chunks of arrays that are re-encoded or were merged.
func (c *compaction) count(ctx context.Context, s *store.Store) error {
	c.cut(s)
	c.total = 0
	for i, a := range s.Arrays() {
		spec := &c.planned.Arrays[i]
		if spec.Placement == "" || spec.Chunks.Reencoded == 0 && !c.merged[spec.Path] {
			continue
		}
		var err error
		if spec.Chunks, err = a.Count(ctx); err != nil {
			return err
		}
		if c.opts.Slice.IsWhole() {
			c.total += spec.Chunks.Reencoded
			continue
		}
		for run, err := range a.Runs(ctx, whole(a)) {
			if err != nil {
				return err
			}
			if run.Kind == manifest.Reencoded {
				first, _ := a.Grid().Number(run.Coords)
				c.total += max(min(c.slices[i].to, first+run.Chunks)-max(c.slices[i].from, first), 0)
			}
		}
	}
	return ctx.Err()
}

// cut divides the chunks of all arrays, in their order, into slices.
func (c *compaction) cut(s *store.Store) {
	all := int64(0)
	for _, a := range s.Arrays() {
		all += a.Grid().Chunks()
	}
	from, to := c.opts.Slice.Range(all)
	c.slices = c.slices[:0]
	for _, a := range s.Arrays() {
		c.slices = append(c.slices, span{from, to})
		from -= a.Grid().Chunks()
		to -= a.Grid().Chunks()
	}
}

// mostChanged limits the number of sources that an error names.
const mostChanged = 20

// changed returns an error that names the sources that changed since the scan.
func (c *compaction) changed(ctx context.Context, s *store.Store) error {
	var all []error
	for _, t := range c.old.Tables {
		if t.Kind != manifest.Sources {
			continue
		}
		for row := t.First; row < t.First+t.Rows && len(all) < mostChanged; row++ {
			if err := s.CheckSource(ctx, row); errors.Is(err, source.ErrChanged) {
				all = append(all, err)
			}
		}
	}
	return errors.Join(all...)
}
