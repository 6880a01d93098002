package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"runtime"
	"slices"
	"strings"
	"sync"

	"varve/manifest"
	"varve/manifest/internal/mosaic"
	"varve/manifest/internal/table"
	"varve/manifest/repo"
	"varve/readers/source"
)

// Options limit which sources a store may read and how much memory it uses. The comment of a field says what
// zero means.
type Options struct {
	// Allow are prefixes of sources that may be read: folders, and URLs up to a slash. A manifest that
	// the same user built on this machine needs none for its sources, because its snapshot has a Seal
	// that was made with a key in the user's config folder. If a prefix is missing, reading returns a
	// source.ErrForbidden that names the prefixes to allow.
	Allow []string
	// Trusted allows all sources, whoever built the manifest.
	Trusted bool
	// Access, if set, decides which sources may be read, instead of Allow.
	Access *Access

	// Snapshot is the snapshot to open: its ID, the first digits of its ID, or a tag. Empty is the current one.
	// If the snapshot of a whole ID is missing, the error is a *manifest.DamageError with FileMissing.
	Snapshot string
	// Padded declares the padded chunks that a build recorded with plan.Options.Padded. These arrays have
	// encoded_chunk_shapes in their schema; clients that do not know it decode wrong values. Compacted chunks of
	// these arrays are not used.
	Padded bool
	// Download lets the store's own opener download whole files from servers that do not support byte
	// ranges.
	Download bool
	// Opener opens sources; nil for the store's own.
	Opener *source.Opener

	// Trace, if set, is called for each Read, ReadRegion and Chunk, and for each read of the store's own opener.
	Trace source.TraceFunc

	// CacheBytes limits the memory for decoded and encoded chunks; 0 means DefaultCacheBytes, a
	// negative number no cache.
	CacheBytes int64
	// FlightBytes limits the memory for the chunks that all reads together are fetching and decoding; 0
	// means 256 MiB. A larger chunk is read alone.
	FlightBytes int64
	// OpenFiles limits the number of open sources; 0 means 256, or a quarter of the process's limit if
	// that is less.
	OpenFiles int
	// Workers limits the number of goroutines that decode for one read; 0 means GOMAXPROCS.
	Workers int
}

// tables are the methods of *table.Reader that a store needs.
type tables interface {
	ReadRefs(ctx context.Context, row int64, dst []manifest.Ref) error
	ReadColumns(ctx context.Context, row int64, n int, dst *manifest.RefColumns) error
	Source(ctx context.Context, row int64) (*table.SourceRow, error)
	Index(ctx context.Context) (*table.SourceIndex, error)
	Header(ctx context.Context, id string) (*manifest.Header, error)
	Values(ctx context.Context, id string) (*manifest.Values, error)
	Inline(ctx context.Context, row int64) ([]byte, error)
	Patch(ctx context.Context, run *manifest.Patched, chunk int64) (table.Patch, bool, error)
	ReadPoints(ctx context.Context, ref int64) (*table.ChunkPoints, bool, error)
	ReadFilePoints(ctx context.Context, ref int64, src *manifest.Source) (*table.ChunkPoints, bool, error)
	ScanTiles(ctx context.Context, s manifest.Segment) iter.Seq2[manifest.Tile, error]
	Close() error
}

// Store is an open manifest. It may be used by any number of goroutines.
type Store struct {
	snapshot   *manifest.Snapshot
	tables     tables
	repository *repo.Repository // nil for a store that New made
	access     *Access
	opener     *source.Opener
	ownOpener  bool
	trace      source.TraceFunc
	patches    *patches
	arrays     []*Array
	paths      map[string]*Array

	workers int
	sources *sources
	flight  *limiter
	cache   *cache
	buffers *buffers

	mu      sync.Mutex
	layouts map[string]*mosaic.Layout
	index   *fileIndex
}

// ErrNoArray is returned for an array that the manifest does not have.
var ErrNoArray = errors.New("no such array")

// DefaultCacheBytes is the limit if Options.CacheBytes is 0.
const DefaultCacheBytes = 128 << 20

// tableCache limits the memory for pages of tables.
const tableCache = 64 << 20

// Open opens a manifest. It reads no source, and reads the tables only when they are needed; in an
// object store these reads end when ctx is cancelled.
func Open(ctx context.Context, dir string, opts *Options) (*Store, error) {
	if opts == nil {
		opts = &Options{}
	}
	repository, snap, err := openSnapshot(ctx, dir, opts.Snapshot)
	if err != nil {
		return nil, err
	}
	s, err := New(repository, snap, opts)
	if err != nil {
		return nil, errors.Join(err, repository.Close())
	}
	s.repository = repository
	return s, nil
}

