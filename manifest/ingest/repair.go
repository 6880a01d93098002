package ingest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"varve/manifest"
	"varve/manifest/internal/table"
	"varve/manifest/repo"
	"varve/manifest/store"
	"varve/readers/source"
)

// RepairResult says what Repair did.
type RepairResult struct {
	Tables    []manifest.Table   // the tables that were made again
	Snapshot  *manifest.Snapshot // a new snapshot without the lost compacted chunks; nil if none were lost
	Compacted int64              // how many compacted chunks were lost
}

// RepairError is the error of Repair if it cannot make a table again. Nothing was changed.
type RepairError struct {
	Table string
	Err   error
}

// Error names the table.
func (e *RepairError) Error() string { return fmt.Sprintf("%s cannot be repaired: %v", e.Table, e.Err) }

// Unwrap returns the cause.
func (e *RepairError) Unwrap() error { return e.Err }

// errOtherRows means that the sources give other rows than the lost table had.
var errOtherRows = errors.New("the sources now give other rows: they changed, the manifest was relocated, or another version of varve made it. Build it again; its history is kept")

// errNoSources means that the sources are not known.
var errNoSources = errors.New("the table with the names of the sources is lost too: name the sources, in the order in which they were added")

// Repair makes tables of the current snapshot again that are missing, truncated or changed. It scans the sources again, which
// must be unchanged, in a temporary folder, and accepts only tables with the same SHA-256 as before, so the
// snapshots stay as they are. Compacted chunks that are lost are removed in a new snapshot instead. opts.Sources is needed
// only if the table with the names of the sources is lost.
func Repair(ctx context.Context, dir string, opts *Options) (*RepairResult, error) {
	checked, err := opts.checked()
	if err != nil {
		return nil, err
	}
	repository, err := repo.Open(ctx, dir)
	if err != nil {
		return nil, err
	}
	out, err := repairIn(ctx, repository, checked)
	return out, closing(repository, err)
}

func repairIn(ctx context.Context, repository *repo.Repository, opts *Options) (*RepairResult, error) {
	parent, err := repository.Current(ctx)
	if err != nil {
		return nil, err
	}
	snap, err := repository.Load(ctx, parent)
	if err != nil {
		return nil, err
	}
	r := &repair{repo: repository, snap: snap, opts: *opts, out: &RepairResult{}}
	if err := r.findLost(ctx); err != nil {
		return nil, err
	}
	if len(r.lost) > 0 {
		if err := r.rebuild(ctx); err != nil {
			return nil, err
		}
		if err := repository.Replace(ctx, r.lost); err != nil {
			return nil, err
		}
		r.out.Tables = r.lost
	}
	if len(r.lostPatches) == 0 {
		return r.out, nil
	}
	return r.out, r.dropPatches(ctx, parent)
}

// repair makes the lost tables of a snapshot again.
type repair struct {
	repo *repo.Repository
	snap *manifest.Snapshot
	opts Options
	out  *RepairResult

	lost, intact []manifest.Table
	lostPatches  map[string]bool // tables of patches and of access points, and files of chunks

	reader  *table.Reader // of all tables, of which only intact ones can be read
	known   *table.Reader // of the intact tables whose rows are found by ID
	files   []*manifest.File
	again   *manifest.Snapshot // the build in the temporary folder
	made    *table.Reader      // of its tables
	scratch *store.Store       // of the build
	home    *repo.Repository   // of the build
}

// findLost compares all files of the snapshot with their SHA-256.
func (r *repair) findLost(ctx context.Context) error {
	r.lostPatches = map[string]bool{}
	for _, t := range r.snap.Tables {
		err := r.repo.Check(ctx, &manifest.Snapshot{Tables: []manifest.Table{t}})
		var damage *manifest.DamageError
		switch {
		case err == nil:
			r.intact = append(r.intact, t)
		case !errors.As(err, &damage):
			return err
		case t.Kind == manifest.Patches || t.Kind == manifest.Chunks || t.Kind == manifest.Points || t.Kind == manifest.FilePoints:
			r.lostPatches[t.Name] = true
		default:
			r.lost = append(r.lost, t)
		}
	}
	return nil
}

