package ingest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"

	"varve/manifest"
	"varve/manifest/internal/mosaic"
	"varve/manifest/internal/table"
	"varve/manifest/repo"
	"varve/manifest/scan"
	"varve/readers/source"
)

// tables holds the tables that a job writes.
type tables struct {
	repo *repo.Repository
	open []*repo.TableWriter
	done []manifest.Table

	refs   *draft[*table.RefWriter]
	first  int64 // number of the first reference that this job writes
	inline *draft[*table.Writer[[]byte]]
	points *draft[*table.Writer[*table.ChunkPoints]] // of packed files; nil until there is one
	kept   []manifest.Table                          // old tables that the snapshot keeps
	early  *earlyTables                              // started before the plan exists
}

func newTables(repository *repo.Repository) *tables { return &tables{repo: repository} }

// abort removes tables that are not committed.
func (t *tables) abort() {
	if t.early != nil {
		t.early.wait() // write reports its error, or the job has failed already
		t.early.abort()
	}
	for _, w := range t.open {
		w.Abort() // the caller has a more useful error
	}
}

// rowWriter has the methods that all writers of tables share.
type rowWriter interface {
	Rows() int64
	Close() error
}

// draft is a table that is being written.
type draft[W rowWriter] struct {
	rows   W
	buffer *bufio.Writer
	file   *repo.TableWriter
}

const bufferBytes = 64 << 10

// start starts a table.
func start[W rowWriter](ctx context.Context, t *tables, kind manifest.TableKind, make func(io.Writer) W) (*draft[W], error) {
	file, err := t.repo.NewTable(ctx, kind)
	if err != nil {
		return nil, err
	}
	t.open = append(t.open, file)
	buffer := bufio.NewWriterSize(file, bufferBytes)
	return &draft[W]{make(buffer), buffer, file}, nil
}

// finish commits a table, or removes it if it has no rows.
func (d *draft[W]) finish(t *tables) error {
	rows := d.rows.Rows()
	if rows == 0 {
		return d.file.Abort()
	}
	if err := errors.Join(d.rows.Close(), d.buffer.Flush()); err != nil {
		return err
	}
	made, err := d.file.Commit()
	if err != nil {
		return err
	}
	made.Rows, made.First = rows, t.firstOf(made.Kind)
	t.done = append(t.done, made)
	return nil
}

// firstOf returns the number of the next row of a kind.
func (t *tables) firstOf(kind manifest.TableKind) (n int64) {
	for _, list := range [][]manifest.Table{t.kept, t.done} {
		for i := range list {
			if list[i].Kind == kind {
				n += list[i].Rows
			}
		}
	}
	return n
}

// refSink returns a sink for the references of a scan.
func (t *tables) refSink(ctx context.Context) (*refSink, error) {
	var err error
	if t.refs, err = start(ctx, t, manifest.Refs, table.NewRefs); err != nil {
		return nil, err
	}
	if t.inline, err = start(ctx, t, manifest.Blobs, table.NewInline); err != nil {
		return nil, err
	}
	t.points = nil
	t.first = t.firstOf(manifest.Refs)
	return &refSink{t.refs.rows, t.inline.rows, t.firstOf(manifest.Blobs), t}, nil
}

// known returns a reader of references. It knows which of the new references are plain without
// reading them.
func (t *tables) known(r *table.Reader) mosaic.RefReader { return knownRefs{r, t.refs.rows, t.first} }

// knownRefs implements mosaic.PlainReader.
type knownRefs struct {
	*table.Reader
	written *table.RefWriter
	first   int64
}

func (k knownRefs) IsPlain(row, rows int64) bool { return k.written.IsPlain(row-k.first, rows) }

// refSink implements scan.Restarter.
type refSink struct {
	*table.RefWriter
	inline *table.Writer[[]byte]
	first  int64
	tables *tables
}

