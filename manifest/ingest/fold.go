package ingest

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"io"
	"maps"
	"slices"

	"varve/manifest"
	"varve/manifest/internal/table"
	"varve/manifest/repo"
)

// Every append adds tables. To keep their number small, an append merges ("folds") a table with all
// later tables of its kind once these are several times as large:
//
//	█████████████████ ████ ████ █ █ █        + █: three tables after the first small one
//	█████████████████ ████ ████ ████         the last three and the new one are merged
//
// A remaining table is at least a fraction of the tables after it, so n rows need O(log n) tables.
// A row that is rewritten moves to a table several times as large, so it is rewritten O(log n)
// times. Rows keep their numbers. Merged tables remain for older snapshots until these are removed.
const (
	// foldFactor is the factor by which a merge enlarges a table.
	foldFactor = 8
	// Small tables are merged sooner: each has a line in every snapshot, which costs as much as
	// rewriting the table.
	foldSmall       = 4 << 10
	foldSmallFactor = 4
	// foldBytes is the size from which a table is not merged any more. It bounds the time that an
	// append spends on a merge to a second or two.
	foldBytes = 8 << 20
)

// tail returns the index of the first table of the longest run at the end that is to be merged, or
// len(sizes) if there is none.
func tail(sizes []int64) int {
	from, behind := len(sizes), int64(0)
	for i := len(sizes) - 1; i >= 0 && sizes[i] < foldBytes; i-- {
		factor := int64(foldFactor)
		if sizes[i] < foldSmall {
			factor = foldSmallFactor
		}
		if behind/(factor-1) >= sizes[i] && i+1 < len(sizes) {
			from = i
		}
		behind += sizes[i]
	}
	return from
}

// folding merges the tables of an unpublished snapshot.
type folding struct {
	repo   *repo.Repository
	snap   *manifest.Snapshot
	reader *table.Reader
	drafts *tables
}

// fold merges the tables of a snapshot.
func fold(ctx context.Context, repository *repo.Repository, snap *manifest.Snapshot) error {
	f := &folding{repo: repository, snap: snap, drafts: newTables(repository)}
	// After a merge, nothing is open and abort does nothing.
	defer f.drafts.abort()
	before := snap.Tables
	var err error
	if f.reader, err = table.Open(before, table.InRepository(repository), table.NewCache(refCache)); err != nil {
		return err
	}
	if err := closing(f.reader, f.all(ctx)); err != nil {
		return err
	}
	return f.drop(before)
}

// all merges the tables of all kinds, then the tiles.
func (f *folding) all(ctx context.Context) error {
	for _, kind := range []manifest.TableKind{manifest.Sources, manifest.Refs, manifest.Blobs, manifest.Headers, manifest.Groups, manifest.ValueOf, manifest.FilePoints} {
		if err := f.kind(ctx, kind); err != nil {
			return err
		}
	}
	// Tiles come last: their segments name tables, so they need another kind of merge.
	return f.placements(ctx)
}

// kind merges the tables of one kind.
func (f *folding) kind(ctx context.Context, kind manifest.TableKind) error {
	list, others := listed(f.snap.Tables, kind)
	sizes := make([]int64, len(list))
	for i := range list {
		sizes[i] = list[i].Bytes
	}
	from := tail(sizes)
	if from == len(list) {
		return nil
	}
	first := list[from].First
	made, err := f.write(ctx, kind, func(w io.Writer) (int64, error) { return f.reader.Fold(ctx, kind, first, w) })
	if err != nil {
		return err
	}
	made.First = first
	f.snap.Tables = append(append(others, list[:from]...), made)
	return nil
}

// listed returns the tables of a kind, in the order of their rows, and the other tables.
func listed(all []manifest.Table, kind manifest.TableKind) (of, others []manifest.Table) {
	for _, t := range all {
		if t.Kind == kind {
			of = append(of, t)
		} else {
			others = append(others, t)
		}
	}
	slices.SortStableFunc(of, func(a, b manifest.Table) int {
		return cmp.Or(cmp.Compare(a.First, b.First), cmp.Compare(a.Rows, b.Rows))
	})
	return of, others
}

