package ingest

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sort"
	"strings"

	"golang.org/x/sync/errgroup"

	"varve/manifest"
	"varve/manifest/internal/patches"
	"varve/manifest/internal/table"
	"varve/manifest/plan"
	"varve/manifest/repo"
	"varve/manifest/report"
	"varve/manifest/scan"
	"varve/readers/source"
)

// ErrNoSource means that a file is no source of the manifest.
var ErrNoSource = errors.New("the manifest has no such source")

// SyncResult says what Sync, Refresh or Remove did.
type SyncResult struct {
	Result
	Added, Replaced, Removed []string // sources; if all are empty, no snapshot was made
	Kept                     int64    // the number of sources that were not scanned again
}

// IsNew reports whether a snapshot was made.
func (r *SyncResult) IsNew() bool { return len(r.Added)+len(r.Replaced)+len(r.Removed) > 0 }

// Sync makes a manifest hold exactly the given sources: it adds new ones, scans changed ones again, and removes the
// others. Unchanged sources are not read. If nothing differs, it makes no snapshot. The options with which the manifest was
// built apply, unless Replan is set.
func Sync(ctx context.Context, dir string, opts *Options) (*SyncResult, error) {
	checked, err := opts.checked()
	if err != nil {
		return nil, err
	}
	names, err := checked.Sources.Expand(ctx)
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		// An empty folder is more likely to be an unmounted disk than the wish to remove everything.
		return nil, ErrNoFiles
	}
	return update(ctx, dir, checked, func(r *revision) error {
		r.names = names
		if checked.SkipBroken {
			r.leaveSkipped()
		}
		return r.findChanged(ctx, nil)
	})
}

// leaveSkipped leaves out the sources that an earlier build could not read, since each sync would make a snapshot
// otherwise.
func (r *revision) leaveSkipped() {
	known := map[string]manifest.Skipped{}
	for _, s := range r.old.snapshot.Skipped {
		known[s.URL] = s
	}
	r.names = slices.DeleteFunc(slices.Clone(r.names), func(name string) bool {
		s, ok := known[name]
		if ok {
			r.skipped = append(r.skipped, s)
		}
		return ok
	})
}

// Refresh scans the sources of a manifest again that have changed. If sources are given, it looks at these only.
func Refresh(ctx context.Context, dir string, opts *Options) (*SyncResult, error) {
	checked, err := opts.checked()
	if err != nil {
		return nil, err
	}
	var only map[string]bool
	if !checked.Sources.isEmpty() {
		names, err := checked.Sources.Expand(ctx)
		if err != nil {
			return nil, err
		}
		only = make(map[string]bool, len(names))
		for _, name := range names {
			only[name] = true
		}
	}
	return update(ctx, dir, checked, func(r *revision) error {
		r.names = r.old.names()
		for name := range only {
			if r.old.byName[name] == nil {
				return fmt.Errorf("%s: %w", source.Shown(name), ErrNoSource)
			}
		}
		return r.findChanged(ctx, only)
	})
}

// Chooser says which sources of a manifest to remove: one answer for each.
type Chooser func(files []*manifest.File) (gone []bool, err error)

// Remove makes a manifest without the chosen sources. It refuses to remove all.
func Remove(ctx context.Context, dir string, choose Chooser, opts *Options) (*SyncResult, error) {
	checked, err := opts.checked()
	if err != nil {
		return nil, err
	}
	return update(ctx, dir, checked, func(r *revision) error {
		named := slices.DeleteFunc(slices.Clone(r.old.files), func(f *manifest.File) bool { return f.Hidden })
		gone, err := choose(named)
		if err != nil {
			return err
		}
		for i, f := range named {
			if !gone[i] {
				r.names = append(r.names, f.URL)
			}
		}
		if len(r.names) == 0 {
			return errors.New("all sources would be removed: delete the manifest instead")
		}
		return nil
	})
}

