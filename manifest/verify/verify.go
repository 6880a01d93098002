// Package verify checks whether the files and sources of a manifest are unchanged, and whether every chunk
// can be read.
package verify

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/semaphore"

	"varve/codec"
	"varve/grid"
	"varve/manifest"
	"varve/manifest/plan"
	"varve/manifest/store"
	"varve/readers/source"
)

// Options configure Verify. Zero values select the defaults; nil is the same as the zero Options.
type Options struct {
	Deep bool // read and decode every chunk
	// Sample is the fraction of the stored chunks that are read and decoded if Deep is not set, such as 0.01. They are
	// selected at random: equal seeds select equal chunks of a snapshot.
	Sample float64
	Seed   uint64
	// Slice restricts the check to one slice of the sources and, with Deep, of the stored chunks.
	Slice    manifest.Slice
	Workers  int                     // sources or chunks at once; 0: see source.Workers
	Progress func(done, total int64) // of sources, then of chunks
}

// Problem is a failed check.
type Problem struct {
	Source string // the affected file; empty if unknown
	Array  string
	Coords []int64 // of the chunk; nil if the problem is not with a single chunk
	Err    error
	More   int64 // number of further chunks of the array that fail in the same source
}

// String describes the problem and its place.
func (p Problem) String() string {
	return p.wrapped().Error()
}

// Result is the result of a verification.
type Result struct {
	Sources, Chunks int64
	Stored          int64 // number of stored chunks from which a sample or a slice was taken
	Problems        []Problem
	// Secrets has the names of parameters in stored URLs that may be secrets, sorted. Only an older varve stored them.
	Secrets []string
}

// Verify checks every source of a manifest, and that every ref names bytes of a source that exist. With Deep, it reads every
// chunk. The error reports a verification that
// could not be completed; problems are in the result.
func Verify(ctx context.Context, s *store.Store, opts *Options) (*Result, error) {
	if opts == nil {
		opts = &Options{}
	}
	if err := opts.Slice.Check(); err != nil {
		return nil, err
	}
	v := &verifier{Options: *opts, store: s, found: map[place][]int{}, isRefs: map[place]bool{}, memory: semaphore.NewWeighted(verifiedBytes)}
	if err := v.sources(ctx); err != nil {
		return &v.result, err
	}
	// Sources are checked concurrently, so their problems are in random order.
	slices.SortFunc(v.result.Problems, func(a, b Problem) int { return cmp.Compare(a.Source, b.Source) })
	if !v.Deep && v.Sample <= 0 {
		return &v.result, v.structure(ctx)
	}
	if !v.Deep || !v.Slice.IsWhole() {
		var err error
		if v.result.Stored, err = countStored(ctx, s); err != nil {
			return &v.result, err
		}
		if v.Deep {
			v.chosen = newRange(v.Slice.Range(v.result.Stored))
		} else {
			v.chosen = newSample(v.result.Stored, v.Sample, v.Seed)
		}
	}
	for _, a := range s.Arrays() {
		if err := v.chunks(ctx, a); err != nil {
			return &v.result, err
		}
	}
	// Of a sample, the refs of each chunk were verified with it.
	if v.Deep {
		if err := v.refs(ctx); err != nil {
			return &v.result, err
		}
	}
	return &v.result, v.structure(ctx)
}

// refs verifies chunks that were read in parts above, or not at all.
func (v *verifier) refs(ctx context.Context) error {
	from, to := v.Slice.Range(v.store.Snapshot().Rows(manifest.Sources))
	return v.store.VerifyRefs(ctx, from, to, v.chosen != nil, v.Options.Workers, v.addRef)
}

// structure checks that all refs name bytes that exist. It reads only the tables of the manifest.
func (v *verifier) structure(ctx context.Context) error {
	from, to := v.Slice.Range(v.store.Snapshot().Rows(manifest.Refs))
	return v.store.CheckRefs(ctx, from, to-from, v.Workers, v.addRef)
}

