package ingest

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"slices"
	"time"

	"varve/codec"
	"varve/grid"
	"varve/manifest"
	"varve/manifest/internal/table"
	"varve/manifest/store"
)

// openKnown opens the intact tables whose rows are found by ID.
func (r *repair) openKnown() (*table.Reader, error) {
	var tables []manifest.Table
	first := map[manifest.TableKind]int64{}
	for _, t := range r.intact {
		if t.Kind == manifest.Headers || t.Kind == manifest.Groups || t.Kind == manifest.ValueOf {
			t.First = first[t.Kind] // without the lost tables before it
			first[t.Kind] += t.Rows
			tables = append(tables, t)
		}
	}
	return table.Open(tables, table.InRepository(r.repo), table.NewCache(refCache))
}

// writeLeft writes the rows that no intact table has, in the order of their IDs.
func writeLeft[T, R any](ctx context.Context, out *table.Writer[*T], all map[string]*T, find func(context.Context, string) (R, error)) error {
	delete(all, "") // sources without a header
	for _, id := range slices.Sorted(maps.Keys(all)) {
		_, err := find(ctx, id)
		if errors.Is(err, fs.ErrNotExist) {
			err = out.Append(all[id])
		}
		if err != nil {
			return err
		}
	}
	return out.Close()
}

