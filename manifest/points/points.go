// Package points finds access points of large stored chunks, and stores them in a table of the manifest. Then a part of
// such a chunk is read without decompressing all of it: see codec.AccessPoints.
//
//	find     the stored chunks that are large, and have no access points yet
//	decode   each of them once, on all cores
//	write    their points in the order of refs, together with the points of small older tables
//	publish  a snapshot with the table
//
// Sources, arrays and values do not change, and readers that ignore the table read the same values.
package points

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/bits"
	"runtime"
	"slices"
	"time"

	"varve/codec"
	"varve/manifest"
	"varve/manifest/internal/table"
	"varve/manifest/repo"
	"varve/manifest/store"
)

// Options configure Make. Nil means the zero value.
type Options struct {
	// Arrays are the paths of the arrays whose chunks get access points; nil for all arrays. An array that is named
	// here must have chunks that can have access points.
	Arrays []string
	Every  int64 // decoded bytes between access points; 0: as in the manifest, or codec.DefaultSpan
	// Known selects only arrays that have access points already. So the chunks of new files get them too.
	Known bool
	Again bool          // replaces the access points that chunks have already
	Store store.Options // how sources are read, such as allowed folders

	Workers  int    // number of chunks that are decoded at once; 0: as many as there are processors
	Memory   int64  // bytes for chunks that are being decoded; 0: 512 MiB. A larger chunk is decoded alone
	Writer   string // the program, recorded in the snapshot
	Progress func(done, total int64)
}

const (
	// defaultMemory is the limit if Options.Memory is 0.
	defaultMemory = 512 << 20
	// attempts is how often Make publishes again after another writer published first.
	attempts = 100
)

// Result says what Make did.
type Result struct {
	Snapshot *manifest.Snapshot // the published snapshot; nil if there was nothing to do
	Arrays   []ArrayResult      // of the arrays with new access points
	Whole    []string           // paths of arrays that were left out: a sample of their chunks has one access point only
	Chunks   int64              // number of chunks with new access points
	Decoded  int64              // bytes of their elements
	Stored   int64              // their stored bytes
	Points   int64              // number of access points
	Windows  int64              // bytes of their windows, before compression
	Bytes    int64              // size of the tables of access points of the snapshot
}

// ArrayResult counts the chunks of an array that got access points.
type ArrayResult struct {
	Path   string
	Chunks int64
}

// Make adds access points of large chunks to the manifest in dir. If it fails or is cancelled, it publishes the points
// that it has, so that the next call continues.
func Make(ctx context.Context, dir string, opts *Options) (result *Result, err error) {
	if opts == nil {
		opts = &Options{}
	}
	m := &maker{Options: *opts}
	m.Every = max(opts.Every, 0)
	m.Workers = cmp.Or(max(opts.Workers, 0), runtime.GOMAXPROCS(0))
	m.Memory = cmp.Or(max(opts.Memory, 0), defaultMemory)
	if m.repo, err = repo.Open(ctx, dir); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, m.repo.Close()) }()
	if err := m.make(ctx); err != nil {
		return nil, err
	}
	return &m.result, nil
}

// maker is the state of one call of Make.
type maker struct {
	Options
	repo   *repo.Repository
	result Result
}

