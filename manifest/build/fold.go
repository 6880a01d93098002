package build

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"io"
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
	for i := range f.snap.Placements {
		if err := f.placement(ctx, &f.snap.Placements[i]); err != nil {
			return err
		}
	}
	return nil
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

// placement folds the segments of a placement.
func (f *folding) placement(ctx context.Context, p *manifest.PlacementTable) error {
	sizes := make([]int64, len(p.Segments))
	for i, s := range p.Segments {
		sizes[i] = f.bytesOf(s)
	}
	from := tail(sizes)
	if from == len(sizes) {
		return nil
	}
	made, err := f.write(ctx, manifest.Tiles, func(w io.Writer) (int64, error) {
		return f.reader.FoldTiles(ctx, p.Segments[from:], len(p.Dims), w)
	})
	if err != nil {
		return err
	}
	f.snap.Tables = append(slices.Clip(f.snap.Tables), made)
	one := manifest.Segment{Table: made.Name, Rows: made.Rows, Shift: make([]int64, len(p.Dims))}
	p.Segments = append(slices.Clip(p.Segments[:from]), one)
	f.listTiles()
	return nil
}

// bytesOf is what a segment takes of its table.
func (f *folding) bytesOf(s manifest.Segment) int64 {
	for _, t := range f.snap.Tables {
		if t.Name == s.Table && t.Rows > 0 {
			return int64(float64(t.Bytes) * float64(s.Rows) / float64(t.Rows))
		}
	}
	return 0
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
