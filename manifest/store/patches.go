package store

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"

	"varve/codec"
	"varve/grid"
	"varve/manifest"
	"varve/manifest/internal/mosaic"
	"varve/manifest/internal/table"
	"varve/manifest/repo"
	"varve/readers/source"
)

// patches makes the files of compacted chunks available as sources: their rows follow the rows of the
// table of sources. They need no permission, because they are in the manifest's own folder or prefix.
type patches struct {
	repository *repo.Repository // nil if there are none
	first      int64            // row of the first file
	files      []manifest.Table
}

func newPatches(snap *manifest.Snapshot, repository *repo.Repository) *patches {
	p := &patches{repository: repository}
	for _, t := range snap.Tables {
		switch t.Kind {
		case manifest.Sources:
			p.first += t.Rows
		case manifest.Chunks:
			p.files = append(p.files, t)
		}
	}
	return p
}

// row returns the row of the file with this name.
func (p *patches) row(name string) (int64, error) {
	i := slices.IndexFunc(p.files, func(t manifest.Table) bool { return t.Name == name })
	if i < 0 {
		return 0, &manifest.DamageError{Name: name, Damage: manifest.FileMissing, Detail: "an array uses it, but the snapshot does not list it"}
	}
	return p.first + int64(i), nil
}

// isFile reports whether a row is a file of compacted chunks.
func (p *patches) isFile(row int64) bool {
	return row >= p.first && row-p.first < int64(len(p.files)) && p.repository != nil
}

// source returns the location and version of a file.
func (p *patches) source(ctx context.Context, row int64) (manifest.Source, error) {
	return p.repository.FileOf(ctx, p.files[row-p.first])
}

// open opens a file. No link may lead out of the manifest's folder.
func (p *patches) open(ctx context.Context, row int64) (*source.Source, error) {
	if source.IsObject(p.repository.Name()) {
		return p.repository.OpenFile(ctx, p.files[row-p.first])
	}
	src, err := p.source(ctx, row)
	if err != nil {
		return nil, err
	}
	real, err := p.access(src).real(src.URL)
	if err != nil {
		return nil, err
	}
	return source.OpenRealSource(src.URL, real, src.Identity())
}

func (p *patches) access(file manifest.Source) *Access {
	folder := filepath.Dir(file.URL)
	return &Access{folders: map[string]bool{sameName(folder): true, sameName(resolveLinks(folder)): true}}
}

// patch returns the compacted chunk at these coordinates, and the row of its file.
func (a *Array) patch(ctx context.Context, coords []int64) (p table.Patch, row int64, ok bool, err error) {
	for i := len(a.spec.Patches) - 1; i >= 0; i-- {
		// The last run is the newest, so start with it.
		run := &a.spec.Patches[i]
		number, within := run.Number(coords)
		if !within {
			continue
		}
		p, ok, err = a.store.tables.Patch(ctx, run, number)
		if err == nil && !ok {
			continue
		}
		if err == nil {
			row, err = a.store.patches.row(run.File)
		}
		if err == nil && (p.Offset < 0 || p.Length < 0) {
			err = fmt.Errorf("%w: a compacted chunk has size %d and offset %d", codec.ErrCorrupt, p.Length, p.Offset)
		}
		if err != nil {
			return p, 0, false, fmt.Errorf("%s: chunk %v: %w", a.Path(), coords, err)
		}
		return p, row, true, nil
	}
	return p, 0, false, nil
}

// locatePatch changes the location of a re-encoded chunk to the compacted chunk, if there is one.
func (a *Array) locatePatch(ctx context.Context, l *manifest.Location) error {
	p, row, ok, err := a.patch(ctx, l.Coords)
	if ok {
		l.Kind, l.Source, l.Offset, l.Size = manifest.Verbatim, row, p.Offset, p.Length
		l.Checksum, l.Compacted = p.Checksum, true
	}
	return err
}

// patchedChunk is the compacted chunk that a job reads instead of tiles.
type patchedChunk struct {
	number   int64
	checksum uint32
}

// addChunks plans a region chunk by chunk, and uses compacted chunks where they exist.
func (p *planner) addChunks(ctx context.Context, t *target, r grid.Region) error {
	w, err := p.a.grid.WalkRegion(r)
	if err != nil {
		return err
	}
	box := grid.MakeRegion(p.a.grid.Rank())
	for w.Next() {
		box.Intersect(w.Region, r)
		patch, row, ok, err := p.a.patch(ctx, w.Coords)
		switch {
		case err != nil:
			return err
		case ok:
			err = p.pushPatch(&w.Chunk, w.Coords, box, &job{into: t, source: row, span: codec.Range{Offset: patch.Offset, Length: patch.Length},
				patch: &patchedChunk{checksum: patch.Checksum}})
		default:
			err = p.addParts(ctx, t, box)
		}
		if err != nil {
			return err
		}
		if err := p.flush(ctx, false); err != nil {
			return err
		}
	}
	return nil
}

// pushPatch adds a job that reads a box of a compacted chunk.
func (p *planner) pushPatch(c *grid.Chunk, coords []int64, box grid.Region, j *job) (err error) {
	if j.span.Length > math.MaxInt64/4 || j.span.Offset > math.MaxInt64/2 {
		return fmt.Errorf("%s: chunk %v: %w: %d bytes at offset %d", p.a.Path(), coords, codec.ErrCorrupt, j.span.Length, j.span.Offset)
	}
	if j.pipe, err = p.a.Pipeline(coords); err != nil {
		return err
	}
	j.patch.number, _ = p.a.grid.Number(coords)
	j.Part = mosaic.Part{Row: -1, Tile: -1, Box: p.clone(box), Within: p.clone(box), Codec: p.numbers(c.Codec)}
	j.Within.Shift(c.Origin)
	j.HasAllData = box.Equal(c.Region)
	j.isReusable = !j.HasAllData && p.a.store.cache.limit > 0
	if e, ok := p.a.store.cache.peek(j.key(p.a)); ok && j.isReusable {
		j.decoded, j.source = &e, -1
	}
	p.enter(j)
	return nil
}
