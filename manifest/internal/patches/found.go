package patches

import (
	"bufio"
	"context"
	"errors"
	"slices"

	"varve/grid"
	"varve/manifest"
	"varve/manifest/internal/table"
)

// foundRun is a run of rows of the new table.
type foundRun struct {
	array *manifest.Array
	manifest.Patched
}

// find finds the compacted chunks of an array that are left in ranges along an axis:
//
//	older snapshot    tiles    0 1 2 3 4      chunks 0 to 4 are compacted
//	newer snapshot    tiles    1 2 x 4        chunks 0, 1 and 3 are the former 1, 2 and 4
//
// A run cannot say which chunks of it are left, so the new table has the locations of these, in the older files of chunks.
func (c *carrier) find(ctx context.Context, was, now *manifest.Array, axis int, ranges []keptRange) error {
	a, err := was.Schema.Grid()
	if err != nil {
		return err
	}
	if c.opts.Merge {
		if err := c.mergeRanges(was, now, a, axis, ranges); err != nil {
			return err
		}
	}
	b, err := now.Schema.Grid()
	if err != nil || a.Rank() != b.Rank() {
		return err
	}
	m := &chunkMap{a: a, b: b, axis: axis, ranges: ranges}
	for k := range a.Rank() {
		if k != m.axis && (a.Dim(k).Chunks() != b.Dim(k).Chunks() || countCommon(a.Dim(k), b.Dim(k), 0) != a.Dim(k).Chunks()) {
			return nil
		}
	}
	present, err := c.chunksOf(ctx, now, b)
	if err != nil {
		return err
	}
	// The last run is the newest: the others add only chunks that it does not have.
	for i := len(was.Patches) - 1; i >= 0; i-- {
		if err := c.findRun(ctx, &was.Patches[i], now, m, present); err != nil {
			return err
		}
	}
	return nil
}

// chunksOf returns the numbers of the compacted chunks that an array of the new snapshot has.
func (c *carrier) chunksOf(ctx context.Context, now *manifest.Array, g *grid.Grid) (map[int64]bool, error) {
	present := map[int64]bool{}
	for i := range now.Patches {
		if _, err := c.addChunks(ctx, c.is, &now.Patches[i], g, present); err != nil {
			return nil, err
		}
	}
	return present, nil
}

// addChunks adds the numbers of the chunks of a run, and returns how many are new. It adds none of a damaged run.
func (c *carrier) addChunks(ctx context.Context, from *table.Reader, p *manifest.Patched, g *grid.Grid, present map[int64]bool) (added int64, err error) {
	var numbers []int64
	for row, err := range from.Patches(ctx, p) {
		var damage *manifest.DamageError
		if errors.As(err, &damage) {
			return 0, nil
		}
		if err != nil {
			return 0, err
		}
		if coords, ok := coordsOf(p, row.Chunk, g); ok {
			if number, ok := g.Number(coords); ok {
				numbers = append(numbers, number)
			}
		}
	}
	for _, number := range numbers {
		if !present[number] {
			present[number] = true
			added++
		}
	}
	return added, nil
}

// findRun adds the chunks of a run that are left and not present yet, and notes them as present.
func (c *carrier) findRun(ctx context.Context, p *manifest.Patched, now *manifest.Array, m *chunkMap, present map[int64]bool) error {
	if hasRun(now, p) {
		return nil
	}
	// Chunks whose location or file is damaged are encoded again when they are read.
	if files, err := c.files(ctx, p.Table, p.File); len(files) == 0 || err != nil {
		return err
	}
	var found []table.Patch
	for row, err := range c.was.Patches(ctx, p) {
		var damage *manifest.DamageError
		if errors.As(err, &damage) {
			return nil
		}
		if err != nil {
			return err
		}
		if number, ok := m.number(p, row.Chunk); ok && !present[number] {
			row.Chunk = number
			found = append(found, row)
		}
	}
	if len(found) == 0 {
		return nil
	}
	for _, row := range found {
		present[row.Chunk] = true
	}
	slices.SortFunc(found, func(a, b table.Patch) int { return int(min(max(a.Chunk-b.Chunk, -1), 1)) })
	counts := m.b.Counts()
	c.runs = append(c.runs, foundRun{now, manifest.Patched{
		Row: int64(len(c.rows)), Rows: int64(len(found)), File: p.File, Counts: slices.Clone(counts), Shift: make([]int64, len(counts)), Limit: slices.Clone(counts),
	}})
	c.rows = append(c.rows, found...)
	return nil
}

// writeFound writes the new table, and adds the runs to the arrays.
func (c *carrier) writeFound(ctx context.Context) error {
	if len(c.rows) == 0 {
		return nil
	}
	file, err := c.repo.NewTable(ctx, manifest.Patches)
	if err != nil {
		return err
	}
	defer file.Abort() // does nothing after Commit
	buffer := bufio.NewWriter(file)
	w := table.NewPatches(buffer)
	if err := errors.Join(w.Append(c.rows...), w.Close(), buffer.Flush()); err != nil {
		return err
	}
	t, err := file.Commit()
	if err != nil {
		return err
	}
	t.Rows = int64(len(c.rows))
	List(c.now, t)
	for _, found := range c.runs {
		for _, f := range c.old.Tables {
			if f.Name == found.File {
				List(c.now, f)
			}
		}
		found.Table = t.Name
		found.array.Patches = append(slices.Clip(found.array.Patches), found.Patched)
	}
	return nil
}