func (m *maker) make(ctx context.Context) (err error) {
	id, err := m.repo.Current(ctx)
	if err != nil {
		return err
	}
	snap, err := m.repo.Load(ctx, id)
	if err != nil {
		return err
	}
	opts := m.Store
	// Every chunk is decoded once, so a cache would only take memory.
	opts.CacheBytes, opts.FlightBytes = -1, max(m.Memory/2, 1)
	s, err := store.New(m.repo, snap, &opts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if m.Every == 0 {
		if m.Every, err = distance(ctx, s); err != nil {
			return err
		}
	}
	chunks, err := m.find(ctx, s)
	if err != nil || len(chunks) == 0 {
		return err
	}
	made, merged, failed := m.write(ctx, s, snap, chunks)
	if made.Rows == 0 {
		return failed
	}
	if err := m.publish(context.WithoutCancel(ctx), made, merged); err != nil {
		return errors.Join(failed, err)
	}
	if failed != nil {
		return fmt.Errorf("%w\n%d of %d chunks have access points now; the next run continues", failed, m.result.Chunks, len(chunks))
	}
	return nil
}

// found is a chunk that gets access points.
type found struct {
	*store.StoredChunk
	array int // index of the first array that has it
}

// find returns the chunks that get access points, in the order of their refs. Several arrays may have the same chunk.
func (m *maker) find(ctx context.Context, s *store.Store) (chunks []found, err error) {
	arrays := s.Arrays()
	if m.Arrays != nil {
		arrays = nil
		for _, path := range m.Arrays {
			a, err := s.Array(path)
			if err != nil {
				return nil, err
			}
			arrays = append(arrays, a)
		}
	}
	for i, a := range arrays {
		all, noPoints := a.LargeChunks(ctx, codec.LeastIndexed(m.Every))
		large, known, first := 0, 0, len(chunks)
		for c, err := range all {
			if err != nil {
				return nil, err
			}
			large++
			has := false
			if !m.Again || m.Known {
				if has, err = c.HasPoints(ctx); err != nil {
					return nil, err
				}
			}
			if has {
				known++
			}
			if !has || m.Again {
				chunks = append(chunks, found{c, i})
			}
		}
		if large == 0 && m.Arrays != nil {
			return nil, m.refuse(a, noPoints())
		}
		if added := chunks[first:]; len(added) > 0 && m.Arrays == nil && known == 0 {
			if m.Known {
				chunks = chunks[:first]
			} else if isWhole, err := m.isWhole(ctx, added[0]); err != nil {
				return nil, err
			} else if isWhole {
				chunks = chunks[:first]
				m.result.Whole = append(m.result.Whole, a.Path())
			}
		}
		m.result.Arrays = append(m.result.Arrays, ArrayResult{Path: a.Path()})
	}
	slices.SortStableFunc(chunks, func(a, b found) int { return cmp.Compare(a.Row, b.Row) })
	return slices.CompactFunc(chunks, func(a, b found) bool { return a.Row == b.Row }), nil
}

// isWhole reports whether a chunk has one access point only, which gains nothing. It decodes the chunk, unless the codec
// tells.
func (m *maker) isWhole(ctx context.Context, c found) (bool, error) {
	if !c.HasFewPoints() {
		return false, nil
	}
	points, err := c.FindPoints(ctx, m.Every)
	return err == nil && len(points.Points) == 1, err
}

// distance returns about the distance of the access points that the manifest has: a power of two.
func distance(ctx context.Context, s *store.Store) (int64, error) {
	tables := s.Tables()
	for c, err := range tables.ScanPoints(ctx, 0, tables.Rows(manifest.Points)) {
		var damage *manifest.DamageError
		switch {
		case errors.As(err, &damage):
			return codec.DefaultSpan, nil
		case err != nil:
			return 0, err
		case len(c.Points) > 1: // the last span is shorter
			between := c.Points[len(c.Points)-1].Out / int64(len(c.Points)-1)
			return max(int64(1)<<(bits.Len64(uint64(between))-1), codec.MinSpan), nil
		}
	}
	return codec.DefaultSpan, nil
}

// refuse returns the error for an array that was named and has no chunk that can have access points.
func (m *maker) refuse(a *store.Array, reason error) error {
	if reason != nil {
		return fmt.Errorf("%s: %w", a.Path(), reason)
	}
	return fmt.Errorf("%s: no stored chunk has at least %d bytes of elements, %d times the distance of access points: %w",
		a.Path(), codec.LeastIndexed(m.Every), codec.LeastIndexed(1), errors.ErrUnsupported)
}

// bufferBytes is the size of the buffer of the table that is written.
const bufferBytes = 256 << 10

// write writes a table with the points of the chunks. It copies the points of small older tables, which the table
// replaces. After an error the table has the points that were found before.
func (m *maker) write(ctx context.Context, s *store.Store, snap *manifest.Snapshot, chunks []found) (made manifest.Table, merged []manifest.Table, failed error) {
	file, err := m.repo.NewTable(ctx, manifest.Points)
	if err != nil {
		return made, nil, err
	}
	defer file.Abort() // does nothing after Commit
	buffer := bufio.NewWriterSize(file, bufferBytes)
	w := table.NewPoints(buffer)
	merged = m.smallTables(snap, chunks)
	old := newMerger(context.WithoutCancel(ctx), s.Tables(), merged)
	defer old.stop()
	for c, err := range m.decode(ctx, chunks) {
		if err != nil {
			failed = err
			break
		}
		err := old.before(c.Ref, w.Append)
		if err == nil {
			err = w.Append(c.ChunkPoints)
		}
		if err != nil {
			return manifest.Table{}, nil, err
		}
		m.count(c)
	}
	if m.result.Chunks == 0 {
		return manifest.Table{}, nil, failed
	}
	if err := errors.Join(old.rest(w.Append), w.Close(), buffer.Flush()); err != nil {
		return manifest.Table{}, nil, errors.Join(failed, err)
	}
	if made, err = file.Commit(); err != nil {
		return manifest.Table{}, nil, errors.Join(failed, err)
	}
	made.Rows = w.Rows()
	return made, merged, failed
}

// count adds a chunk to the result.
func (m *maker) count(c decoded) {
	m.result.Chunks++
	m.result.Arrays[c.array].Chunks++
	m.result.Decoded += c.Size
	m.result.Stored += c.Length
	m.result.Points += int64(len(c.Points))
	for _, window := range c.Windows {
		m.result.Windows += int64(len(window))
	}
}

// publish makes a snapshot with the new table current. Another writer may have published since the chunks were found:
// refs keep their rows, and every row of the table names the bytes that it belongs to, so the table stays valid.
func (m *maker) publish(ctx context.Context, made manifest.Table, merged []manifest.Table) error {
	m.result.Arrays = slices.DeleteFunc(m.result.Arrays, func(a ArrayResult) bool { return a.Chunks == 0 })
	for range attempts {
		id, err := m.repo.Current(ctx)
		if err != nil {
			return err
		}
		old, err := m.repo.Load(ctx, id)
		if err != nil {
			return err
		}
		next := *old
		next.ID, next.Created, next.Writer = "", time.Time{}, m.Writer
		next.Message = fmt.Sprintf("index %d chunks", m.result.Chunks)
		next.Tables = m.listed(old.Tables, made, merged)
		if err = m.repo.Publish(ctx, &next, id); err == nil {
			m.result.Snapshot = &next
			return nil
		}
		if !errors.Is(err, repo.ErrConflict) {
			return err
		}
	}
	return fmt.Errorf("%s: other processes published %d times in the meantime: %w", m.repo.Name(), attempts, repo.ErrConflict)
}

// listed returns the tables of a snapshot with the new table, and without the tables that were merged into it.
func (m *maker) listed(all []manifest.Table, made manifest.Table, merged []manifest.Table) (tables []manifest.Table) {
	first := int64(0)
	m.result.Bytes = 0
	replaced := append(slices.Clone(merged), made) // the same points again are a table of the same name
	all = slices.DeleteFunc(slices.Clone(all), func(t manifest.Table) bool {
		return slices.ContainsFunc(replaced, func(u manifest.Table) bool { return u.Name == t.Name })
	})
	for _, t := range append(all, made) {
		if t.Kind == manifest.Points {
			t.First = first
			first += t.Rows
			m.result.Bytes += t.Bytes
		}
		tables = append(tables, t)
	}
	return tables
}

// Remove publishes a snapshot without access points, and returns it, or nil if there were none.
func Remove(ctx context.Context, dir, writer string) (snap *manifest.Snapshot, err error) {
	repository, err := repo.Open(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, repository.Close()) }()
	for range attempts {
		id, err := repository.Current(ctx)
		if err != nil {
			return nil, err
		}
		old, err := repository.Load(ctx, id)
		if err != nil || old.Rows(manifest.Points) == 0 {
			return nil, err
		}
		next := *old
		next.ID, next.Created, next.Writer, next.Message = "", time.Time{}, writer, "remove access points"
		next.Tables = slices.DeleteFunc(slices.Clone(old.Tables), func(t manifest.Table) bool { return t.Kind == manifest.Points })
		err = repository.Publish(ctx, &next, id)
		if err == nil {
			return &next, nil
		}
		if !errors.Is(err, repo.ErrConflict) {
			return nil, err
		}
	}
	return nil, fmt.Errorf("%s: other processes published %d times in the meantime: %w", dir, attempts, repo.ErrConflict)
}
