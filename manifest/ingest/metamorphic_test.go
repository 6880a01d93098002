package ingest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"varve/codec"
	"varve/fixtures/soak"
	"varve/grid"
	"varve/manifest/compact"
	"varve/manifest/export/icechunk"
	"varve/manifest/export/kerchunk"
	"varve/manifest/export/zarr"
	"varve/manifest/present"
	"varve/manifest/relocate"
	"varve/manifest/repo"
	"varve/manifest/store"
	"varve/manifest/verify"
)

// A journey is what happens to a manifest of a random archive, after which it must still have the values of the files.
type journey struct {
	archive *archive
	folder  string     // of the archive's files
	parts   [][]string // the first is built, the others are appended
	steps   []string   // from journeySteps
}

// journeySteps are the steps after all files were added.
var journeySteps = []string{"compact", "merge", "relocate", "verify", "restore", "gc", "kerchunk", "kerchunk regular", "parquet", "zarr", "icechunk"}

// newJourney draws a journey.
func newJourney(t *testing.T, seed uint64) *journey {
	r := rand.New(rand.NewPCG(seed, 7))
	folder := filepath.Join(t.TempDir(), "files")
	j := &journey{archive: newArchive(t, r, folder, 1+int(seed%2)), folder: folder}
	j.parts = split(r, j.archive.files)
	for range 2 + r.IntN(4) {
		j.steps = append(j.steps, journeySteps[r.IntN(len(journeySteps))])
	}
	return j
}

// run goes through the steps. It returns an error that names the first step after which something was wrong.
func (j *journey) run(ctx context.Context, dir string) error {
	out := filepath.Join(dir, "a.varve")
	for i, part := range j.parts {
		opts := optionsFor(part...)
		if len(j.archive.dims) > 1 {
			opts.Plan.Concat = j.archive.dims
		}
		do := Append
		if i == 0 {
			do = Build
		}
		if _, err := do(ctx, out, opts); err != nil {
			return fmt.Errorf("part %d: %w", i, err)
		}
	}
	if err := j.compare(ctx, out); err != nil {
		return err
	}
	for i, step := range j.steps {
		if err := j.step(ctx, step, out, filepath.Join(dir, strconv.Itoa(i))); err != nil {
			return fmt.Errorf("step %d, %s: %w", i, step, err)
		}
	}
	return nil
}

// step makes one step and compares the values.
func (j *journey) step(ctx context.Context, step, out, temp string) error {
	switch step {
	case "compact", "merge":
		opts := &compact.Options{Store: store.Options{Trusted: true}}
		if step == "merge" {
			opts.Chunks = map[string]int64{j.archive.dims[0]: 5}
		}
		if _, err := compact.Compact(ctx, out, opts); err != nil {
			return err
		}
	case "relocate":
		for _, m := range []relocate.Move{{From: j.folder, To: j.folder + "-moved"}, {From: j.folder + "-moved", To: j.folder}} {
			if err := os.Rename(m.From, m.To); err != nil {
				return err
			}
			_, err := relocate.Relocate(ctx, out, &relocate.Options{Moves: []relocate.Move{m}, Allow: []string{filepath.Dir(j.folder)}})
			if err != nil {
				return errors.Join(err, os.Rename(m.To, j.folder))
			}
		}
	case "restore", "gc":
		if err := inRepository(ctx, out, step); err != nil {
			return err
		}
	default:
		return j.withStore(ctx, step, out, temp)
	}
	return j.compare(ctx, out)
}

func inRepository(ctx context.Context, out, step string) error {
	r, err := repo.Open(ctx, out)
	if err != nil {
		return err
	}
	var id string
	if id, err = r.Current(ctx); err == nil && step == "restore" {
		_, err = r.Restore(ctx, id)
	} else if err == nil {
		_, err = r.GC(ctx, &repo.GCOptions{Keep: 1})
	}
	return errors.Join(err, r.Close())
}

