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
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"varve/manifest"
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
	return update(ctx, dir, checked, func(r *revision) (err error) {
		if r.names, err = r.opts.stored(names); err != nil {
			return err
		}
		r.named = setOf(r.names)
		if checked.SkipBroken {
			r.leaveSkipped()
		}
		if err := r.checkRemoved(); err != nil {
			return err
		}
		return r.findChanged(ctx, nil)
	})
}

// MaxDeleteError says that Sync would remove more sources than Options.MaxDelete allows.
type MaxDeleteError struct {
	Removed, Of int64  // the number of sources to remove, and of all
	First       string // one of the sources to remove
	Percent     int    // Options.MaxDelete
}

// Error returns the numbers and the limit.
func (e *MaxDeleteError) Error() string {
	return fmt.Sprintf("%d of %d sources would be removed, such as %s (more than %d %%): nothing was written", e.Removed, e.Of, source.Shown(e.First), e.Percent)
}

// checkRemoved returns an error if more sources would be removed than the options allow. Then a disk is probably not
// mounted, or a listing is incomplete.
func (r *revision) checkRemoved() error {
	most := r.opts.MaxDelete
	removed, all := r.differences().Removed, int64(len(r.old.byName))
	n := int64(len(removed))
	if most == nil || n*100 <= int64(*most)*all {
		return nil
	}
	err := &MaxDeleteError{Removed: n, Of: all, First: removed[0], Percent: *most}
	return manifest.WithRemedy(err, "max-delete", strconv.FormatInt((n*100+all-1)/all, 10))
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
	var named []string
	if !checked.Sources.isEmpty() {
		if named, err = checked.Sources.Expand(ctx); err != nil {
			return nil, err
		}
	}
	return update(ctx, dir, checked, func(r *revision) error {
		r.names = r.old.names()
		names, err := r.opts.stored(named)
		if err != nil {
			return err
		}
		var only map[string]bool // nil means all
		if !r.opts.Sources.isEmpty() {
			only = setOf(names)
		}
		r.named = only
		for name := range only {
			if r.old.byName[name] == nil {
				return fmt.Errorf("%s: %w", source.Shown(name), ErrNoSource)
			}
		}
		return r.findChanged(ctx, only)
	})
}

func setOf(names []string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
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
	named    map[int][]int             // see namers; nil until it is needed
	unused   map[int][]int             // rows of hidden files that neither Parts nor refs name, by the row of their namer; set with named
	hiddenAt map[string][]int          // rows of hidden files, by the names of files; nil until it is needed
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
	named   map[string]bool // the sources that the user named
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
	own, err := opts.revised(built)
	if err != nil {
		return nil, err
	}
	reader, err := table.Open(snapshot.Tables, table.InRepository(repository), table.NewCache(refCache))
	if err != nil {
		return nil, err
	}
	old := &oldFiles{snapshot: snapshot, reader: reader, byName: map[string]*manifest.File{}}
	j := newJob(repository, own)
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
	if err := j.guard(repository, snapshot); err != nil {
		return nil, closing(reader, err)
	}
	r := &revision{job: j, old: old, changed: map[string]bool{}}
	if err := choose(r); err != nil {
		return nil, closing(reader, err)
	}
	out := r.differences()
	if !out.IsNew() {
		out.Snapshot, out.Report = snapshot, &report.Report{}
		r.noteStored(old.files, out.Report)
		return out, reader.Close()
	}
	if names := out.Added; len(out.Replaced)+len(out.Removed) == 0 {
		// Files are appended faster, because an append may leave the old ones out of the plan.
		a, err := newAppend(repository, own, snapshot, reader)
		var made *Result
		if err == nil {
			made, err = a.run(ctx, names)
		}
		if made != nil {
			out.Result = *made
		}
		if err = closing(reader, err); err != nil {
			return out, err
		}
		if err := a.addChecksums(ctx, out.Snapshot, snapshot); err != nil {
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
		r.noteStored(r.files, made.Report)
	}
	if err = closing(reader, err); err != nil {
		return out, err
	}
	if err := j.addChecksums(ctx, out.Snapshot, snapshot); err != nil {
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

// findChanged finds the known sources that have changed, or that name a file which has. If only is given, it looks at its
// sources alone. A source that cannot be read counts as changed, so that the scan reports it.
func (r *revision) findChanged(ctx context.Context, only map[string]bool) error {
	var known []*manifest.File
	for _, name := range r.names {
		if f := r.old.byName[name]; f != nil && (only == nil || only[name]) {
			known = append(known, f)
		}
	}
	changed := make([]bool, len(known))
	err := r.lookUp(ctx, len(known), func(within context.Context, k *keeping, i int) error {
		k, err := r.mayRead(k, known[i].URL)
		if err != nil {
			return err
		}
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
	return r.findChangedHidden(ctx, known)
}

// mayRead returns k, restricted to the sources that the user may read unless the user named this one. Whoever built the
// manifest chose the others.
func (r *revision) mayRead(k *keeping, name string) (*keeping, error) {
	if r.named[name] {
		return k, nil
	}
	return &keeping{job: r.job, opener: r.guarded.Opener}, r.access.Check(source.Outer(name))
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
	copied := newCopying(r, sink)
	for from := 0; from < len(r.names); {
		stays, isNamed := r.stays(r.names[from]), r.isNamed(r.names[from])
		to := from + 1
		for to < len(r.names) && r.stays(r.names[to]) == stays && r.isNamed(r.names[to]) == isNamed {
			to++
		}
		if stays {
			err = copied.sources(ctx, r.names[from:to])
		} else {
			err = r.scanSome(ctx, r.names[from:to], sink)
		}
		if err != nil {
			return r.refused(err), err
		}
		for _, f := range r.files[len(r.foreign):] {
			// The old snapshot says which files belong to a file that stays.
			r.foreign = append(r.foreign, !isNamed || stays && f.Hidden)
		}
		from = to
	}
	if err := r.tables.closeRefs(); err != nil {
		return nil, err
	}
	r.kept = copied.newRow
	made, err := r.plan(ctx, what)
	if err == nil {
		err = r.carryPoints(ctx, made.Snapshot)
	}
	return made, err
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

// stays reports whether the scan of a source is taken from the old snapshot.
func (r *revision) stays(name string) bool { return r.old.byName[name] != nil && !r.changed[name] }

// isNamed reports whether the user named a source.
func (r *revision) isNamed(name string) bool { return r.named[name] }

// scanSome scans sources. The user named all of them, or none. Their files follow those that the job already has.
func (r *revision) scanSome(ctx context.Context, names []string, sink *refSink) error {
	// Restart is hidden, because the sink has rows of other sources.
	how := r.scanOptions(struct{ scan.RefSink }{sink})
	if !r.isNamed(names[0]) {
		how.Opener, how.Readers = r.guarded.Opener, r.guarded.readers
		for _, name := range names {
			if err := r.access.Check(source.Outer(name)); err != nil {
				return err
			}
		}
	}
	found, err := scan.Scan(ctx, names, how)
	if err != nil {
		return r.opts.Sources.matchOthers(err, r.names)
	}
	r.files, r.broken = append(r.files, found.Files...), append(r.broken, found.Broken...)
	return nil
}
