// Package compact writes the chunks of a manifest that have to be re-encoded to files of the
// manifest, once, so that they are ranges of files like all others: nothing is decoded when
// they are asked for, and exports point at them.
//
//	plan     merge short chunks where that is asked for      a schema with longer edges
//	adopt    what an interrupted run has written             runs of chunks
//	re-encode  what is left, batch by batch                    chunks-SUM.bin, patches-SUM.parquet
//	publish  schemas and runs in one snapshot
//
// The sources stay as they are, and so do all values. Until the end readers see the old
// snapshot. Each batch is brought to disk with a draft of the snapshot that names it, which
// the next run takes up if this one is killed, or if another writer publishes first. Batches
// grow with what is there, so that their number grows with its logarithm: what is lost is no
// more than one of them.
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
	"varve/manifest/patches"
	"varve/manifest/store"
	"varve/readers/source"
)

// Options say what is kept, and what that may take. What is zero is as described; nil options
// are all zero.
type Options struct {
	// Chunks has chunks merged with their neighbours along dimensions, by name or path, as
	// long as they are not longer together than this.
	Chunks map[string]int64
	// Store says what may be read.
	Store      store.Options
	Workers    int    // chunks that are re-encoded at a time; 0: as many as there are processors
	Memory     int64  // bytes for chunks that are under way; 0 stands for 512 MiB
	BatchBytes int64  // the least size of a file of chunks but the last; 0 stands for 64 MiB
	Writer     string // the program, for the snapshot
	// Progress is called by one goroutine with how many chunks are done.
	Progress func(done, total int64)
}

// Result is what was done.
type Result struct {
	Snapshot *manifest.Snapshot // that was published; nil if there was nothing to do
	Merged   []string           // arrays whose chunks were
	Chunks   int64              // that were re-encoded
	Adopted  int64              // that an interrupted run had re-encoded
	Bytes    int64              // of the chunks that were re-encoded
}

// attempts is how often a run goes on from the snapshot of a writer that was faster.
const attempts = 5

// draftName is that of the draft of a snapshot that a run leaves behind.
const draftName = "compact"

// Compact compacts the manifest dir.
func Compact(ctx context.Context, dir string, opts *Options) (result *Result, err error) {
	if opts == nil {
		opts = &Options{}
	}
	repo, err := manifest.Open(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, repo.Close()) }()
	c := &compaction{repo: repo, opts: *opts}
	c.opts.Workers = cmp.Or(max(opts.Workers, 0), runtime.GOMAXPROCS(0))
	c.opts.Memory = cmp.Or(max(opts.Memory, 0), 512<<20)
	c.opts.BatchBytes = cmp.Or(max(opts.BatchBytes, 0), 64<<20)
	for range attempts {
		if err = c.attempt(ctx); !errors.Is(err, manifest.ErrConflict) {
			break
		}
	}
	if err != nil {
		return nil, err
	}
	return &c.result, nil
}

// compaction is one run.
type compaction struct {
	repo   *manifest.Repository
	opts   Options
	result Result

	old     *manifest.Snapshot // what is current
	planned *manifest.Snapshot // what comes next
	merged  map[string]bool    // arrays, by path
	batch   *batch             // that is being written; nil if there is none
	done    int64              // chunks of this attempt
	total   int64
}

// attempt compacts what is current.
func (c *compaction) attempt(ctx context.Context) error {
	draft, err := c.loadDraft(ctx)
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
	if draft != nil {
		adopted, err = patches.Carry(ctx, c.repo, draft, c.planned, patches.AsPlanned)
		if err != nil && !errors.Is(err, codec.ErrCorrupt) { // a draft is nobody's but ours
			return err
		}
	}
	c.result.Adopted = max(adopted-c.result.Chunks, 0) // the others are of an attempt before this
	if err := c.reencode(ctx); err != nil {
		return err
	}
	if adopted == 0 && c.done == 0 && len(c.merged) == 0 {
		return c.repo.RemoveDraft(ctx, draftName)
	}
	c.planned.Message = fmt.Sprintf("compact %d chunks", adopted+c.done)
	if err := c.repo.Publish(ctx, c.planned, parent); err != nil {
		return err
	}
	c.result.Snapshot = c.planned
	return c.repo.RemoveDraft(ctx, draftName)
}

// loadDraft returns what an interrupted run has left, which may be nothing. One that cannot
// be read is nothing either.
func (c *compaction) loadDraft(ctx context.Context) (*manifest.Snapshot, error) {
	draft, err := c.repo.LoadDraft(ctx, draftName)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, codec.ErrCorrupt) || errors.Is(err, errors.ErrUnsupported) {
		return nil, nil
	}
	return draft, err
}

// plan makes the next snapshot of the current one, as far as that takes no reading.
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

// re-encode re-encodes what is left, and counts the chunks of arrays that are not as they were.
// What it has done before it fails is kept.
func (c *compaction) reencode(ctx context.Context) (err error) {
	opts := c.opts.Store
	opts.Workers, opts.CacheBytes, opts.FlightBytes = c.opts.Workers, max(c.opts.Memory/4, 1), max(c.opts.Memory/4, 1)
	now := *c.planned // the store's own: runs are added to the other one
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
	// The batch is as good as it would be without the error.
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

// count counts anew the chunks of arrays that are to be re-encoded or were merged.
func (c *compaction) count(ctx context.Context, s *store.Store) error {
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
		c.total += spec.Chunks.Reencoded
	}
	return ctx.Err()
}

// mostChanged bounds the sources that an error names.
const mostChanged = 20

// changed names the sources that are not what was scanned.
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
