package ingest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"os"
	"slices"
	"strings"

	"varve/manifest"
	"varve/manifest/internal/patches"
	"varve/manifest/internal/planner"
	"varve/manifest/plan"
	"varve/manifest/repo"
	"varve/manifest/report"
	"varve/manifest/scan"
	"varve/manifest/store"
	"varve/readers"
	"varve/readers/formats"
	"varve/readers/source"
	"varve/readers/source/atomicfile"
)

// job is a build in progress.
type job struct {
	repo   *repo.Repository
	opts   *readOptions
	tables *tables

	old      *manifest.Snapshot // the snapshot to append to, or nil
	replaced *manifest.Snapshot // the snapshot from which unchanged sources are taken, or nil
	kept     patches.Kept       // the rows that these sources have now; nil if old ones keep their rows

	access  *store.Access // to the sources that the old snapshot or parts name; nil if there are neither
	guarded *readOptions  // to read these sources
	foreign []bool        // by file: the old snapshot or a part names it, and not the user; false for files behind the last one
	sealed  []string      // the places of the user's own parts

	generation int              // the lowest generation of varve that scanned any of the sources
	before     []*manifest.File // files of the old snapshot, if they had to be read
	files      []*manifest.File // new files
	broken     []scan.Broken
	shared     *manifest.Shared // headers and values that the files of scan parts share
	stateless  report.Replan    // why the plan has no state for appends
}

// readOptions are options to read sources with one set of readers, which follow from them.
type readOptions struct {
	*Options
	readers *formats.Readers
}

// newReadOptions copies the options, so that a later change does not make them differ from the readers.
func newReadOptions(opts *Options) *readOptions {
	own := *opts
	own.Allow = slices.Concat(own.Allow, formats.Places(own.Plan.Formats))
	return &readOptions{&own, formats.New(&readers.Config{Allow: own.Allow, Opener: own.Opener, Settings: own.Plan.Formats})}
}

func newJob(repository *repo.Repository, opts *Options) *job {
	return &job{repo: repository, opts: newReadOptions(opts), tables: newTables(repository), shared: manifest.NewShared(), generation: manifest.Generation}
}

// guard makes the job ask before it reads sources that a snapshot of a manifest names, since somebody else may have built
// it.
func (j *job) guard(repository *repo.Repository, snap *manifest.Snapshot) (err error) {
	if j.access, err = store.NewAccess(snap, repository.Name(), j.opts.Allow); err != nil {
		return err
	}
	j.guarded = newReadOptions(j.opts.within(j.access))
	return nil
}

// within returns the options to read only sources that may be read.
func (opts *Options) within(access *store.Access) *Options {
	own := *opts
	own.Opener = access.Opener(opts.Opener)
	return &own
}

// reading returns the options to read all[i]. The files of the job are the last ones of all.
func (j *job) reading(all []*manifest.File, i int) *readOptions {
	at := i - (len(all) - len(j.files))
	if j.guarded != nil && (at < 0 || at < len(j.foreign) && j.foreign[at]) {
		return j.guarded
	}
	return j.opts
}

// later returns the options to read values of a scanned file.
func (opts *readOptions) later() *scan.Options {
	return &scan.Options{Opener: opts.Opener, ValueBytes: opts.ValueBytes, Allow: opts.Allow, KeepQuery: opts.Plan.KeepQuery, Readers: opts.readers}
}

// abort removes unfinished tables.
func (j *job) abort() { j.tables.abort() }

// scan reads the sources, and writes their references.
func (j *job) scan(ctx context.Context, names []string) error {
	sink, err := j.tables.refSink(ctx)
	if err != nil {
		return err
	}
	names, parts, err := j.splitParts(ctx, names)
	if err != nil {
		return err
	}
	for _, name := range j.others(parts) {
		if err := j.takeNamed(ctx, name, sink); err != nil {
			return fmt.Errorf("%s: %w", source.Shown(name), err)
		}
	}
	if len(names) > 0 && j.opts.KeepScan != "" {
		if err := j.scanKept(ctx, names, sink); err != nil {
			return j.opts.Sources.matchOthers(err, names)
		}
	} else if len(names) > 0 {
		to := scan.RefSink(sink)
		if len(parts) > 0 {
			to = struct{ scan.RefSink }{sink} // hide Restart: the sink already has the rows of parts
		}
		found, err := scan.Scan(ctx, names, j.scanOptions(to))
		if err != nil {
			return j.opts.Sources.matchOthers(err, names)
		}
		j.files, j.broken = append(j.files, found.Files...), append(j.broken, found.Broken...)
	}
	return j.tables.closeRefs()
}

