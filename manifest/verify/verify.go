// Package verify finds out whether a manifest still holds: whether its own files and its
// sources are what they were, and whether every chunk can be read.
package verify

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"varve/codec"
	"varve/grid"
	"varve/manifest"
	"varve/manifest/store"
)

// Options say how far to look. What is zero is as described; nil options are all zero.
type Options struct {
	Deep     bool                    // read and decode every chunk
	Workers  int                     // 0: as many as there are processors
	Progress func(done, total int64) // of sources, then of chunks
}

// Problem is something that does not hold.
type Problem struct {
	Source string // the file it is about; empty if that is not known
	Array  string
	Coords []int64 // of the chunk; nil if it is about the list of them
	Err    error
	More   int64 // further chunks of the array that the source fails
}

// String says what does not hold, and where.
func (p Problem) String() string {
	return p.wrapped().Error()
}

// Result is what was found.
type Result struct {
	Sources, Chunks int64
	Problems        []Problem
}

// Verify looks at every source of a manifest, or at every chunk. The error is that of a
// verification that could not be made; what it found is in the result.
func Verify(ctx context.Context, s *store.Store, opts *Options) (*Result, error) {
	if opts == nil {
		opts = &Options{}
	}
	v := &verifier{Options: *opts, store: s, found: map[place][]int{}}
	v.Workers = cmp.Or(max(v.Workers, 0), runtime.GOMAXPROCS(0))
	if err := v.sources(ctx); err != nil {
		return &v.result, err
	}
	if !v.Deep {
		return &v.result, nil
	}
	for _, a := range s.Arrays() {
		if err := v.chunks(ctx, a); err != nil {
			return &v.result, err
		}
	}
	return &v.result, nil
}

type verifier struct {
	Options
	store  *store.Store
	mu     sync.Mutex
	result Result
	found  map[place][]int // the problems with chunks, by where they are
}

// place is an array in a source.
type place struct{ array, source string }

// shownChunks is how many chunks of an array that fail in a source are listed; further ones are
// counted. A file that is gone may be a million.
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

// done counts, and tells whoever wants to know.
func (v *verifier) done(counter *int64, n, total int64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	*counter += n
	if v.Progress != nil {
		v.Progress(*counter, total)
	}
}

func (v *verifier) sources(ctx context.Context) error {
	total := v.store.Snapshot().Rows(manifest.Sources)
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(v.Workers)
	for row := range total {
		if within.Err() != nil {
			break
		}
		group.Go(func() error {
			src, err := v.store.Source(within, row)
			if err != nil {
				return err
			}
			if err := v.store.CheckSource(within, row); err != nil && within.Err() == nil {
				v.add(Problem{Source: src.URL, Err: err})
			}
			v.done(&v.result.Sources, 1, total)
			return nil
		})
	}
	return cmp.Or(group.Wait(), ctx.Err())
}

// chunks reads every chunk of an array that is stored, decodes it, and goes on after those that fail.
func (v *verifier) chunks(ctx context.Context, a *store.Array) error {
	box := grid.Whole(a.Grid().Counts())
	total := v.result.Chunks + a.Grid().Chunks()
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(v.Workers)
	for run, err := range a.Runs(within, box) {
		if err != nil {
			if within.Err() == nil {
				v.add(Problem{Array: a.Path(), Err: err})
			}
			break
		}
		if run.Kind == store.Missing {
			v.done(&v.result.Chunks, run.Chunks, total)
			continue
		}
		at := slices.Clone(run.Coords)
		for n := run.Chunks; n > 0 && within.Err() == nil; n-- {
			coords := slices.Clone(at)
			box.Next(at)
			group.Go(func() error {
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

// chunk decodes what clients are given, which has to come out as what varve reads itself.
func (v *verifier) chunk(ctx context.Context, a *store.Array, coords []int64) error {
	stored, err := a.Chunk(ctx, coords)
	if err != nil || stored == nil {
		return err
	}
	pipeline, err := a.Pipeline(coords)
	if err == nil {
		err = pipeline.Form().CheckSize()
	}
	if err != nil {
		return err
	}
	if err = pipeline.Decode(codec.NewElems(pipeline.Form()), stored); err == nil {
		err = checkSwapped(pipeline.Specs(), stored)
	}
	if err == nil {
		return nil
	}
	if src, offset := v.stored(ctx, a, coords); src != "" {
		return fmt.Errorf("%s: chunk at offset %d: %w", src, offset, err)
	}
	return err
}

// checkSwapped finds checksums as writers before HDF5 1.6.3 left them: libhdf5 and varve take
// them, and other clients of Zarr do not. It is asked of chunks that decode.
func checkSwapped(specs []codec.Spec, stored []byte) error {
	const name, size = "numcodecs.fletcher32", 4
	if len(specs) == 0 || specs[len(specs)-1].Name != name || len(stored) < size {
		return nil
	}
	body := stored[:len(stored)-size]
	sum, err := codec.New([]codec.Spec{{Name: "bytes"}, {Name: name}}, codec.Form{Type: codec.Type{Kind: codec.Uint, Size: 1}, Shape: []int64{int64(len(body))}})
	if err != nil {
		return err
	}
	want, err := sum.Encode(nil, codec.Elems{Fixed: body})
	if err != nil || bytes.Equal(want, stored) {
		return err
	}
	return fmt.Errorf("%w: its fletcher32 has the bytes of each half swapped, as writers before HDF5 1.6.3 left it; varve and libhdf5 read it, other clients of Zarr refuse it until h5repack writes the file anew", errors.ErrUnsupported)
}

// stored is where a chunk is; the name is empty of one that no single source holds.
func (v *verifier) stored(ctx context.Context, a *store.Array, coords []int64) (name string, offset int64) {
	at, err := a.Locate(ctx, coords)
	if err != nil || at.Kind == store.Missing || at.Kind == store.Reencoded || at.Source < 0 {
		return "", 0
	}
	src, err := v.store.Source(ctx, at.Source)
	if err != nil {
		return "", 0
	}
	return src.URL, at.Offset
}

// Err is an error of all problems, or nil. It lists the first of them: an archive that was moved
// has one for each file.
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

// problems is what does not hold.
type problems []error

// shownProblems is how many of them are listed.
const shownProblems = 100

func (p problems) Error() string {
	text := errors.Join(p[:min(len(p), shownProblems)]...).Error()
	if more := len(p) - shownProblems; more > 0 {
		text += fmt.Sprintf("\nand %d more", more)
	}
	return text
}

// Unwrap has errors.Is look at all of them.
func (p problems) Unwrap() []error { return p }

func (p Problem) wrapped() error {
	switch {
	case p.Array == "":
		return p.Err
	case p.Coords == nil:
		return fmt.Errorf("%s: its further chunks cannot be listed, and were not looked at: %w", p.Array, p.Err)
	case p.More > 0:
		return fmt.Errorf("%s, chunk %v and %d more: %w", p.Array, p.Coords, p.More, p.Err)
	}
	return fmt.Errorf("%s, chunk %v: %w", p.Array, p.Coords, p.Err)
}