// withStore verifies a manifest, or exports it, builds a manifest of the export, and compares its values.
func (j *journey) withStore(ctx context.Context, step, out, temp string) error {
	s, err := store.Open(ctx, out, &store.Options{Trusted: true})
	if err != nil {
		return err
	}
	defer s.Close()
	dest := temp
	switch step {
	case "verify":
		r, err := verify.Verify(ctx, s, &verify.Options{Deep: true})
		if err == nil && len(r.Problems) > 0 {
			err = errors.New(r.Problems[0].String())
		}
		return err
	case "kerchunk", "kerchunk regular":
		dest += ".json"
		_, err = kerchunk.Write(ctx, s, dest, &kerchunk.Options{Regular: step != "kerchunk"})
	case "parquet":
		dest += ".parquet"
		_, err = kerchunk.Write(ctx, s, dest, &kerchunk.Options{Regular: true})
	case "zarr":
		dest += ".zarr"
		_, err = zarr.Write(ctx, s, dest, &zarr.Options{})
	case "icechunk":
		var r *repo.Repository
		if r, err = repo.Open(ctx, out); err == nil {
			_, err = icechunk.Write(ctx, s, dest, &icechunk.Options{Manifest: r})
			err = errors.Join(err, r.Close())
		}
	}
	if err != nil {
		return err
	}
	again := temp + ".varve"
	opts := optionsFor(dest)
	opts.Allow = []string{filepath.Dir(j.folder), filepath.Dir(temp)}
	if _, err := Build(ctx, again, opts); err != nil {
		return fmt.Errorf("building from the export: %w", err)
	}
	return j.compare(ctx, again)
}

// compare reports an error unless a manifest has the values of the archive.
func (j *journey) compare(ctx context.Context, out string) error {
	s, err := store.Open(ctx, out, &store.Options{Trusted: true})
	if err != nil {
		return err
	}
	defer s.Close()
	got, _, err := numbersOf(ctx, s, "/v", true)
	if err != nil {
		return err
	}
	if !slices.EqualFunc(got, j.archive.want, same) {
		return fmt.Errorf("%s: the values of v are %v, not %v", out, got, j.archive.want)
	}
	for k, name := range j.archive.dims {
		got, a, err := numbersOf(ctx, s, "/"+name, false)
		if err != nil {
			return err
		}
		if units, ok := a.Schema().Attributes.Get("units"); ok {
			for i := range got {
				got[i] = decodeTime(got[i], string(units[1:len(units)-1]))
			}
		}
		if !slices.Equal(got, j.archive.axes[k]) {
			return fmt.Errorf("%s: %s is %v, not %v", out, name, got, j.archive.axes[k])
		}
	}
	return nil
}

// numbersOf reads an array as numbers.
func numbersOf(ctx context.Context, s *store.Store, path string, decode bool) ([]float64, *store.Array, error) {
	a, err := s.Array(path)
	if err != nil {
		return nil, nil, err
	}
	d, err := present.NewDecoder(a, &present.DecoderOptions{Packed: !decode})
	if err != nil {
		return nil, nil, err
	}
	shape := a.Schema().Shape
	e := codec.NewElems(codec.Form{Type: a.Schema().DataType.Type(), Shape: shape})
	if err := a.ReadRegion(ctx, grid.Whole(shape), e); err != nil {
		return nil, nil, err
	}
	values := make([]float64, len(e.Fixed)/a.Schema().DataType.Type().Size)
	d.Float64s(values, e.Fixed)
	return values, a, nil
}

// reduced leaves out steps and joins parts while the journey still fails.
func (j *journey) reduced(t *testing.T) (*journey, error) {
	best := *j
	err := best.run(t.Context(), t.TempDir())
	for i := 0; i < len(best.steps); {
		less := best
		less.steps = slices.Delete(slices.Clone(best.steps), i, i+1)
		if e := less.run(t.Context(), t.TempDir()); e != nil {
			best, err = less, e
		} else {
			i++
		}
	}
	for len(best.parts) > 1 {
		less := best
		less.parts = append([][]string{append(slices.Clone(best.parts[0]), best.parts[1]...)}, best.parts[2:]...)
		e := less.run(t.Context(), t.TempDir())
		if e == nil {
			break
		}
		best, err = less, e
	}
	return &best, err
}

// TestJourneys: any grouping of appends, and then compact, relocate and back, restore, gc, verify, and exports from which
// manifests are built, leave the same values.
func TestJourneys(t *testing.T) {
	configured(t)
	for seed := range soak.Seeds(t, 5) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			j := newJourney(t, seed)
			if err := j.run(t.Context(), t.TempDir()); err == nil {
				return
			}
			less, err := j.reduced(t)
			t.Errorf("seed %d: parts %q, then %s: %v", seed, less.parts, strings.Join(less.steps, ", "), err)
		})
	}
}