func (r *repair) isLost(kind manifest.TableKind) bool {
	return slices.ContainsFunc(r.lost, func(t manifest.Table) bool { return t.Kind == kind })
}

// rebuild builds the manifest in a temporary folder, and writes the lost tables from there.
func (r *repair) rebuild(ctx context.Context) (err error) {
	if r.reader, err = table.Open(r.snap.Tables, table.InRepository(r.repo), table.NewCache(refCache)); err != nil {
		return err
	}
	defer func() { err = closing(r.reader, err) }()
	if r.known, err = r.openKnown(); err != nil {
		return err
	}
	defer func() { err = closing(r.known, err) }()
	names, err := r.sources(ctx)
	if err != nil {
		return err
	}
	if r.snap.Options != nil {
		if err := json.Unmarshal(r.snap.Options, &r.opts.Plan); err != nil {
			return fmt.Errorf("%s: options of snapshot %s: %w", r.repo.Name(), r.snap.ID, err)
		}
	}
	r.opts.Checksums = r.snap.Checksums && r.isLost(manifest.Refs)
	dir, remove, err := scratch()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	repository, err := repo.Create(ctx, dir, nil)
	if err != nil {
		return err
	}
	defer func() { err = closing(repository, err) }()
	j := newJob(repository, &r.opts)
	defer j.abort()
	if err := j.scan(ctx, names); err != nil {
		return err
	}
	outcome, err := j.plan(ctx, "repair")
	if err != nil {
		return err
	}
	if err := j.addChecksums(ctx, outcome.Snapshot, nil); err != nil {
		return err
	}
	r.again, r.files, r.home = outcome.Snapshot, j.files, repository
	if r.made, err = table.Open(r.again.Tables, table.InRepository(repository), table.NewCache(refCache)); err != nil {
		return err
	}
	defer func() { err = closing(r.made, err) }()
	if r.scratch, err = store.New(repository, r.again, &store.Options{Trusted: true, Opener: r.opts.Opener}); err != nil {
		return err
	}
	defer func() { err = closing(r.scratch, err) }()
	for _, t := range r.lost {
		if err := r.table(ctx, t); err != nil {
			return &RepairError{Table: t.Name, Err: err}
		}
	}
	return nil
}

// sources returns the names of the sources, which must be unchanged.
func (r *repair) sources(ctx context.Context) (names []string, err error) {
	if r.isLost(manifest.Sources) {
		if r.opts.Sources.isEmpty() {
			at := slices.IndexFunc(r.lost, func(t manifest.Table) bool { return t.Kind == manifest.Sources })
			return nil, &RepairError{Table: r.lost[at].Name, Err: errNoSources}
		}
		return r.opts.Sources.Expand(ctx)
	}
	access, err := store.NewAccess(r.snap, r.repo.Name(), r.opts.Allow)
	if err != nil {
		return nil, err
	}
	r.opts = *r.opts.within(access)
	k := &keeping{job: &job{opts: newReadOptions(&r.opts)}, opener: r.opts.Opener}
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(max(identitiesAtATime, runtime.GOMAXPROCS(0)))
	for row, err := range r.reader.ScanSources(ctx, 0, r.reader.Rows(manifest.Sources)) {
		if err != nil {
			return nil, errors.Join(err, group.Wait())
		}
		if err := access.Check(source.Outer(row.URL)); err != nil {
			return nil, errors.Join(err, group.Wait())
		}
		if !row.Hidden {
			names = append(names, row.URL)
		}
		if row.Size <= 0 && row.Modified.IsZero() && row.ETag == "" {
			continue // a folder has no identity; its tables show whether it changed
		}
		group.Go(func() error {
			now, err := k.identityOf(within, row.URL)
			if err == nil {
				err = row.Identity().Check(now)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", source.Shown(row.URL), err)
			}
			return nil
		})
	}
	return names, group.Wait()
}