// Restart discards all rows, and starts the tables again.
func (s *refSink) Restart(ctx context.Context) error {
	if err := errors.Join(s.tables.refs.file.Abort(), s.tables.inline.file.Abort()); err != nil {
		return err
	}
	if points := s.tables.points; points != nil {
		if err := points.file.Abort(); err != nil {
			return err
		}
	}
	again, err := s.tables.refSink(ctx)
	if err == nil {
		*s = *again
	}
	return err
}

func (s *refSink) Inline(b []byte) (row int64, err error) {
	row = s.NextInline()
	return row, s.inline.Append(b)
}

// FilePoints implements scan.RefSink. Most manifests have no packed files, so the table is started with the first one.
func (s *refSink) FilePoints(ctx context.Context, row int64, src *manifest.Source, points *source.Points) (err error) {
	if s.tables.points == nil {
		if s.tables.points, err = start(ctx, s.tables, manifest.FilePoints, table.NewFilePoints); err != nil {
			return err
		}
	}
	return table.AppendFile(ctx, s.tables.points.rows, row, src, points)
}

// NextRef implements partSink.
func (s *refSink) NextRef() int64 { return s.tables.refRows() }

// NextInline implements partSink.
func (s *refSink) NextInline() int64 { return s.first + s.inline.Rows() }

func (t *tables) refRows() int64 { return t.first + t.refs.rows.Rows() }

func (t *tables) closeRefs() error {
	err := errors.Join(t.refs.finish(t), t.inline.finish(t))
	if t.points != nil {
		err = errors.Join(err, t.points.finish(t))
	}
	return err
}

// copyFilePoints copies the access points of packed files, whose rows of refs move. Damaged ones are left out: they are
// found again when the file is read.
func copyFilePoints(ctx context.Context, from *table.Reader, files []*manifest.File, moved int64, sink scan.RefSink) error {
	for _, f := range files {
		if f.Hidden || !source.IsPacked(f.URL) {
			continue
		}
		c, ok, err := from.ReadFilePoints(ctx, f.Row, &f.Source)
		if err == nil && ok {
			err = sink.FilePoints(ctx, f.Row+moved, &f.Source, c.File())
		}
		var damage *manifest.DamageError
		if err != nil && !errors.As(err, &damage) {
			return err
		}
	}
	return nil
}

// content is the content of a snapshot's tables.
type content struct {
	known      func(kind manifest.TableKind, id string) (bool, error)
	files      []*manifest.File // new files
	placements []manifest.Placement
	values     []*manifest.Values
}

// write writes all tables except the references, and adds all of them to the snapshot.
func (t *tables) write(ctx context.Context, snap *manifest.Snapshot, c *content) error {
	if err := t.writeFiles(ctx, c); err != nil {
		return err
	}
	placed, err := t.writeTiles(ctx, c.placements)
	if err != nil {
		return err
	}
	snap.Placements = append(snap.Placements, placed...)
	snap.Tables = append(slices.Clip(t.kept), t.done...)
	snap.Refs = snap.Rows(manifest.Refs)
	return nil
}

// writeFiles writes the new sources, and headers, attributes and values that old tables lack.
func (t *tables) writeFiles(ctx context.Context, c *content) error {
	newSources := table.NewSources
	if slices.ContainsFunc(c.files, func(f *manifest.File) bool { return f.Scanned != "" }) {
		newSources = table.NewMovedSources // taken from a snapshot whose sources were moved
	}
	sources, err := start(ctx, t, manifest.Sources, newSources)
	if err != nil {
		return err
	}
	values := map[string]*manifest.Values{}
	for _, f := range c.files {
		if err := sources.rows.Append(table.NewSourceRow(f)); err != nil {
			return fmt.Errorf("%s: %w", f.URL, err)
		}
		for _, v := range f.Values {
			if v != nil && !v.Summed {
				values[v.ID] = v
			}
		}
	}
	for _, v := range c.values {
		values[v.ID] = v
	}
	if err := sources.finish(t); err != nil {
		return err
	}
	if err := t.takeEarly(ctx, c); err != nil {
		return err
	}
	return writeByID(ctx, t, c, manifest.ValueOf, table.NewValues, values)
}

