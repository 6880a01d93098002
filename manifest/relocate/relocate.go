// Package relocate changes the names of sources in a manifest, after an archive was moved, copied or published.
//
//	moves    find the longest place that matches each source, and so its new name
//	check    compare each file at its new place with the scan
//	publish  write a new table of sources, and a snapshot
//
// Only the table of sources contains the names of sources. So relocate writes only that table, and reads no
// references.
package relocate

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"time"

	"varve/manifest"
	"varve/manifest/internal/planner"
	"varve/manifest/internal/table"
	"varve/manifest/plan"
	"varve/manifest/repo"
	"varve/manifest/store"
	"varve/readers/source"
)

// Options configure Relocate. Nil options name no moves.
type Options struct {
	Moves []Move
	// Deep compares every byte of each file in the old and the new place, instead of the scan.
	Deep bool
	// DryRun checks everything and publishes nothing.
	DryRun bool
	// Allow are more places that may be read: the old places if somebody else built the manifest, and places of files
	// to which sources refer.
	Allow   []string
	Workers int            // sources read at a time; 0: see source.Workers
	Opener  *source.Opener // opens files in the new places; nil: one with default options
	Writer  string         // the program, recorded in the snapshot
	// ValueBytes limits the size of the values that are read for one variable; 0 means 16 MiB.
	ValueBytes int64
	// Progress is called by one goroutine with the number of checked sources.
	Progress func(done, total int64)
}

// Result counts what Relocate did.
type Result struct {
	Snapshot *manifest.Snapshot // the published snapshot; nil in a dry run
	Sources  int64              // number of sources that were moved
	// Described, Sized and Compared are the numbers of sources whose metadata, only size, or bytes were compared.
	Described, Sized, Compared int64
	// Reordered says that the new file names sort differently, and that the next append may use the new order, because
	// names and not coordinates determine the order of files.
	Reordered bool
	// Unsealed is the reason why reading the manifest needs permission, or nil.
	Unsealed error
}

// attempts is the number of times that a relocation starts again after another writer published first.
const attempts = 5

// Relocate publishes a snapshot of the manifest in dir that has the new names of its sources. The error is a
// *MismatchError if sources are missing or changed, and a *MoveError if the moves are wrong. After an error nothing
// was published.
func Relocate(ctx context.Context, dir string, opts *Options) (result *Result, err error) {
	if opts == nil {
		opts = &Options{}
	}
	if len(opts.Moves) == 0 {
		return nil, refuse("there are no moves")
	}
	repository, err := repo.Open(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, repository.Close()) }()
	own := *opts
	if own.Opener == nil {
		own.Opener = source.NewOpener(nil)
		defer func() { err = errors.Join(err, own.Opener.Close()) }()
	}
	for range attempts {
		r := &relocation{Options: &own, repo: repository}
		if err = r.run(ctx); err == nil {
			return &r.result, nil
		}
		if !errors.Is(err, repo.ErrConflict) {
			break
		}
	}
	return nil, err
}

// relocation is the state of one attempt.
type relocation struct {
	*Options
	repo   *repo.Repository
	moves  moves
	old    *manifest.Snapshot
	reader *table.Reader
	result Result
	urls   []string // the new names of all sources
}

func (r *relocation) run(ctx context.Context) (err error) {
	parent, err := r.repo.Current(ctx)
	if err != nil {
		return err
	}
	if r.old, err = r.repo.Load(ctx, parent); err != nil {
		return err
	}
	built, err := r.planned()
	if err != nil {
		return err
	}
	if r.moves, err = newMoves(r.Moves, built.KeepQuery); err != nil {
		return err
	}
	if r.reader, err = table.Open(r.old.Tables, table.InRepository(r.repo), table.NewCache(tableCache)); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.reader.Close()) }()
	next, err := r.next()
	if err != nil {
		return err
	}
	if err := r.checkNames(ctx); err != nil {
		return err
	}
	sources, err := r.sources(ctx)
	if err != nil || r.DryRun {
		return err
	}
	next.Tables = append(next.Tables, sources)
	if r.result.Reordered {
		next.State = nil // it describes the old order, so that the next append has to plan all files again
	}
	what := "1 source"
	if n := r.result.Sources; n != 1 {
		what = fmt.Sprintf("%d sources", n)
	}
	next.Message = fmt.Sprintf("relocate %s %v", what, r.moves)
	next.Seal, r.result.Unsealed = store.Reseal(r.old.Seal, r.Opener.Redirects(), slices.Values(r.urls), r.moves.places())
	if err := r.repo.Publish(ctx, next, parent); err != nil {
		return err
	}
	r.result.Snapshot = next
	return nil
}

const tableCache = 8 << 20