// openSnapshot opens a repository, and loads the current snapshot or the one with an ID or a tag.
func openSnapshot(ctx context.Context, dir, id string) (*repo.Repository, *manifest.Snapshot, error) {
	if id == "" {
		return repo.OpenCurrent(ctx, dir)
	}
	repository, err := repo.Open(ctx, dir)
	if err != nil {
		return nil, nil, err
	}
	if !manifest.IsSum(id) {
		id, err = repository.Find(ctx, id)
	}
	var snap *manifest.Snapshot
	if err == nil {
		snap, err = repository.Load(ctx, id)
	}
	if err != nil {
		return nil, nil, errors.Join(err, repository.Close())
	}
	return repository, snap, nil
}

// New opens a snapshot of a repository, published or not. It ignores opts.Snapshot. The caller closes
// the repository after the store.
func New(repository *repo.Repository, snap *manifest.Snapshot, opts *Options) (*Store, error) {
	t, err := table.Open(snap.Tables, table.InRepository(repository), table.NewCache(tableCache))
	if err != nil {
		return nil, err
	}
	s, err := newStore(snap, t, repository, opts)
	if err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return s, nil
}

// newStore opens a snapshot with its tables.
func newStore(snap *manifest.Snapshot, t tables, repository *repo.Repository, opts *Options) (*Store, error) {
	if opts.Padded {
		var err error
		if snap, err = snap.WithPadding(); err != nil {
			return nil, err
		}
	}
	name := ""
	if repository != nil {
		name = repository.Name()
	}
	access, err := accessOf(snap, name, opts)
	if err != nil {
		return nil, err
	}
	s := &Store{
		snapshot: snap,
		tables:   t,
		access:   access,
		opener:   opts.Opener,
		trace:    opts.Trace,
		paths:    map[string]*Array{},
		workers:  cmp.Or(max(opts.Workers, 0), runtime.GOMAXPROCS(0)),
		flight:   &limiter{limit: cmp.Or(max(opts.FlightBytes, 0), 256<<20)},
		cache:    newCache(max(cmp.Or(opts.CacheBytes, DefaultCacheBytes), 0)),
		buffers:  &buffers{},
		layouts:  map[string]*mosaic.Layout{},
	}
	if s.opener == nil {
		s.opener, s.ownOpener = source.NewOpener(&source.Options{
			Download: opts.Download, Trace: opts.Trace,
			CacheBytes: source.DefaultOptions().CacheBytes, // does not grow: sources stay open, and chunks do not go through it
		}), true
	}
	s.opener = access.Opener(s.opener)
	s.sources = newSources(cmp.Or(max(opts.OpenFiles, 0), source.ShareOfOpen(256, 4)), s.openScanned)
	s.patches = newPatches(snap, repository)
	for i := range snap.Arrays {
		a, err := s.newArray(&snap.Arrays[i])
		if err != nil {
			return nil, err
		}
		s.arrays = append(s.arrays, a)
		s.paths[a.Path()] = a
	}
	return s, nil
}

// Close closes the open sources and tables. Reads in progress fail.
func (s *Store) Close() error {
	err := errors.Join(s.sources.close(), s.tables.Close())
	if s.ownOpener {
		err = errors.Join(err, s.opener.Close())
	}
	if s.repository != nil {
		err = errors.Join(err, s.repository.Close())
	}
	return err
}

// Tables returns the reader of the snapshot's tables. The store closes it.
func (s *Store) Tables() *table.Reader {
	t, _ := s.tables.(*table.Reader)
	return t
}

// IsKept reports whether the manifest still has the snapshot. "varve gc" may have removed the snapshot, and the
// tables that only it uses, after the store was opened.
func (s *Store) IsKept(ctx context.Context) (bool, error) {
	if s.repository == nil {
		return true, nil
	}
	_, err := s.repository.Load(ctx, s.snapshot.ID)
	var damage *manifest.DamageError
	if errors.As(err, &damage) && damage.Damage == manifest.FileMissing {
		return false, nil
	}
	return err == nil, err
}

// Current returns the ID of the current snapshot, which may be newer than the one that was opened.
func (s *Store) Current(ctx context.Context) (string, error) {
	if s.repository == nil {
		return s.snapshot.ID, nil
	}
	return s.repository.Current(ctx)
}