// addRef adds a problem with a ref, unless chunks of its array and source have problems already.
func (v *verifier) addRef(p *store.RefProblem) {
	at := place{p.Variable, p.Source}
	v.mu.Lock()
	isNew := v.found[at] == nil || v.isRefs[at]
	if isNew {
		v.isRefs[at] = true
	}
	v.mu.Unlock()
	if isNew {
		v.add(Problem{Source: p.Source, Array: p.Variable, Coords: p.Coords, Err: p.Err})
	}
}

type verifier struct {
	Options
	store  *store.Store
	mu     sync.Mutex
	result Result
	found  map[place][]int // problems with chunks, by array and source
	isRefs map[place]bool  // where all of these are of refs
	memory *semaphore.Weighted
	chosen selection // nil if all chunks are read
	before int64     // number of stored chunks before those that are being listed
}

// place is an array in a source.
type place struct{ array, source string }

// shownChunks limits the number of failing chunks that are listed for an array and a source. More chunks are
// only counted, because a missing file may have a million.
const shownChunks = 10

func (v *verifier) add(p Problem) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if p.Coords != nil {
		at := place{p.Array, p.Source}
		if known := v.found[at]; len(known) == shownChunks {
			v.result.Problems[known[shownChunks-1]].More++
			return
		}
		v.found[at] = append(v.found[at], len(v.result.Problems))
	}
	v.result.Problems = append(v.result.Problems, p)
}

// done counts and reports progress.
func (v *verifier) done(counter *int64, n, total int64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	*counter += n
	if v.Progress != nil {
		v.Progress(*counter, total)
	}
}

func (v *verifier) sources(ctx context.Context) error {
	from, to := v.Slice.Range(v.store.Snapshot().Rows(manifest.Sources))
	var built plan.Options
	if options := v.store.Snapshot().Options; options != nil {
		if err := json.Unmarshal(options, &built); err != nil {
			return err
		}
	}
	var secrets []string
	defer func() { v.result.Secrets = slices.Compact(slices.Sorted(slices.Values(secrets))) }()
	group, within := source.NewGroup(ctx, v.Workers)
	for row := from; row < to; row++ {
		if within.Err() != nil {
			break
		}
		src, err := v.store.Source(within, row)
		if err != nil {
			return cmp.Or(group.Wait(), err)
		}
		secrets = append(secrets, source.Secrets(src.URL, built.KeepQuery)...)
		group.Go(src.URL, func() error {
			err := v.store.CheckSource(within, row)
			if err == nil && v.Deep {
				err = v.store.VerifySource(within, row)
			}
			if err != nil && within.Err() == nil {
				v.add(Problem{Source: src.URL, Err: err})
			}
			v.done(&v.result.Sources, 1, to-from)
			return nil
		})
	}
	return cmp.Or(group.Wait(), ctx.Err())
}

// chunks reads and decodes every stored chunk of an array. It continues after failures.
func (v *verifier) chunks(ctx context.Context, a *store.Array) error {
	box := grid.Whole(a.Grid().Counts())
	total := v.result.Chunks + a.Grid().Chunks()
	if v.chosen != nil {
		total = v.chosen.chunks()
	}
	left := v.store.MaxChunks()
	group, within := source.NewGroup(ctx, v.Workers)
	for run, err := range a.Runs(within, box) {
		if err != nil {
			if within.Err() == nil {
				v.add(Problem{Array: a.Path(), Err: err})
			}
			break
		}
		if run.Kind == manifest.Missing {
			if v.chosen == nil {
				v.done(&v.result.Chunks, run.Chunks, total)
			}
			continue
		}
		chunks := everyChunk(run, box)
		if v.chosen != nil {
			chunks = selected(a, run, v.chosen.take(v.before, run.Chunks))
			v.before += run.Chunks
		}
		if left -= run.Chunks; left < 0 {
			v.add(Problem{Array: a.Path(), Err: store.ErrManyChunks})
			break
		}
		from, err := v.sourceOf(within, run)
		if err != nil {
			return cmp.Or(group.Wait(), err)
		}
		for coords := range chunks {
			if within.Err() != nil {
				break
			}
			group.Go(from, func() error {
				if err := v.chunk(within, a, coords); err != nil {
					if within.Err() != nil {
						return within.Err()
					}
					src, _ := v.stored(within, a, coords)
					v.add(Problem{Source: src, Array: a.Path(), Coords: coords, Err: err})
				}
				v.done(&v.result.Chunks, 1, total)
				return nil
			})
		}
	}
	return cmp.Or(group.Wait(), ctx.Err())
}

