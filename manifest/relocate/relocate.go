// Package relocate has a manifest find its sources in another place: where an archive was moved, or
// copied, or published.
//
//	moves    names ── the longest place that a name lies below ── new names
//	check    each file at its new place ── the same as was scanned, or all that are not
//	publish  the table of sources anew, and a snapshot
//
// A manifest names a source once, in its row of the sources; all else says the number of the row. So
// that table is all that is written, and nothing is read of the refs.
package relocate

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"runtime"
	"slices"
	"strings"
	"time"

	"varve/manifest"
	"varve/manifest/plan"
	"varve/manifest/store"
	"varve/manifest/table"
	"varve/readers/source"
)

// Options say what was moved, and how that is looked at. What is zero is as described; nil options are all
// zero, and name no moves.
type Options struct {
	Moves []Move
	// Deep compares every byte of each file in its old place and in the new one, instead of what was
	// scanned of it.
	Deep bool
	// DryRun looks at everything and publishes nothing.
	DryRun bool
	// Allow are places besides the manifest's own that may be read: the old ones if somebody else built
	// it, and those of files that sources name.
	Allow   []string
	Workers int            // sources read at a time; 0: as many as there are processors
	Opener  *source.Opener // of the new places; nil: one with default options
	Writer  string         // the program, for the snapshot
	// ValueBytes bounds the values of one variable that are read; 0: 16 MiB.
	ValueBytes int64
	// Progress is called by one goroutine with how many sources were looked at.
	Progress func(done, total int64)
}

// Result is what was done.
type Result struct {
	Snapshot *manifest.Snapshot // that was published; nil in a dry run
	Sources  int64              // that lie elsewhere now
	// How they were shown to be what was scanned: by what is in them but their chunks, by their size
	// alone, by all of their bytes.
	Described, Sized, Compared int64
	// Reordered: the names of files are in another order, and it may be the names that say how files
	// follow one another, so that an append may bring them in the new order.
	Reordered bool
	// Unsealed says why reading the manifest takes being told that it may; nil if it does not.
	Unsealed error
}

// attempts is how often a relocation starts over because another writer was faster.
const attempts = 5

// Relocate has the manifest dir find sources in new places. If they are not there, or not what was
// scanned, the error is a *MismatchError; if the moves make no sense a *MoveError. Then nothing is
// published.
func Relocate(ctx context.Context, dir string, opts *Options) (result *Result, err error) {
	if opts == nil {
		opts = &Options{}
	}
	all, err := newMoves(opts.Moves)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, refuse("nothing is to be moved")
	}
	repo, err := manifest.Open(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, repo.Close()) }()
	own := *opts
	own.Workers = cmp.Or(max(opts.Workers, 0), runtime.GOMAXPROCS(0))
	if own.Opener == nil {
		own.Opener = source.NewOpener(nil)
		defer func() { err = errors.Join(err, own.Opener.Close()) }()
	}
	for range attempts {
		r := &relocation{Options: &own, repo: repo, moves: all}
		if err = r.run(ctx); err == nil {
			return &r.result, nil
		}
		if !errors.Is(err, manifest.ErrConflict) {
			break
		}
	}
	return nil, err
}

// relocation is one attempt.
type relocation struct {
	*Options
	repo   *manifest.Repository
	moves  moves
	old    *manifest.Snapshot
	reader *table.Reader
	result Result
	urls   []string // of all sources, as they are called now
}

func (r *relocation) run(ctx context.Context) (err error) {
	parent, err := r.repo.Current(ctx)
	if err != nil {
		return err
	}
	if r.old, err = r.repo.Load(ctx, parent); err != nil {
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
	what := "1 source"
	if n := r.result.Sources; n != 1 {
		what = fmt.Sprintf("%d sources", n)
	}
	next.Message = fmt.Sprintf("relocate %s %v", what, r.moves)
	next.Seal, r.result.Unsealed = store.Reseal(r.old.Seal, slices.Values(r.urls), r.moves.places())
	if err := r.repo.Publish(ctx, next, parent); err != nil {
		return err
	}
	r.result.Snapshot = next
	return nil
}

const tableCache = 8 << 20

// next is the snapshot that comes next, but for its sources.
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

// planned are the options that the manifest was built with.
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

// rows are all sources.
func (r *relocation) rows(ctx context.Context) iter.Seq2[*table.SourceRow, error] {
	return r.reader.ScanSources(ctx, 0, r.reader.Rows(manifest.Sources))
}

// checkNames looks at the names alone: whether every move moves something, sources stay apart, and
// what their names say of them stays the same.
func (r *relocation) checkNames(ctx context.Context) error {
	opts, err := r.planned()
	if err != nil {
		return err
	}
	for _, m := range r.moves {
		m.sources = 0
	}
	olds := map[string]string{} // by the new name
	var shown []Move            // of the sources that are in arrays by themselves
	for row, err := range r.rows(ctx) {
		if err != nil {
			return err
		}
		name, err := r.newName(row, opts)
		if err != nil {
			return err
		}
		if other, ok := olds[name]; ok && other != row.URL {
			return refuse("%s and %s would both be %s", other, row.URL, name)
		}
		olds[name] = row.URL
		r.urls = append(r.urls, name)
		if !row.Hidden && r.old.State == nil { // with one, coordinates say how files follow one another
			shown = append(shown, Move{row.URL, name})
		}
	}
	r.result.Reordered = isReordered(shown)
	for _, m := range r.moves {
		if m.sources == 0 {
			return refuse("no source lies at %s%s", shownPlace(m.from), r.example(ctx))
		}
	}
	return nil
}

// isReordered reports whether names are in another order than they were. It sorts them.
func isReordered(names []Move) bool {
	slices.SortFunc(names, func(a, b Move) int { return plan.CompareNames(a.From, b.From) })
	return !slices.IsSortedFunc(names, func(a, b Move) int { return plan.CompareNames(a.To, b.To) })
}

// newName counts what a move moves.
func (r *relocation) newName(row *table.SourceRow, opts *plan.Options) (string, error) {
	m, rest := r.moves.find(row.URL)
	if m == nil {
		return row.URL, nil
	}
	m.sources++
	_, shown, err := m.name(rest)
	if err != nil || row.Hidden {
		return shown, err
	}
	if err := opts.CheckRenamed(row.URL, shown); err != nil {
		return shown, refuse("%v", err)
	}
	return shown, nil
}

// example tells where sources lie.
func (r *relocation) example(ctx context.Context) string {
	for row, err := range r.rows(ctx) {
		if err == nil {
			return "; one that there is lies at " + row.URL
		}
		break
	}
	return ""
}

// sources checks all sources that are moved, and writes the table. In a dry run it writes none.
func (r *relocation) sources(ctx context.Context) (made manifest.Table, err error) {
	c := &checker{relocation: r}
	if c.deep, err = r.oldPlaces(); err != nil {
		return made, err
	}
	if c.deep != nil {
		defer func() { err = errors.Join(err, c.deep.Close()) }()
	}
	out := io.Discard
	var file *manifest.TableWriter
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

// oldPlaces opens the manifest as it is, to read the files in their old places; nil if nobody wants to.
func (r *relocation) oldPlaces() (*store.Store, error) {
	if !r.Deep {
		return nil, nil
	}
	return store.New(r.repo, r.old, &store.Options{Allow: r.Allow})
}