// placements merges the segments of placements. It writes one table for all placements with the
// same number of dimensions.
func (f *folding) placements(ctx context.Context) error {
	share := f.shares()
	alike := map[int][]folded{}
	for i := range f.snap.Placements {
		p := &f.snap.Placements[i]
		sizes := make([]int64, len(p.Segments))
		for k, s := range p.Segments {
			sizes[k] = int64(float64(s.Rows) * share[s.Table])
		}
		if from := tail(sizes); from < len(sizes) {
			alike[len(p.Dims)] = append(alike[len(p.Dims)], folded{p, from})
		}
	}
	for _, dims := range slices.Sorted(maps.Keys(alike)) {
		if err := f.foldAlike(ctx, dims, alike[dims]); err != nil {
			return err
		}
	}
	f.listTiles()
	return nil
}

// shares returns the bytes per row of each table of tiles.
func (f *folding) shares() map[string]float64 {
	share := map[string]float64{}
	for _, t := range f.snap.Tables {
		if t.Kind == manifest.Tiles {
			share[t.Name] = float64(t.Bytes) / float64(max(t.Rows, 1))
		}
	}
	return share
}

// folded is a placement whose segments from an index on are to be merged.
type folded struct {
	*manifest.PlacementTable
	from int
}

// foldAlike merges segments of placements with a number of dimensions.
func (f *folding) foldAlike(ctx context.Context, dims int, which []folded) error {
	var segments []manifest.Segment
	for _, p := range which {
		segments = append(segments, p.Segments[p.from:]...)
	}
	made, err := f.write(ctx, manifest.Tiles, func(w io.Writer) (int64, error) { return f.reader.FoldTiles(ctx, segments, dims, w) })
	if err != nil {
		return err
	}
	f.snap.Tables = append(slices.Clip(f.snap.Tables), made)
	row := int64(0)
	for _, p := range which {
		one := manifest.Segment{Table: made.Name, Row: row, Shift: make([]int64, dims)}
		for _, s := range p.Segments[p.from:] {
			one.Rows += s.Rows
		}
		row += one.Rows
		p.Segments = append(slices.Clip(p.Segments[:p.from]), one)
	}
	return nil
}

// listTiles removes tables of tiles that no placement names. It renumbers the rows of the others,
// which is safe because segments name tables and not row numbers of the kind.
func (f *folding) listTiles() {
	used := map[string]bool{}
	for _, p := range f.snap.Placements {
		for _, s := range p.Segments {
			used[s.Table] = true
		}
	}
	list, others := listed(f.snap.Tables, manifest.Tiles)
	first := int64(0)
	for _, t := range list {
		if used[t.Name] {
			t.First, first = first, first+t.Rows
			others = append(others, t)
		}
	}
	f.snap.Tables = others
}

// write writes a table.
func (f *folding) write(ctx context.Context, kind manifest.TableKind, rows func(io.Writer) (int64, error)) (made manifest.Table, err error) {
	file, err := f.repo.NewTable(ctx, kind)
	if err != nil {
		return made, err
	}
	f.drafts.open = append(f.drafts.open, file)
	buffer := bufio.NewWriterSize(file, bufferBytes)
	n, err := rows(buffer)
	if err = errors.Join(err, buffer.Flush()); err != nil {
		return made, err
	}
	if made, err = file.Commit(); err == nil {
		made.Rows = n
	}
	return made, err
}

// drop deletes tables that were written for this snapshot and were then merged.
func (f *folding) drop(before []manifest.Table) error {
	for _, t := range before {
		if slices.ContainsFunc(f.snap.Tables, func(u manifest.Table) bool { return u.Name == t.Name }) {
			continue
		}
		// Only tables of this unpublished snapshot can be deleted; Drop keeps the others.
		if err := f.repo.Drop(t); err != nil {
			return err
		}
	}
	return nil
}