// earlyTables holds the tables of headers and group attributes, which do not depend on the plan.
type earlyTables struct {
	tables
	wait func() error
}

// beginEarly starts to write the early tables.
func (t *tables) beginEarly(ctx context.Context, c *content) {
	e := &earlyTables{tables: tables{repo: t.repo, kept: t.kept}}
	ready := make(chan error, 1)
	e.wait = sync.OnceValue(func() error { return <-ready })
	t.early = e
	go func() { ready <- e.writeHeaders(ctx, c) }()
}

// takeEarly waits for the early tables, and takes them over.
func (t *tables) takeEarly(ctx context.Context, c *content) error {
	// An append that extends a plan has no early start.
	if t.early == nil {
		t.beginEarly(ctx, c)
	}
	if err := t.early.wait(); err != nil {
		return err
	}
	t.done = append(t.done, t.early.done...)
	return nil
}

func (t *tables) writeHeaders(ctx context.Context, c *content) error {
	headers, groups := map[string]*manifest.FileHeader{}, map[string]*manifest.FileGroups{}
	for _, f := range c.files {
		headers[f.Header.ID], groups[f.Groups.ID] = f.Header, f.Groups
	}
	delete(headers, "") // files that only references name have no header
	delete(groups, "")
	return errors.Join(
		writeByID(ctx, t, c, manifest.Headers, table.NewHeaders, headers),
		writeByID(ctx, t, c, manifest.Groups, table.NewGroups, groups))
}

// writeByID writes the rows that old tables lack, sorted by ID.
func writeByID[T any](ctx context.Context, t *tables, c *content, kind manifest.TableKind, make func(io.Writer) *table.Writer[*T], all map[string]*T) error {
	if c.known != nil {
		for id := range all {
			known, err := c.known(kind, id)
			if err != nil {
				return err
			}
			if known {
				delete(all, id)
			}
		}
	}
	if len(all) == 0 {
		return nil
	}
	d, err := start(ctx, t, kind, make)
	if err != nil {
		return err
	}
	// The order makes equal builds byte-identical.
	for _, id := range slices.Sorted(maps.Keys(all)) {
		if err := d.rows.Append(all[id]); err != nil {
			return err
		}
	}
	return d.finish(t)
}

// writeTiles writes the tiles of placements. Placements with the same number of dimensions share a
// table, because an archive with many placements should not have as many files.
func (t *tables) writeTiles(ctx context.Context, placements []manifest.Placement) ([]manifest.PlacementTable, error) {
	placed := make([]manifest.PlacementTable, len(placements))
	alike := map[int][]int{}
	for i := range placements {
		p := &placements[i]
		placed[i] = manifest.PlacementTable{ID: p.ID, Dims: p.Dims}
		if len(p.Tiles) > 0 {
			alike[len(p.Dims)] = append(alike[len(p.Dims)], i)
		}
	}
	for _, dims := range slices.Sorted(maps.Keys(alike)) {
		if err := t.writeAlike(ctx, dims, alike[dims], placements, placed); err != nil {
			return nil, err
		}
	}
	return placed, nil
}

// writeAlike writes the tiles of placements with the same number of dimensions.
func (t *tables) writeAlike(ctx context.Context, dims int, which []int, placements []manifest.Placement, placed []manifest.PlacementTable) error {
	d, err := start(ctx, t, manifest.Tiles, func(w io.Writer) *table.Writer[manifest.Tile] { return table.NewTiles(w, dims) })
	if err != nil {
		return err
	}
	for _, i := range which {
		segment := manifest.Segment{Row: d.rows.Rows(), Rows: int64(len(placements[i].Tiles)), Shift: make([]int64, dims)}
		if err := d.rows.Append(placements[i].Tiles...); err != nil {
			return err
		}
		placed[i].Segments = []manifest.Segment{segment}
	}
	if err := d.finish(t); err != nil {
		return err
	}
	for _, i := range which {
		placed[i].Segments[0].Table = t.done[len(t.done)-1].Name
	}
	return nil
}