// sourceOf returns the URL of a source from which chunks are read. Re-encoded chunks may need several sources, which
// usually are in one place.
func (v *verifier) sourceOf(ctx context.Context, run *manifest.Run) (string, error) {
	row := max(run.Source, 0)
	if row >= v.store.Snapshot().Rows(manifest.Sources) {
		return "", nil // the manifest has all values
	}
	src, err := v.store.Source(ctx, row)
	if err != nil {
		return "", err
	}
	return src.URL, nil
}

// verifiedBytes limits the memory of chunks that are verified at once, stored and decoded. One chunk may need more.
const verifiedBytes = 256 << 20

// chunk decodes the bytes that clients get.
func (v *verifier) chunk(ctx context.Context, a *store.Array, coords []int64) error {
	pipeline, invalid := a.Pipeline(coords)
	if invalid == nil {
		invalid = pipeline.Form().CheckSize()
	}
	size := int64(0)
	if invalid == nil {
		size = min(2*int64(pipeline.Form().Bytes()), verifiedBytes)
	}
	if err := v.memory.Acquire(ctx, size); err != nil {
		return err
	}
	defer v.memory.Release(size)
	stored, err := a.Chunk(ctx, coords)
	if err != nil || stored == nil {
		return err
	}
	if invalid != nil {
		return invalid
	}
	if err = pipeline.Decode(codec.NewElems(pipeline.Form()), stored); err == nil {
		err = pipeline.CheckPortable(stored)
	}
	if err == nil && v.chosen != nil {
		return a.VerifyStored(ctx, coords)
	}
	if err == nil {
		return nil
	}
	if src, offset := v.stored(ctx, a, coords); src != "" {
		return fmt.Errorf("%s: chunk at offset %d: %w", src, offset, err)
	}
	return err
}

// stored returns the location of a chunk. name is empty if the chunk is not in a single source.
func (v *verifier) stored(ctx context.Context, a *store.Array, coords []int64) (name string, offset int64) {
	at, err := a.Locate(ctx, coords)
	if err != nil || at.Kind == manifest.Missing || at.Kind == manifest.Reencoded || at.Source < 0 {
		return "", 0
	}
	src, err := v.store.Source(ctx, at.Source)
	if err != nil {
		return "", 0
	}
	return src.URL, at.Offset
}

// Err returns an error with all problems, or nil if there are none. Its text lists only the first problems, because
// after an archive was moved every file is a problem.
func (r *Result) Err() error {
	if len(r.Problems) == 0 {
		return nil
	}
	list := make(problems, len(r.Problems))
	for i, p := range r.Problems {
		list[i] = p.wrapped()
	}
	return list
}

// problems is the error that Err returns.
type problems []error

// shownProblems limits the number of listed problems.
const shownProblems = 100

func (p problems) Error() string {
	text := errors.Join(p[:min(len(p), shownProblems)]...).Error()
	if more := len(p) - shownProblems; more > 0 {
		text += fmt.Sprintf("\nand %d more", more)
	}
	return text
}

// Unwrap returns all problems.
func (p problems) Unwrap() []error { return p }

func (p Problem) wrapped() error {
	switch {
	case p.Array == "":
		return p.Err
	case p.Coords == nil:
		return fmt.Errorf("%s: the remaining chunks cannot be listed and were not checked: %w", p.Array, p.Err)
	case p.More > 0:
		return fmt.Errorf("%s, chunk %v and %d more: %w", p.Array, p.Coords, p.More, p.Err)
	}
	return fmt.Errorf("%s, chunk %v: %w", p.Array, p.Coords, p.Err)
}