func (j *job) scanOptions(sink scan.RefSink) *scan.Options {
	o := j.opts.scan(sink)
	o.FirstFile, o.FirstRow = len(j.files), j.tables.refRows()
	if j.old != nil {
		o.FirstFile += int(j.old.Rows(manifest.Sources))
	}
	return o
}

// scan returns the options to scan all sources.
func (opts *readOptions) scan(sink scan.RefSink) *scan.Options {
	o := &scan.Options{Workers: opts.Workers, Opener: opts.Opener, SkipBroken: opts.SkipBroken, Allow: opts.Allow, KeepQuery: opts.Plan.KeepQuery, Readers: opts.readers, Sink: sink, ValueBytes: opts.ValueBytes, Choice: planner.Choice{Options: &opts.Plan}}
	if opts.Progress != nil {
		o.Progress = func(p scan.Progress) { opts.Progress(int64(p.Done), int64(p.Sources)) }
	}
	return o
}

// refused returns the outcome if sources cannot be read, or nil for other errors.
func (j *job) refused(err error) *Result {
	var broken *scan.BrokenError
	if !errors.As(err, &broken) {
		return nil
	}
	return &Result{Report: &report.Report{Findings: UnreadableFindings(broken)}}
}

// UnreadableFindings returns a finding for each source that a scan could not read.
func UnreadableFindings(err *scan.BrokenError) []report.Finding {
	var r report.Report
	for _, b := range err.Broken {
		f := brokenFinding(b, report.Refused)
		if base := baseOf(b.URL); err.Match != "" && !matches(err.Match, base) {
			f.Remedies = slices.Insert(f.Remedies, len(f.Remedies)-1, report.Do(report.Match, err.Match, report.SkipsOthers))
		}
		r.Add(f)
	}
	return r.Findings
}

// addBroken adds a finding for each source that cannot be read.
func addBroken(r *report.Report, list []scan.Broken, effect report.Effect) {
	for _, b := range list {
		r.Add(brokenFinding(b, effect))
	}
}

func brokenFinding(b scan.Broken, effect report.Effect) report.Finding {
	f := report.Finding{Code: report.UnreadableFile, Effect: effect, Files: report.Named(b.URL), Count: 1, Args: report.Args{"reason": reasonOf(b)}}
	// The user chose to leave the file out, so no remedy is needed.
	if effect != report.Refused {
		return f
	}
	var without report.Remedy
	for i, path := range b.Drop {
		one := report.DropPath(path)
		if i == 0 {
			without = one
			without.Consequence = report.WithoutDamage
			continue
		}
		without.With = append(without.With, one.Setting)
	}
	if len(b.Drop) > 0 {
		f.Remedies = append(f.Remedies, without)
	}
	f.Remedies = append(f.Remedies, remediesOf(b.Err)...)
	f.Remedies = append(f.Remedies, report.Do(report.SkipBroken, "", report.SkipsFiles))
	return f
}

// reasonOf returns the error of a source without its name, which the finding has already.
func reasonOf(b scan.Broken) string {
	return strings.Replace(b.Err.Error(), b.URL+": ", "", 1)
}

// remediesOf returns the options that an error carries.
func remediesOf(err error) (remedies []report.Remedy) {
	var noRanges *source.NoRangesError
	if errors.As(err, &noRanges) {
		remedies = append(remedies, report.Do(report.Download, "", ""))
	}
	var address *source.AddressError
	if errors.As(err, &address) {
		remedies = append(remedies, report.Do(report.Allow, address.Place(), ""))
	}
	var advice *manifest.RemedyError
	if !errors.As(err, &advice) {
		return remedies
	}
	for _, r := range advice.Remedies {
		remedies = append(remedies, report.Do(report.Option(r.Option), r.Value, ""))
	}
	return remedies
}