// oldFiles are the sources of the snapshot that is replaced.
type oldFiles struct {
	snapshot *manifest.Snapshot
	reader   *table.Reader
	files    []*manifest.File
	byName   map[string]*manifest.File // without hidden files
}

func (o *oldFiles) names() (names []string) {
	for _, f := range o.files {
		if !f.Hidden {
			names = append(names, f.URL)
		}
	}
	return names
}

// revision is a new snapshot made of sources of the old one, and others.
type revision struct {
	*job
	old     *oldFiles
	names   []string        // the sources of the new snapshot, in their order
	changed map[string]bool // known sources to scan again
	skipped []manifest.Skipped
	moves   []rowMove // of the refs of sources that stay, by their old rows
}

// rowMove says where the rows of some refs are in the new table.
type rowMove struct{ from, to, by int64 }

// update makes a new snapshot of the sources that choose selects. It starts over if another process publishes one.
func update(ctx context.Context, dir string, opts *Options, choose func(*revision) error) (*SyncResult, error) {
	return revise(ctx, dir, func(ctx context.Context, r *repo.Repository, old *manifest.Snapshot, built *plan.Options) (*SyncResult, error) {
		return updateIn(ctx, r, old, built, opts, choose)
	})
}

func updateIn(ctx context.Context, repository *repo.Repository, snapshot *manifest.Snapshot, built *plan.Options, opts *Options, choose func(*revision) error) (*SyncResult, error) {
	own := *opts
	if !opts.Replan {
		own.Plan = *built
	}
	reader, err := table.Open(snapshot.Tables, table.InRepository(repository), table.NewCache(refCache))
	if err != nil {
		return nil, err
	}
	old := &oldFiles{snapshot: snapshot, reader: reader, byName: map[string]*manifest.File{}}
	j := newJob(repository, &own)
	defer j.abort()
	if old.files, err = reader.Files(ctx, j.shared); err != nil {
		return nil, closing(reader, err)
	}
	for _, f := range old.files {
		if !f.Hidden {
			old.byName[f.URL] = f
		}
	}
	j.replaced = snapshot
	r := &revision{job: j, old: old, changed: map[string]bool{}}
	if err := choose(r); err != nil {
		return nil, closing(reader, err)
	}
	out := r.differences()
	if !out.IsNew() {
		out.Snapshot, out.Report = snapshot, &report.Report{}
		return out, reader.Close()
	}
	if names := out.Added; len(out.Replaced)+len(out.Removed) == 0 {
		// Files are appended faster, because an append may leave the old ones out of the plan.
		a, err := newAppend(repository, &own, snapshot, reader).run(ctx, names)
		if a != nil {
			out.Result = *a
		}
		if err = closing(reader, err); err != nil {
			return out, err
		}
		if err := addChecksums(ctx, repository, out.Snapshot, snapshot, &own); err != nil {
			return out, err
		}
		if err := fold(ctx, repository, out.Snapshot); err != nil {
			return nil, err
		}
		return out, repository.Publish(ctx, out.Snapshot, snapshot.ID)
	}
	made, err := r.make(ctx, out.message())
	if made != nil {
		out.Result = *made
	}
	if made != nil && made.Snapshot != nil {
		made.Snapshot.Skipped = slices.Concat(r.skipped, made.Snapshot.Skipped)
	}
	if err = closing(reader, err); err != nil {
		return out, err
	}
	if err := addChecksums(ctx, repository, out.Snapshot, snapshot, &own); err != nil {
		return out, err
	}
	return out, repository.Publish(ctx, out.Snapshot, snapshot.ID)
}

// differences compares the new sources with the old ones.
func (r *revision) differences() *SyncResult {
	out := &SyncResult{}
	stays := make(map[string]bool, len(r.names))
	for _, name := range r.names {
		stays[name] = true
		switch {
		case r.old.byName[name] == nil:
			out.Added = append(out.Added, name)
		case r.changed[name]:
			out.Replaced = append(out.Replaced, name)
		default:
			out.Kept++
		}
	}
	for _, f := range r.old.files {
		if !f.Hidden && !stays[f.URL] {
			out.Removed = append(out.Removed, f.URL)
		}
	}
	return out
}