// values returns all values that a lost table may have: those of sources, and the pieces of arrays of all snapshots with this
// table. Pieces are read from the new build, which may have cut its arrays in another way.
func (r *repair) values(ctx context.Context, t manifest.Table) (map[string]*manifest.Values, error) {
	all := map[string]*manifest.Values{}
	for _, f := range r.files {
		for _, v := range f.Values {
			if v != nil && !v.Summed {
				all[v.ID] = v
			}
		}
	}
	for snap, err := range r.repo.History(ctx) {
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(snap.Tables, func(o manifest.Table) bool { return o.Name == t.Name }) {
			continue
		}
		for i := range snap.Arrays {
			if err := r.addPieces(ctx, &snap.Arrays[i], all); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// addPieces adds the values of an array's pieces, if the new build has them.
func (r *repair) addPieces(ctx context.Context, old *manifest.Array, all map[string]*manifest.Values) error {
	a, err := r.scratch.Array(old.Path)
	if err != nil {
		return nil // the array was renamed or dropped since
	}
	for _, p := range old.Pieces {
		box := grid.Region{Origin: p.Origin, Shape: p.Shape}
		if all[p.Values] != nil || len(p.Origin) != a.Grid().Rank() || len(p.Shape) != a.Grid().Rank() || !grid.Whole(a.Grid().Shape()).Contains(box) {
			continue
		}
		form := a.Schema().Form(p.Shape)
		if err := form.CheckSize(); err != nil {
			return err
		}
		e := codec.NewElems(form)
		if err := a.ReadRegion(ctx, box, e); err != nil {
			return err
		}
		v := &manifest.Values{Data: e.Fixed, Texts: e.Var}
		if v.SetID(); v.ID == p.Values {
			all[v.ID] = v
		}
	}
	return nil
}

// writeTiles writes a table of tiles: for each segment that names it, the tiles that no intact segment of its placement has.
func (r *repair) writeTiles(ctx context.Context, t manifest.Table, w io.Writer) error {
	rows := make([]*manifest.Tile, t.Rows)
	dims := 0
	for _, p := range r.snap.Placements {
		left, err := r.tilesLeft(ctx, p)
		if err != nil {
			return err
		}
		for _, s := range p.Segments {
			if !r.isLostTable(s.Table) {
				continue
			}
			if s.Rows > int64(len(left)) || s.Row < 0 || s.Rows < 0 || s.Table == t.Name && s.Row+s.Rows > t.Rows {
				return errOtherRows
			}
			segment := left[:s.Rows]
			left = left[s.Rows:]
			if s.Table != t.Name {
				continue
			}
			slices.SortStableFunc(segment, func(a, b manifest.Tile) int { return slices.Compare(a.Origin, b.Origin) })
			for i, tile := range segment {
				for k := range tile.Origin {
					tile.Origin[k] -= s.Shift[k]
				}
				rows[s.Row+int64(i)], dims = &tile, len(p.Dims)
			}
		}
	}
	out := table.NewTiles(w, dims)
	for _, tile := range rows {
		if tile == nil {
			return errOtherRows
		}
		if err := out.Append(*tile); err != nil {
			return err
		}
	}
	return out.Close()
}

func (r *repair) isLostTable(name string) bool {
	return slices.ContainsFunc(r.lost, func(t manifest.Table) bool { return t.Name == name })
}

// tilesLeft returns the tiles of a placement that no intact segment has, in the order of files.
func (r *repair) tilesLeft(ctx context.Context, p manifest.PlacementTable) (left []manifest.Tile, err error) {
	have := map[int]int{} // number of tiles by file
	for _, s := range p.Segments {
		if r.isLostTable(s.Table) {
			continue
		}
		for tile, err := range r.reader.ScanTiles(ctx, s) {
			if err != nil {
				return nil, err
			}
			have[tile.File]++
		}
	}
	i := slices.IndexFunc(r.again.Placements, func(o manifest.PlacementTable) bool { return slices.Equal(o.Dims, p.Dims) })
	if i < 0 {
		return nil, errOtherRows
	}
	for _, s := range r.again.Placements[i].Segments {
		for tile, err := range r.made.ScanTiles(ctx, s) {
			if err != nil {
				return nil, err
			}
			if have[tile.File] == 0 {
				left = append(left, manifest.Tile{File: tile.File, Origin: slices.Clone(tile.Origin), Start: slices.Clone(tile.Start), Shape: slices.Clone(tile.Shape)})
			}
		}
	}
	// Segments are in the order in which files were added.
	slices.SortStableFunc(left, func(a, b manifest.Tile) int { return cmp.Compare(a.File, b.File) })
	return left, nil
}

// dropPatches publishes a snapshot without compacted chunks whose table or file is lost. They are encoded again when they
// are read.
func (r *repair) dropPatches(ctx context.Context, parent string) error {
	snap := *r.snap
	snap.Arrays = slices.Clone(snap.Arrays)
	for i := range snap.Arrays {
		a := &snap.Arrays[i]
		a.Patches = slices.DeleteFunc(slices.Clone(a.Patches), func(p manifest.Patched) bool {
			isLost := r.lostPatches[p.Table] || r.lostPatches[p.File]
			if isLost {
				r.out.Compacted += p.Rows
			}
			return isLost
		})
	}
	snap.DropPatches()
	snap.Tables = r.keptPoints(snap.Tables)
	snap.Message, snap.Writer, snap.Created, snap.ID = "repair", r.opts.Writer, time.Time{}, ""
	if err := r.countAgain(ctx, &snap); err != nil {
		return err
	}
	if err := r.repo.Publish(ctx, &snap, parent); err != nil {
		return err
	}
	r.out.Snapshot = &snap
	return nil
}

// keptPoints returns the tables without lost tables of access points.
func (r *repair) keptPoints(all []manifest.Table) (tables []manifest.Table) {
	first := map[manifest.TableKind]int64{}
	for _, t := range all {
		if t.Kind == manifest.Points || t.Kind == manifest.FilePoints {
			if r.lostPatches[t.Name] {
				continue
			}
			t.First = first[t.Kind]
			first[t.Kind] += t.Rows
		}
		tables = append(tables, t)
	}
	return tables
}

// countAgain counts the chunks of arrays that had compacted chunks.
func (r *repair) countAgain(ctx context.Context, snap *manifest.Snapshot) error {
	s, err := store.New(r.repo, snap, &store.Options{})
	if err != nil {
		return err
	}
	for i, a := range s.Arrays() {
		if len(r.snap.Arrays[i].Patches) == 0 {
			continue
		}
		if snap.Arrays[i].Chunks, err = a.Count(ctx); err != nil {
			break
		}
	}
	return closing(s, err)
}