// table writes a lost table again. If another one would come out, it returns errOtherRows.
func (r *repair) table(ctx context.Context, t manifest.Table) error {
	// The tables of a manifest that was built at once are the same again.
	for _, same := range r.again.Tables {
		if same.Name == t.Name {
			f, err := r.home.OpenTable(ctx, same)
			if err != nil {
				return err
			}
			_, err = r.write(ctx, t, func(w io.Writer) error {
				_, err := io.Copy(w, io.NewSectionReader(f, 0, f.Size()))
				return err
			})
			return closing(f, err)
		}
	}
	for _, rows := range r.candidates(ctx, t) {
		if isSame, err := r.write(ctx, t, rows); isSame || err != nil {
			return err
		}
	}
	return errOtherRows
}

// write writes a table, and keeps it if it has the SHA-256 of the lost one.
func (r *repair) write(ctx context.Context, t manifest.Table, rows func(io.Writer) error) (isSame bool, err error) {
	w, err := r.repo.NewTable(ctx, t.Kind)
	if err != nil {
		return false, err
	}
	if err := rows(w); err != nil {
		return false, errors.Join(err, w.Abort())
	}
	made, err := w.Commit()
	if err != nil || made.Name == t.Name {
		return err == nil, err
	}
	return false, r.repo.Drop(made)
}

// candidates returns functions that write rows for a lost table. An append writes tables of its own, and merges small
// ones, so a table may have any range of rows.
func (r *repair) candidates(ctx context.Context, t manifest.Table) []func(io.Writer) error {
	switch t.Kind {
	case manifest.Refs:
		refs := func(start func(io.Writer) *table.RefWriter) func(io.Writer) error {
			return func(w io.Writer) error { return r.writeRefs(ctx, t, start(w)) }
		}
		return []func(io.Writer) error{refs(table.NewRefs), refs(table.NewCheckedRefs)}
	case manifest.Blobs:
		return []func(io.Writer) error{func(w io.Writer) error { return r.writeInline(ctx, t, w) }}
	case manifest.Sources:
		return []func(io.Writer) error{func(w io.Writer) error { return r.writeSources(t, w) }}
	case manifest.Headers:
		headers := map[string]*manifest.FileHeader{}
		for _, f := range r.files {
			headers[f.Header.ID] = f.Header
		}
		return []func(io.Writer) error{func(w io.Writer) error { return writeLeft(ctx, table.NewHeaders(w), headers, r.known.Header) }}
	case manifest.Groups:
		groups := map[string]*manifest.FileGroups{}
		for _, f := range r.files {
			groups[f.Groups.ID] = f.Groups
		}
		return []func(io.Writer) error{func(w io.Writer) error { return writeLeft(ctx, table.NewGroups(w), groups, r.known.Groups) }}
	case manifest.ValueOf:
		return []func(io.Writer) error{func(w io.Writer) error {
			values, err := r.values(ctx, t)
			if err != nil {
				return err
			}
			return writeLeft(ctx, table.NewValues(w), values, r.known.Values)
		}}
	case manifest.Tiles:
		return []func(io.Writer) error{func(w io.Writer) error { return r.writeTiles(ctx, t, w) }}
	}
	return nil
}

func (r *repair) writeRefs(ctx context.Context, t manifest.Table, out *table.RefWriter) error {
	if t.First+t.Rows > r.made.Rows(manifest.Refs) {
		return errOtherRows
	}
	for b, err := range r.made.ScanRefs(ctx, t.First, t.Rows) {
		if err == nil {
			err = out.Append(&b.RefColumns)
		}
		if err != nil {
			return err
		}
	}
	return out.Close()
}

func (r *repair) writeInline(ctx context.Context, t manifest.Table, w io.Writer) error {
	if t.First+t.Rows > r.made.Rows(manifest.Blobs) {
		return errOtherRows
	}
	out := table.NewInline(w)
	for row := t.First; row < t.First+t.Rows; row++ {
		b, err := r.made.Inline(ctx, row)
		if err == nil {
			err = out.Append(b)
		}
		if err != nil {
			return err
		}
	}
	return out.Close()
}

func (r *repair) writeSources(t manifest.Table, w io.Writer) error {
	if t.First+t.Rows > int64(len(r.files)) {
		return errOtherRows
	}
	out := table.NewSources(w)
	for _, f := range r.files[t.First : t.First+t.Rows] {
		if err := out.Append(table.NewSourceRow(f)); err != nil {
			return err
		}
	}
	return out.Close()
}
