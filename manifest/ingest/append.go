package ingest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"varve/grid"
	"varve/manifest"
	"varve/manifest/internal/planner"
	"varve/manifest/internal/table"
	"varve/manifest/plan"
	"varve/manifest/repo"
	"varve/manifest/report"
)

// Append adds sources to the manifest dir. If the new files come after all others and agree with
// them, the cost depends only on the new files. Otherwise it plans all files again from their
// stored headers and coordinates. If dir is no manifest, the error wraps fs.ErrNotExist.
func Append(ctx context.Context, dir string, opts *Options) (*Result, error) {
	opts, err := opts.checked()
	if err != nil {
		return nil, err
	}
	names, err := opts.Sources.Expand(ctx)
	if err != nil {
		return nil, err
	}
	return revise(ctx, dir, func(ctx context.Context, r *repo.Repository, old *manifest.Snapshot, built *plan.Options) (*Result, error) {
		return appendIn(ctx, r, old, built, names, opts)
	})
}

func appendIn(ctx context.Context, repository *repo.Repository, old *manifest.Snapshot, built *plan.Options, names []string, opts *Options) (*Result, error) {
	own := opts
	if old.Options != nil {
		var err error
		if own, err = opts.revised(built); err != nil {
			return nil, err
		}
	}
	names, err := own.stored(names)
	if err != nil {
		return nil, err
	}
	reader, err := table.Open(old.Tables, table.InRepository(repository), table.NewCache(refCache))
	if err != nil {
		return nil, err
	}
	a, err := newAppend(repository, own, old, reader)
	var outcome *Result
	if err == nil {
		outcome, err = a.run(ctx, names)
	}
	if err = closing(reader, err); err != nil || outcome.Snapshot == old {
		return outcome, err
	}
	if err := a.addChecksums(ctx, outcome.Snapshot, old); err != nil {
		return nil, err
	}
	if err := fold(ctx, repository, outcome.Snapshot); err != nil {
		return nil, err
	}
	return outcome, repository.Publish(ctx, outcome.Snapshot, old.ID)
}

// appending is a job that extends a snapshot.
type appending struct {
	*job
	reader *table.Reader    // of the old snapshot's tables
	asked  []*manifest.File // old files that the plan compares with new ones
	passed int64            // the number of sources that the manifest has already
}

func newAppend(repository *repo.Repository, opts *Options, old *manifest.Snapshot, reader *table.Reader) (*appending, error) {
	j := newJob(repository, opts)
	j.old, j.tables.kept, j.generation = old, old.Tables, min(j.generation, old.Generation)
	return &appending{job: j, reader: reader}, j.guard(repository, old)
}

func (a *appending) run(ctx context.Context, names []string) (*Result, error) {
	if a.opts.SkipKnown {
		var err error
		if names, err = a.unknown(ctx, names); err != nil {
			return nil, err
		}
		// Nothing is new, so no snapshot is published.
		if len(names) == 0 {
			out := &Result{Snapshot: a.old, Report: &report.Report{}}
			a.notePassed(out.Report)
			return out, nil
		}
	}
	defer a.abort()
	if err := a.scan(ctx, names); err != nil {
		return a.refused(err), err
	}
	what := "append 1 file"
	if n := shown(a.files); n != 1 {
		what = fmt.Sprintf("append %d files", n)
	}
	var why report.Replan
	var err error
	if !a.opts.Replan {
		// Try to extend the old plan first, because that reads no old file. If it does not apply,
		// the old headers and values are loaded below and everything is planned again.
		var extension *planner.Extension
		if extension, why, err = a.extension(ctx); err != nil {
			return refusedPlan(err, int64(len(a.files))), err
		}
		if extension != nil {
			out, err := a.extend(ctx, what, extension)
			if err == nil {
				a.noteStored(a.asked, out.Report)
			}
			return out, err
		}
	}
	out, err := a.planAll(ctx, what)
	if err == nil {
		a.notePassed(out.Report)
		a.noteReplanned(out.Report, why)
		a.noteStored(a.before, out.Report)
	}
	return out, err
}

// planAll plans the old files and the new ones.
func (a *appending) planAll(ctx context.Context, what string) (out *Result, err error) {
	if a.before, err = a.reader.Files(ctx, manifest.NewShared()); err != nil {
		return nil, err
	}
	// A new plan places all files again; all other old rows remain valid.
	a.tables.kept = slices.DeleteFunc(slices.Clone(a.old.Tables), func(t manifest.Table) bool { return t.Kind == manifest.Tiles })
	return a.plan(ctx, what)
}

// noteReplanned reports why all files were planned again, unless the caller asked for that.
func (a *appending) noteReplanned(r *report.Report, why report.Replan) {
	// The new plan knows the reason why the old one has no state, unless an earlier version made the old one.
	if why == report.ReplanNoState && a.stateless != "" {
		why = a.stateless
	}
	if why != "" {
		n := shown(a.before) + shown(a.files)
		r.Add(report.Finding{Code: report.Replanned, Effect: report.Noted, Count: n, Args: report.Args{"reason": string(why)}})
	}
}

// extension plans the new files after the old ones. Of the old files it loads only samples. It returns nil and a
// reason if all files must be planned again.
func (a *appending) extension(ctx context.Context) (*planner.Extension, report.Replan, error) {
	rows, why, err := planner.Samples(a.old, a.files)
	if err != nil || why != "" {
		return nil, why, err
	}
	samples, err := a.reader.FilesAt(ctx, rows)
	if err != nil {
		return nil, "", err
	}
	a.asked = samples
	opts := a.opts.Plan
	opts.ValueBytes = a.opts.ValueBytes
	return planner.Extend(ctx, a.old, samples, a.files, &opts, a.load(slices.Concat(samples, a.files)))
}

