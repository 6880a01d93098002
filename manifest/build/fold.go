package build

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"io"
	"maps"
	"slices"

	"varve/manifest"
	"varve/manifest/table"
)

// Every append adds tables. So that they stay few, a table at the end of a kind is folded with
// all that come behind it as soon as those are several times as large:
//
//	█████████████████ ████ ████ █ █ █        + █, which makes three behind the first small one
//	█████████████████ ████ ████ ████         the last three and it are folded
//
// A table that stays is no less than a part of what is behind it, so that there are log n. A
// row that is written anew is in a table several times as large, so that it is written log n
// times. Rows keep their numbers. The tables that were folded stay for the older snapshots,
// until those are removed.
const (
	// foldFactor is how much larger a table becomes.
	foldFactor = 8
	// Small tables are folded sooner: each has a line in every snapshot, which weighs as much
	// as writing them again.
	foldSmall       = 4 << 10
	foldSmallFactor = 4
	// foldBytes is the size of a table that is not folded any more: the append that folds
	// the last of some of this size waits a second or two for it, and not ever longer.
	foldBytes = 8 << 20
)

// tail returns where the longest run at the end begins that is to be folded; the number of
// sizes if there is none.
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

// folding is a snapshot, not published yet, whose tables are being folded.
type folding struct {
	repo   *manifest.Repository
	snap   *manifest.Snapshot
	reader *table.Reader
	drafts *tables
}

// fold folds the tables of a snapshot.
func fold(ctx context.Context, repo *manifest.Repository, snap *manifest.Snapshot) error {
	f := &folding{repo: repo, snap: snap, drafts: newTables(repo)}
	defer f.drafts.abort()
	before := snap.Tables
	var err error
	if f.reader, err = table.Open(before, table.InRepository(repo), table.NewCache(refCache)); err != nil {
		return err
	}
	if err := closing(f.reader, f.all(ctx)); err != nil {
		return err
	}
	return f.drop(before)
}

// all folds what is to be.
func (f *folding) all(ctx context.Context) error {
	for _, kind := range []manifest.TableKind{manifest.Sources, manifest.Refs, manifest.Blobs, manifest.Headers, manifest.Groups, manifest.ValueOf} {
		if err := f.kind(ctx, kind); err != nil {
			return err
		}
	}
	return f.placements(ctx)
}

// kind folds the tables of a kind.
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

// listed returns the tables of a kind, in the order of their rows, and the others.
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

// placements folds the segments of placements, into one table for all that have as many
// dimensions.
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

// shares is what a row takes of each table of tiles.
func (f *folding) shares() map[string]float64 {
	share := map[string]float64{}
	for _, t := range f.snap.Tables {
		if t.Kind == manifest.Tiles {
			share[t.Name] = float64(t.Bytes) / float64(max(t.Rows, 1))
		}
	}
	return share
}

// folded is a placement whose segments are to be folded, from one on.
type folded struct {
	*manifest.PlacementTable
	from int
}

// foldAlike folds segments of placements that have so many dimensions.
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

// listTiles leaves out tables of tiles that no placement names any more, and numbers the rows
// of the others anew: segments name tables.
func (f *folding) listTiles() {
	named := map[string]bool{}
	for _, p := range f.snap.Placements {
		for _, s := range p.Segments {
			named[s.Table] = true
		}
	}
	list, others := listed(f.snap.Tables, manifest.Tiles)
	first := int64(0)
	for _, t := range list {
		if named[t.Name] {
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

// drop removes tables that were written for this snapshot and are in others of it now.
func (f *folding) drop(before []manifest.Table) error {
	for _, t := range before {
		if slices.ContainsFunc(f.snap.Tables, func(u manifest.Table) bool { return u.Name == t.Name }) {
			continue
		}
		if err := f.repo.Drop(t); err != nil {
			return err
		}
	}
	return nil
}