// next returns the next snapshot without its sources.
func (r *relocation) next() (*manifest.Snapshot, error) {
	next := *r.old
	next.ID, next.Created, next.Writer = "", time.Time{}, r.Writer
	next.Tables = slices.DeleteFunc(slices.Clone(r.old.Tables), func(t manifest.Table) bool { return t.Kind == manifest.Sources })
	next.Skipped = slices.Clone(r.old.Skipped)
	for i := range next.Skipped {
		s := &next.Skipped[i]
		now := r.moves.moved(s.URL)
		s.Why = strings.ReplaceAll(s.Why, s.URL, now)
		s.URL = now
	}
	opts, err := r.planned()
	if err != nil || opts.CodecFrom == "" {
		return &next, err
	}
	opts.CodecFrom = r.moves.moved(opts.CodecFrom)
	next.Options, err = json.Marshal(opts)
	return &next, err
}

// planned returns the options of the build.
func (r *relocation) planned() (*plan.Options, error) {
	var opts plan.Options
	if r.old.Options == nil {
		return &opts, nil
	}
	if err := json.Unmarshal(r.old.Options, &opts); err != nil {
		return nil, fmt.Errorf("%s: options of snapshot %s: %w", r.repo.Name(), r.old.ID, err)
	}
	return &opts, nil
}

// rows returns all sources.
func (r *relocation) rows(ctx context.Context) iter.Seq2[*table.SourceRow, error] {
	return r.reader.ScanSources(ctx, 0, r.reader.Rows(manifest.Sources))
}

// checkNames checks, without I/O on sources, that every move matches a source, that new names are distinct, and that
// values that the plan took from file names do not change.
func (r *relocation) checkNames(ctx context.Context) error {
	opts, err := r.planned()
	if err != nil {
		return err
	}
	for _, m := range r.moves {
		m.sources, m.renames = 0, false
	}
	olds := map[string]string{} // by the new name
	// Without a state, and with a state that says so, names and not coordinates may determine the order of files.
	byName, err := planner.IsOrderedByName(r.old)
	if err != nil {
		return err
	}
	var shown []Move // old and new names of the sources that have tiles
	for row, err := range r.rows(ctx) {
		if err != nil {
			return err
		}
		name, err := r.newName(row, opts)
		if err != nil {
			return err
		}
		if other, ok := olds[name]; ok && other != row.URL {
			return refuse("%s and %s would both become %s", other, row.URL, name)
		}
		olds[name] = row.URL
		r.urls = append(r.urls, name)
		if !row.Hidden && (r.old.State == nil || byName) {
			shown = append(shown, Move{row.URL, name})
		}
	}
	r.result.Reordered = isReordered(shown)
	for _, m := range r.moves {
		if m.sources == 0 {
			return refuse("no source is in %s%s", shownPlace(m.from), r.example(ctx))
		}
		if err := m.refuseSame(); err != nil {
			return err
		}
	}
	return nil
}

// isReordered reports whether names sort differently now. It sorts its argument.
func isReordered(names []Move) bool {
	slices.SortFunc(names, func(a, b Move) int { return planner.CompareNames(a.From, b.From) })
	return !slices.IsSortedFunc(names, func(a, b Move) int { return planner.CompareNames(a.To, b.To) })
}

// newName returns the new name of a source, and counts the source in its move.
func (r *relocation) newName(row *table.SourceRow, opts *plan.Options) (string, error) {
	m, rest := r.moves.find(row.URL)
	if m == nil {
		return row.URL, nil
	}
	m.sources++
	_, shown, err := m.name(rest)
	m.renames = m.renames || shown != row.URL
	if err != nil || row.Hidden {
		return shown, err
	}
	if err := planner.CheckRenamed(opts, row.URL, shown); err != nil {
		return shown, refuse("%v", err)
	}
	return shown, nil
}

// example returns the name of a source, for errors.
func (r *relocation) example(ctx context.Context) string {
	for row, err := range r.rows(ctx) {
		if err == nil {
			return "; a source of the manifest is " + row.URL
		}
		break
	}
	return ""
}

// sources checks all moved sources and writes the table, except in a dry run.
func (r *relocation) sources(ctx context.Context) (made manifest.Table, err error) {
	c := &checker{relocation: r}
	if c.deep, err = r.oldPlaces(); err != nil {
		return made, err
	}
	if c.deep != nil {
		defer func() { err = errors.Join(err, c.deep.Close()) }()
	}
	out := io.Discard
	var file *repo.TableWriter
	if !r.DryRun {
		if file, err = r.repo.NewTable(ctx, manifest.Sources); err != nil {
			return made, err
		}
		defer func() {
			if err != nil {
				err = errors.Join(err, file.Abort())
			}
		}()
		out = file
	}
	buffer := bufio.NewWriter(out)
	rows := table.NewMovedSources(buffer)
	if err := c.all(ctx, rows); err != nil {
		return made, err
	}
	if err := errors.Join(rows.Close(), buffer.Flush()); err != nil || file == nil {
		return made, err
	}
	made, err = file.Commit()
	made.Rows = rows.Rows()
	return made, err
}

// oldPlaces opens the manifest to read files in their old places, or returns nil without Deep.
func (r *relocation) oldPlaces() (*store.Store, error) {
	if !r.Deep {
		return nil, nil
	}
	return store.New(r.repo, r.old, &store.Options{Allow: r.Allow})
}