// plan makes the snapshot of all files, old and new, and writes its tables.
func (j *job) plan(ctx context.Context, what string) (*Result, error) {
	if err := refuseTwice(j.before, j.files); err != nil {
		return refusedPlan(err, int64(len(j.files))), err
	}
	var queries report.Report
	if err := j.noteQueries(ctx, &queries); err != nil {
		return refusedPlan(err, int64(len(j.files))), err
	}
	all := append(slices.Clip(j.before), j.files...)
	if len(all) == 0 && len(j.broken) > 0 {
		broken := &scan.BrokenError{Broken: j.broken}
		return j.refused(broken), fmt.Errorf("no source can be read: %w", broken)
	}
	c := &content{known: j.known(), files: j.files}
	// Planning does not change headers, so their tables are written at the same time.
	j.tables.beginEarly(ctx, c)
	made, err := j.planned(ctx, all)
	if err == nil {
		err = refuseEmptied(made)
	}
	if published := cmp.Or(j.old, j.replaced); err == nil && published != nil {
		err = refuseOtherUnits(made, published, j.opts.Plan.Curation, j.old == nil)
	}
	if err == nil && j.opts.RefuseNew && j.old != nil {
		err = refuseNew(made, j.old, j.before)
	}
	if err == nil {
		err = j.measureRepacked(ctx, made, all)
	}
	if err != nil {
		return refusedPlan(err, int64(len(j.files))), err
	}
	j.stateless = made.Stateless
	for _, n := range made.Compared {
		// The digest is enough to compare later files, and large values would fill memory.
		values := all[n.File].Values
		values[n.Variable] = values[n.Variable].Sum()
	}
	snap := &manifest.Snapshot{
		Message: cmp.Or(j.opts.Message, what), Writer: j.opts.Writer, Generation: j.generation, State: made.State, Groups: made.Groups, Arrays: made.Arrays, Sources: shown(all),
	}
	own := *j.opts.Options
	if own.Plan.Flip = maps.Clone(own.Plan.Flip); own.Plan.Flip == nil {
		own.Plan.Flip = made.Flip
	} else {
		maps.Copy(own.Plan.Flip, made.Flip)
	}
	if snap.Options, err = own.encode(); err != nil {
		return nil, err
	}
	if j.old != nil {
		snap.Skipped = j.old.Skipped
	}
	j.noteBroken(snap, made.Report)
	c.placements, c.values = made.Placements, made.Values
	if err := j.tables.write(ctx, snap, c); err != nil {
		return nil, err
	}
	patched, err := j.carryPatches(ctx, snap)
	if err != nil {
		return nil, err
	}
	if err := j.countChunks(ctx, snap, made, all); err != nil {
		return nil, err
	}
	if patched {
		if err := countPatched(ctx, j.repo, snap); err != nil {
			return nil, err
		}
	}
	// Only counted chunks show whether strict holds, so this check comes last.
	if err := j.refuseReencoded(ctx, snap, made, all); err != nil {
		return refusedPlan(err, int64(len(j.files))), err
	}
	addCosts(made.Report.Findings, snap.Arrays)
	if j.old == nil {
		if err := addLargeChunks(made.Report, snap.Arrays); err != nil {
			return nil, err
		}
	}
	j.seal(snap, made.Report)
	made.Report.Findings = append(made.Report.Findings, queries.Findings...)
	if j.replaced == nil {
		j.noteStored(j.files[:min(len(j.foreign), len(j.files))], made.Report) // of scan parts
	}
	addSkipped(made.Report, j.opts.Sources.Skipped())
	out := &Result{Snapshot: snap, Report: made.Report, Files: int64(len(j.files))}
	if j.opts.Pictures {
		out.Pictures, err = j.draw(ctx, snap, made, all)
	}
	return out, err
}