// extend makes the snapshot for files that come after all others.
func (a *appending) extend(ctx context.Context, what string, x *planner.Extension) (*Result, error) {
	out := &Result{Report: &report.Report{}, Files: int64(len(a.files))}
	if err := a.noteQueries(ctx, out.Report); err != nil {
		return refusedPlan(err, out.Files), err
	}
	if err := a.foldPieces(ctx, x); err != nil {
		return nil, err
	}
	snap := *a.old
	snap.Message, snap.Writer, snap.State, snap.Arrays = cmp.Or(a.opts.Message, what), a.opts.Writer, x.State, x.Arrays
	snap.Created, snap.ID, snap.Generation = time.Time{}, "", a.generation
	snap.Sources += shown(a.files)
	snap.Placements = nil
	if len(a.opts.Plan.KeepQuery) > 0 {
		var err error
		if snap.Options, err = a.opts.encode(); err != nil {
			return nil, err
		}
	}
	c := &content{known: a.stored(ctx), files: a.files, placements: x.Placements, values: x.Values}
	if err := a.tables.write(ctx, &snap, c); err != nil {
		return nil, err
	}
	snap.Placements = joined(a.old.Placements, snap.Placements)
	if err := a.countNew(ctx, &snap, x, out.Report); err != nil {
		return refusedPlan(err, int64(len(a.files))), err
	}
	out.Snapshot = &snap
	a.noteBroken(&snap, out.Report)
	a.notePassed(out.Report)
	a.seal(&snap, out.Report)
	return out, nil
}

// joined appends the new segments of placements to the old ones.
func joined(old, more []manifest.PlacementTable) []manifest.PlacementTable {
	out := slices.Clone(old)
	for i := range out {
		at := slices.IndexFunc(more, func(p manifest.PlacementTable) bool { return p.ID == out[i].ID })
		if at >= 0 {
			out[i].Segments = append(slices.Clip(out[i].Segments), more[at].Segments...)
		}
	}
	return out
}

// stored returns a function that reports whether the old tables have a row. It looks up each ID,
// because the old rows are not in memory.
func (a *appending) stored(ctx context.Context) func(manifest.TableKind, string) (bool, error) {
	return func(kind manifest.TableKind, id string) (bool, error) {
		var err error
		switch kind {
		case manifest.Headers:
			_, err = a.reader.Header(ctx, id)
		case manifest.Groups:
			_, err = a.reader.Groups(ctx, id)
		default:
			_, err = a.reader.Values(ctx, id)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		return err == nil, err
	}
}

// countNew adds the chunks of new tiles to the old counts. With Strict it refuses new chunks that have to be re-encoded, as
// refuseReencoded does for a plan of all files: the old files have none.
func (a *appending) countNew(ctx context.Context, snap *manifest.Snapshot, x *planner.Extension, r *report.Report) error {
	l, err := a.chunksOfFiles(snap.Tables, x.Placements, files{a.files, a.old.Rows(manifest.Sources)}, nil)
	if err != nil {
		return err
	}
	refused := &plan.Error{}
	for i := range snap.Arrays { // the old arrays, in the same order
		array, old := &snap.Arrays[i], &a.old.Arrays[i]
		masked, err := l.countBehind(ctx, array, old)
		if err != nil {
			return closing(l, fmt.Errorf("%s: %w", array.Path, err))
		}
		l.addMasked(r, array, masked, snap.Sources)
		if !a.opts.Plan.Strict || array.Chunks.Reencoded == old.Chunks.Reencoded {
			continue
		}
		f, err := l.strictFinding(ctx, array, old, snap.Sources)
		if err != nil {
			return closing(l, fmt.Errorf("%s: %w", array.Path, err))
		}
		refused.Findings = append(refused.Findings, f)
	}
	if len(refused.Findings) > 0 {
		return closing(l, refused)
	}
	return l.Close()
}

// countBehind counts only chunks beyond the old end of an array. planner.Extend grows arrays only at
// the end of whole chunks, so the old counts remain valid.
func (l *planChunks) countBehind(ctx context.Context, array, old *manifest.Array) (masked []int64, err error) {
	m, err := l.mosaic(array)
	if m == nil || err != nil {
		return nil, err
	}
	chunks, err := behind(m.Grid(), old.Schema.Shape)
	if err != nil {
		return nil, err
	}
	added, masked, err := l.countIn(ctx, m, chunks)
	if err != nil {
		return nil, err
	}
	array.Chunks = manifest.Counts{
		Verbatim: old.Chunks.Verbatim + added.Verbatim, Prefix: old.Chunks.Prefix + added.Prefix,
		Reencoded: old.Chunks.Reencoded + added.Reencoded, Missing: old.Chunks.Missing + added.Missing, Patched: old.Chunks.Patched,
	}
	return masked, nil
}

// behind returns the chunks that an array has gained since it had an older shape.
func behind(g *grid.Grid, old []int64) (grid.Region, error) {
	chunks := grid.Whole(g.Counts()).Clone()
	grown := 0
	for axis, n := range g.Shape() {
		if n == old[axis] {
			continue
		}
		first, err := g.Dim(axis).Find(old[axis])
		if err != nil {
			return chunks, err
		}
		// Only planner.Extend grows arrays, and it keeps these rules.
		begin, _ := g.Dim(axis).Offset(first)
		if grown++; grown > 1 || begin != old[axis] {
			return chunks, fmt.Errorf("an array of shape %v grew to %v within a chunk", old, g.Shape())
		}
		chunks.Origin[axis], chunks.Shape[axis] = first, chunks.Shape[axis]-first
	}
	return chunks, nil
}