// message describes the change in the history.
func (r *SyncResult) message() string {
	var parts []string
	for _, p := range []struct {
		verb  string
		names []string
	}{{"add", r.Added}, {"replace", r.Replaced}, {"remove", r.Removed}} {
		switch n := len(p.names); n {
		case 0:
		case 1:
			parts = append(parts, p.verb+" 1 file")
		default:
			parts = append(parts, fmt.Sprintf("%s %d files", p.verb, n))
		}
	}
	return strings.Join(parts, ", ")
}

// findChanged finds the known sources that have changed. If only is given, it looks at its sources alone. A source that
// cannot be read counts as changed, so that the scan reports it.
func (r *revision) findChanged(ctx context.Context, only map[string]bool) error {
	var known []*manifest.File
	for _, name := range r.names {
		if f := r.old.byName[name]; f != nil && (only == nil || only[name]) {
			known = append(known, f)
		}
	}
	changed := make([]bool, len(known))
	err := r.lookUp(ctx, len(known), func(within context.Context, k *keeping, i int) error {
		changed[i] = !k.isUnchanged(within, known[i].Source)
		return within.Err()
	})
	if err != nil {
		return err
	}
	for i, f := range known {
		if changed[i] {
			r.changed[f.URL] = true
		}
	}
	return nil
}

// lookUp calls a function for n sources, many at a time, which asks for their identities.
func (r *revision) lookUp(ctx context.Context, n int, ask func(ctx context.Context, k *keeping, i int) error) error {
	k := &keeping{job: r.job, opener: r.opts.Opener}
	if k.opener == nil {
		k.opener = source.NewOpener(nil)
		defer k.opener.Close()
	}
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(max(identitiesAtATime, runtime.GOMAXPROCS(0)))
	for i := range n {
		group.Go(func() error { return ask(within, k, i) })
	}
	return group.Wait()
}

// make plans all sources and writes their tables. The files are in the order of names, as in a build.
func (r *revision) make(ctx context.Context, what string) (*Result, error) {
	sink, err := r.tables.refSink(ctx)
	if err != nil {
		return nil, err
	}
	r.generation = min(r.generation, r.old.snapshot.Generation)
	inline := map[int64]int64{} // the new rows of inline chunks, by the old ones
	for from := 0; from < len(r.names); {
		stays := r.stays(r.names[from])
		to := from + 1
		for to < len(r.names) && r.stays(r.names[to]) == stays {
			to++
		}
		if stays {
			err = r.copyOld(ctx, r.names[from:to], sink, inline)
		} else {
			err = r.scanSome(ctx, r.names[from:to], sink)
		}
		if err != nil {
			return r.refused(err), err
		}
		from = to
	}
	if err := r.tables.closeRefs(); err != nil {
		return nil, err
	}
	r.kept = r.keptRows()
	made, err := r.plan(ctx, what)
	if err == nil {
		err = r.carryPoints(ctx, made.Snapshot)
	}
	return made, err
}

// keptRows returns a function that finds the new rows of the sources that stay.
func (r *revision) keptRows() patches.Kept {
	rows := make(map[string]int, len(r.files))
	for i, f := range r.files {
		if !f.Hidden && r.stays(f.URL) {
			rows[f.URL] = i
		}
	}
	return func(row int) int {
		if row >= len(r.old.files) || r.old.files[row].Hidden {
			return -1
		}
		if at, ok := rows[r.old.files[row].URL]; ok {
			return at
		}
		return -1
	}
}