// addSkipped adds a finding for each kind of output that was skipped.
func addSkipped(r *report.Report, skipped map[Output][]string) {
	for _, kind := range slices.Sorted(maps.Keys(skipped)) {
		names := skipped[kind]
		f := report.Finding{Code: report.ManifestSkipped, Effect: report.Noted, Files: report.Named(names...), Count: int64(len(names))}
		if kind != ManifestOutput {
			f.Code, f.Args = report.OutputSkipped, report.Args{"kind": string(kind)}
		}
		r.Add(f)
	}
}

// noteBroken records the sources that were left out.
func (j *job) noteBroken(snap *manifest.Snapshot, r *report.Report) {
	broken := j.leftOut()
	addBroken(r, broken, report.Dropped)
	snap.Skipped = append(slices.Clip(snap.Skipped), skippedOf(broken)...)
}

// leftOut returns the broken sources, each once. A source that one scan part left out may be a file of another part,
// of a later scan.
func (j *job) leftOut() (list []scan.Broken) {
	if len(j.broken) == 0 {
		return nil
	}
	have := make(map[string]bool, len(j.files))
	for _, f := range j.files {
		have[f.URL] = have[f.URL] || !f.Hidden
	}
	for _, b := range j.broken {
		if !have[b.URL] {
			have[b.URL] = true
			list = append(list, b)
		}
	}
	return list
}

// skippedOf returns broken sources in the form for snapshots and scan parts.
func skippedOf(broken []scan.Broken) (list []manifest.Skipped) {
	for _, b := range broken {
		list = append(list, manifest.Skipped{URL: b.URL, Why: b.Err.Error()})
	}
	return list
}

// carryPatches copies the compacted chunks of old arrays that are valid for the new plan.
func (j *job) carryPatches(ctx context.Context, snap *manifest.Snapshot) (some bool, err error) {
	old := j.old
	if j.kept != nil {
		old = j.replaced
	}
	if old == nil {
		return false, nil
	}
	rows, err := patches.Carry(ctx, j.repo, old, snap, patches.Options{Merge: true, Kept: j.kept})
	return rows > 0, err
}

// countPatched counts the chunks of arrays with compacted chunks again.
func countPatched(ctx context.Context, repository *repo.Repository, snap *manifest.Snapshot) error {
	s, err := store.New(repository, snap, &store.Options{})
	if err != nil {
		return err
	}
	for i, a := range s.Arrays() {
		if len(snap.Arrays[i].Patches) == 0 {
			continue
		}
		if snap.Arrays[i].Chunks, err = a.Count(ctx); err != nil {
			break
		}
	}
	return closing(s, err)
}

// planned makes a plan. If it has to re-encode chunks with codecs that do not restore all values, it
// plans again without these codecs.
func (j *job) planned(ctx context.Context, all []*manifest.File) (*planner.Plan, error) {
	opts := j.opts.Plan
	opts.ValueBytes, opts.Older = j.opts.ValueBytes, len(j.before)
	if from := cmp.Or(j.old, j.replaced); from != nil {
		opts.ChunkLengths = planner.ChunkLengths(from.Arrays)
		curation, err := curationOf(from)
		if err != nil {
			return nil, err
		}
		opts.UnitsOf = planner.UnitsOf(from.Arrays, opts.Curation, curation)
		opts.TextLengthsOf = planner.TextLengthsOf(from.Arrays)
	}
	for {
		made, err := planner.New(ctx, all, &opts, j.load(all))
		if err != nil {
			return nil, err
		}
		reencoded, err := j.reencodedInexactly(ctx, made, all)
		if err != nil || len(reencoded) == 0 {
			return made, err
		}
		opts.Exact = append(opts.Exact, reencoded...)
	}
}

// reencodedInexactly lists arrays that have re-encoded chunks, and codecs that do not restore all
// values.
func (j *job) reencodedInexactly(ctx context.Context, made *planner.Plan, all []*manifest.File) (paths []string, err error) {
	// Whether chunks must be re-encoded is known only after a plan exists, so the first plan
	// assumes that they need not be.
	if len(made.Inexact) == 0 {
		return nil, nil
	}
	l, err := j.chunksOf(append(slices.Clip(j.tables.kept), j.tables.done...), made, all)
	if err != nil {
		return nil, err
	}
	for _, a := range made.Arrays {
		if !slices.Contains(made.Inexact, a.Path) {
			continue
		}
		if _, err := l.count(ctx, &a); err != nil {
			return nil, closing(l, fmt.Errorf("%s: %w", a.Path, err))
		}
		if a.Chunks.Reencoded > 0 {
			paths = append(paths, a.Path)
		}
	}
	return paths, closing(l, nil)
}