// Snapshot returns the snapshot that was opened. It must not be changed.
func (s *Store) Snapshot() *manifest.Snapshot { return s.snapshot }

// Groups returns the groups that clients see, sorted by path. They must not be changed.
func (s *Store) Groups() []manifest.GroupSchema { return s.snapshot.Groups }

// Arrays returns all arrays, in the order of the snapshot. They must not be changed.
func (s *Store) Arrays() []*Array { return s.arrays }

// Array returns the array at a path, "/group/name". The first slash may be omitted. A missing array is
// an ErrNoArray.
func (s *Store) Array(path string) (*Array, error) {
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	if a, ok := s.paths[path]; ok {
		return a, nil
	}
	return nil, fmt.Errorf("%s: %w", path, ErrNoArray)
}

// checkedSources is the number of sources that CheckAccess looks at.
const checkedSources = 100

// CheckAccess returns a *ForbiddenError if sources may not be read. It opens none, and looks at some of many sources.
func (s *Store) CheckAccess(ctx context.Context) error {
	if s.access.isUnlimited {
		return nil
	}
	many := s.snapshot.Rows(manifest.Sources)
	for row := int64(0); row < many; row += max(1, many/checkedSources) {
		src, err := s.Source(ctx, row)
		if err != nil {
			return err
		}
		if err := s.access.Check(source.Outer(src.URL)); err != nil {
			return err
		}
	}
	return nil
}

// Source returns the scanned version of a source by its row. Rows after the last source are files of
// compacted chunks, with absolute paths; these rows are valid for this store only.
func (s *Store) Source(ctx context.Context, row int64) (manifest.Source, error) {
	if s.patches.isFile(row) {
		return s.patches.source(ctx, row)
	}
	r, err := s.tables.Source(ctx, row)
	if err != nil {
		return manifest.Source{}, err
	}
	return r.Source, nil
}

// OpenSource opens the scanned version of a source by its row, if it may be read. The caller closes
// it.
func (s *Store) OpenSource(ctx context.Context, row int64) (*source.Source, error) {
	src, err := s.Source(ctx, row)
	if err != nil {
		return nil, err
	}
	return s.openScanned(ctx, row, src)
}

// openScanned is OpenSource for a row whose source is known.
func (s *Store) openScanned(ctx context.Context, row int64, src manifest.Source) (*source.Source, error) {
	if s.patches.isFile(row) {
		return s.patches.open(ctx, row)
	}
	outer, err := openVersion(ctx, s.opener, src)
	if err != nil || !source.IsPacked(src.URL) {
		return outer, err
	}
	return s.opener.Unpack(ctx, outer, src.URL, s.filePoints(ctx, row, &src))
}

// filePoints returns the access points of a source that is a packed file, or nil if the manifest has none that can be used: then
// they are found again.
func (s *Store) filePoints(ctx context.Context, row int64, src *manifest.Source) *source.Points {
	r, err := s.tables.Source(ctx, row)
	if err == nil {
		var found *table.ChunkPoints
		var ok bool
		if found, ok, err = s.tables.ReadFilePoints(ctx, r.Row, src); err == nil && ok {
			return found.File()
		}
	}
	if err != nil {
		_, end := s.trace.Begin(ctx, source.Operation{Name: "store.points", Object: src.URL})
		end(err)
	}
	return nil
}

// layout returns the tiles of a placement. It reads them once for all arrays that share it.
func (s *Store) layout(ctx context.Context, id string) (*mosaic.Layout, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l, ok := s.layouts[id]; ok {
		return l, nil
	}
	i := slices.IndexFunc(s.snapshot.Placements, func(p manifest.PlacementTable) bool { return p.ID == id })
	if i < 0 {
		return nil, fmt.Errorf("placement %s is not in the snapshot: %w", id, fs.ErrNotExist)
	}
	p := &s.snapshot.Placements[i]
	arranger := mosaic.NewArranger(p.Dims)
	for _, segment := range p.Segments {
		for t, err := range s.tables.ScanTiles(ctx, segment) {
			if err == nil {
				err = arranger.Add(&t)
			}
			if err != nil {
				return nil, fmt.Errorf("placement %s: %w", id, err)
			}
		}
	}
	l, err := arranger.Layout()
	if err != nil {
		return nil, fmt.Errorf("placement %s: %w", id, err)
	}
	s.layouts[id] = l
	return l, nil
}