// carryPoints copies the access points of the sources that stay.
func (r *revision) carryPoints(ctx context.Context, snap *manifest.Snapshot) error {
	if !r.old.reader.HasPoints() {
		return nil
	}
	slices.SortFunc(r.moves, func(a, b rowMove) int { return cmp.Compare(a.from, b.from) })
	to := func(ref int64) (int64, bool) {
		i := sort.Search(len(r.moves), func(i int) bool { return r.moves[i].from > ref }) - 1
		if i < 0 || ref >= r.moves[i].to {
			return 0, false
		}
		return ref + r.moves[i].by, true
	}
	file, err := r.repo.NewTable(ctx, manifest.Points)
	if err != nil {
		return err
	}
	defer file.Abort() // does nothing after Commit
	buffer := bufio.NewWriterSize(file, bufferBytes)
	rows, err := r.old.reader.MovePoints(ctx, to, buffer)
	if err = errors.Join(err, buffer.Flush()); err != nil || rows == 0 {
		return err
	}
	t, err := file.Commit()
	t.Rows = rows
	snap.Tables = append(slices.Clip(snap.Tables), t)
	return err
}

// stays reports whether the scan of a source is taken from the old snapshot. A source that names other files is scanned
// again, because the snapshot does not show whether these have changed.
func (r *revision) stays(name string) bool {
	f := r.old.byName[name]
	return f != nil && !r.changed[name] && len(f.Parts) == 0
}

// scanSome scans sources. Their files follow those that the job already has.
func (r *revision) scanSome(ctx context.Context, names []string, sink *refSink) error {
	// Restart is hidden, because the sink has rows of other sources.
	found, err := scan.Scan(ctx, names, r.scanOptions(struct{ scan.RefSink }{sink}))
	if err != nil {
		return err
	}
	r.files, r.broken = append(r.files, found.Files...), append(r.broken, found.Broken...)
	return nil
}

// copyOld copies files and their refs from the old snapshot, with the inline chunks that the refs use.
func (r *revision) copyOld(ctx context.Context, names []string, sink *refSink, inline map[int64]int64) error {
	ends := make(map[*manifest.File]int64, len(r.old.files))
	end := r.old.reader.Rows(manifest.Refs)
	for _, f := range slices.Backward(r.old.files) {
		ends[f], end = end, f.Row
	}
	for from := 0; from < len(names); {
		first := r.old.byName[names[from]]
		files, end := []*manifest.File{first}, ends[first]
		for from++; from < len(names); from++ {
			next := r.old.byName[names[from]]
			if next.Row != end {
				break
			}
			files, end = append(files, next), ends[next]
		}
		moved := r.tables.refRows() - first.Row
		r.moves = append(r.moves, rowMove{first.Row, end, moved})
		if err := r.copyRefs(ctx, first.Row, end-first.Row, sink, inline); err != nil {
			return err
		}
		if err := copyFilePoints(ctx, r.old.reader, files, moved, sink); err != nil {
			return err
		}
		for _, f := range files {
			copied := *f // a conflict may start the update again
			copied.Row += moved
			r.files = append(r.files, &copied)
		}
	}
	return nil
}

func (r *revision) copyRefs(ctx context.Context, row, rows int64, sink *refSink, inline map[int64]int64) error {
	if rows == 0 {
		return nil
	}
	for batch, err := range r.old.reader.ScanRefs(ctx, row, rows) {
		if err != nil {
			return err
		}
		for i, at := range batch.Offsets {
			was, ok := (manifest.Ref{Offset: at}).Inline()
			if !ok {
				continue
			}
			is, ok := inline[was]
			if !ok {
				data, err := r.old.reader.Inline(ctx, was)
				if err != nil {
					return err
				}
				if is, err = sink.Inline(data); err != nil {
					return err
				}
				inline[was] = is
			}
			batch.Offsets[i] = manifest.InlineRow(is)
		}
		if err := sink.Append(&batch.RefColumns); err != nil {
			return err
		}
	}
	return nil
}