// seal signs the manifest, so that its user may read the sources without an allow option.
func (j *job) seal(snap *manifest.Snapshot, r *report.Report) {
	var old *manifest.Seal
	if from := cmp.Or(j.old, j.replaced); from != nil {
		old = from.Seal
	}
	var err error
	snap.Seal, err = j.newSeal(old)
	remedy := report.Fill(report.Allow, "FOLDER", report.OpensFolder)
	if err == nil && j.replaced == nil {
		var refused *store.ForbiddenError
		if err = j.checkParts(snap); errors.As(err, &refused) {
			err = errors.New("someone else made the scan part that names " + source.Shown(refused.Source))
			remedy = report.Do(report.Allow, refused.Allow[0], report.OpensFolder)
		}
	}
	if err != nil {
		r.Add(report.Finding{Code: report.NotSealed, Effect: report.Noted, Args: report.Args{"reason": err.Error()}, Remedies: []report.Remedy{remedy}})
	}
}

// checkParts returns an error if a snapshot has no seal for a source of a part.
func (j *job) checkParts(snap *manifest.Snapshot) error {
	access, err := store.NewAccess(&manifest.Snapshot{Seal: snap.Seal}, "", nil)
	for name := range j.urls(true) {
		if err == nil {
			err = access.Check(source.Outer(name))
		}
	}
	return err
}

// newSeal returns a seal for the sources that the user named or allowed, and for the places of the old seal.
func (j *job) newSeal(old *manifest.Seal) (*manifest.Seal, error) {
	places, err := j.places()
	if err != nil {
		return nil, err
	}
	return store.Seal(old, places, j.urls(false))
}

// places returns the places that the job read besides the folders of the sources that the user named.
func (j *job) places() ([]string, error) {
	// The build followed redirects, so reading the manifest may too.
	places := j.opts.Opener.Redirects()
	if j.foreign == nil {
		return places, nil
	}
	allowed, err := store.PlacesWith(j.opts.Allow, func(yield func(string) bool) {
		for name := range j.urls(true) {
			if !yield(name) {
				return
			}
		}
		slices.Values(j.guarded.Opener.Redirects())(yield)
	})
	return slices.Concat(places, allowed, j.sealed), err
}

// urls yields the names of the job's files. If foreign is set, these are the files that the user did not name; else the files
// that the user named.
func (j *job) urls(foreign bool) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i, f := range j.files {
			if (i < len(j.foreign) && j.foreign[i]) == foreign && !yield(f.URL) {
				return
			}
		}
	}
}

// known returns a function that reports whether an old file has a row. All old files are in memory.
func (j *job) known() func(manifest.TableKind, string) (bool, error) {
	ids := map[string]bool{}
	for _, f := range j.before {
		ids[f.Header.ID], ids[f.Groups.ID] = true, true
		for _, v := range f.Values {
			if v != nil && !v.Summed {
				ids[v.ID] = true
			}
		}
	}
	return func(_ manifest.TableKind, id string) (bool, error) { return ids[id], nil }
}

func refusedPlan(err error, files int64) *Result {
	var refused *plan.Error
	if !errors.As(err, &refused) {
		return nil
	}
	return &Result{Report: &report.Report{Findings: refused.Findings}, Files: files}
}

// shown counts files that the user named, without hidden ones.
func shown(files []*manifest.File) (n int64) {
	for _, f := range files {
		if !f.Hidden {
			n++
		}
	}
	return n
}

// scratch makes a temporary folder.
func scratch() (dir string, remove func() error, err error) {
	// The folder may be large, so the error says how to choose another place.
	if dir, err = os.MkdirTemp("", "varve-check-"); err != nil {
		err = atomicfile.TemporaryError(err)
	}
	return dir, func() error { return os.RemoveAll(dir) }, err
}
