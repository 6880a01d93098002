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
	"varve/manifest/mosaic"
	"varve/manifest/table"
	"varve/readers/source"
)

// Options say what a store may reach and how much memory it takes. What is zero is as the
// field says; nil options are all zero.
type Options struct {
	// Allow are the prefixes of sources that may be read: folders, and URLs up to a slash. A manifest
	// that the same user built, on this machine, reads what it was built of without: its snapshot
	// carries a Seal by a key in the user's config folder.
	// The prefixes that a manifest needs and nobody allows are named in the error, which is
	// a source.ErrForbidden.
	Allow []string
	// Trusted lets the manifest reach what it names, whoever built it.
	Trusted bool

	// Snapshot is the id of the one to open; empty for the current one. Repository.Find completes
	// a short one. The error for one that is not there is a *manifest.DamageError that is Missing.
	Snapshot string
	// Download fetches files whole from servers that send no ranges, for the store's own opener.
	Download bool
	// Opener opens sources; nil for one of the store's own. Which redirects it follows, and
	// which addresses it calls, is then its own business.
	Opener *source.Opener

	// CacheBytes bounds what is kept of decoded and encoded chunks; 0 stands for
	// DefaultCacheBytes, less than that for none.
	CacheBytes int64
	// FlightBytes bounds what is fetched and not yet placed, by all reads together; 0 stands
	// for 256 MiB. A chunk that is larger is read alone.
	FlightBytes int64
	// OpenFiles bounds the sources that are open at a time; 0 stands for 256, or for a quarter of the
	// files that the process may have open, if that is less.
	OpenFiles int
	// Workers bounds the goroutines that one read decodes with; 0 stands for GOMAXPROCS.
	Workers int
}

// tables is what a store needs of the tables of a manifest. A *table.Reader is one.
type tables interface {
	ReadRefs(ctx context.Context, row int64, dst []manifest.Ref) error
	ReadColumns(ctx context.Context, row int64, n int, dst *manifest.RefColumns) error
	Source(ctx context.Context, row int64) (*table.SourceRow, error)
	Index(ctx context.Context) (*table.SourceIndex, error)
	Header(ctx context.Context, id string) (*manifest.Header, error)
	Values(ctx context.Context, id string) (*manifest.Values, error)
	Inline(ctx context.Context, row int64) ([]byte, error)
	Patch(ctx context.Context, run *manifest.Patched, chunk int64) (table.Patch, bool, error)
	ScanTiles(ctx context.Context, s manifest.Segment) iter.Seq2[manifest.Tile, error]
	Close() error
}

// Store is an open manifest. It may be used by any number of goroutines.
type Store struct {
	snapshot   *manifest.Snapshot
	tables     tables
	repository *manifest.Repository // nil if the tables are all there is
	access     *access
	opener     *source.Opener
	ownOpener  bool
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

// ErrNoArray marks the error of asking for an array that the manifest does not have.
var ErrNoArray = errors.New("no such array")

// DefaultCacheBytes is what Options.CacheBytes stands for if nothing is said.
const DefaultCacheBytes = 128 << 20

// tableCache bounds the pages of tables that are kept.
const tableCache = 64 << 20

// Open opens a manifest. It reads no source, and of the tables only what is asked for later; in
// an object store that ends with ctx.
func Open(ctx context.Context, dir string, opts *Options) (*Store, error) {
	if opts == nil {
		opts = &Options{}
	}
	repo, err := manifest.Open(ctx, dir)
	if err != nil {
		return nil, err
	}
	s, err := open(ctx, repo, opts)
	if err != nil {
		return nil, errors.Join(err, repo.Close())
	}
	s.repository = repo
	return s, nil
}

func open(ctx context.Context, repo *manifest.Repository, opts *Options) (*Store, error) {
	id, err := opts.Snapshot, error(nil)
	if id == "" {
		id, err = repo.Current(ctx)
	}
	if err != nil {
		return nil, err
	}
	snap, err := repo.Load(ctx, id)
	if err != nil {
		return nil, err
	}
	return New(repo, snap, opts)
}

// New makes a store of a snapshot that is in a repository, published or not, and of which
// opts.Snapshot says nothing. The repository stays the caller's, who closes it after the store.
func New(repo *manifest.Repository, snap *manifest.Snapshot, opts *Options) (*Store, error) {
	t, err := table.Open(snap.Tables, table.InRepository(repo), table.NewCache(tableCache))
	if err != nil {
		return nil, err
	}
	s, err := newStore(snap, t, repo, opts)
	if err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return s, nil
}

// newStore makes a store of a snapshot and its tables.
func newStore(snap *manifest.Snapshot, t tables, repo *manifest.Repository, opts *Options) (*Store, error) {
	access, err := accessFor(snap, opts)
	if err != nil {
		return nil, err
	}
	s := &Store{
		snapshot: snap,
		tables:   t,
		access:   access,
		opener:   opts.Opener,
		paths:    map[string]*Array{},
		workers:  cmp.Or(max(opts.Workers, 0), runtime.GOMAXPROCS(0)),
		flight:   &limiter{limit: cmp.Or(max(opts.FlightBytes, 0), 256<<20)},
		cache:    newCache(max(cmp.Or(opts.CacheBytes, DefaultCacheBytes), 0)),
		buffers:  &buffers{},
		layouts:  map[string]*mosaic.Layout{},
	}
	if s.opener == nil {
		s.opener, s.ownOpener = access.newOpener(opts.Download), true
	}
	s.sources = newSources(cmp.Or(max(opts.OpenFiles, 0), source.ShareOfOpen(256, 4)), s.OpenSource)
	s.patches = newPatches(snap, repo)
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

// Close closes the sources and tables that are open. Reads under way fail.
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

// Tables reads the tables of the snapshot. It is the store's, who closes it.
func (s *Store) Tables() *table.Reader {
	t, _ := s.tables.(*table.Reader)
	return t
}

// IsKept reports whether the manifest still has the snapshot: "varve gc" may have removed it since
// it was opened, and the tables that only it needed.
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

// Current is the id of the snapshot that is current by now.
func (s *Store) Current(ctx context.Context) (string, error) {
	if s.repository == nil {
		return s.snapshot.ID, nil
	}
	return s.repository.Current(ctx)
}

// Snapshot is what was opened. It must not be changed.
func (s *Store) Snapshot() *manifest.Snapshot { return s.snapshot }

// Groups are the groups as clients see them, by path. They must not be changed.
func (s *Store) Groups() []manifest.GroupSchema { return s.snapshot.Groups }

// Arrays are all arrays, in the order of the snapshot. They must not be changed.
func (s *Store) Arrays() []*Array { return s.arrays }

// Array returns the array at a path, "/group/name"; the first slash may be left out. The
// error for one that is not there is ErrNoArray.
func (s *Store) Array(path string) (*Array, error) {
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	if a, ok := s.paths[path]; ok {
		return a, nil
	}
	return nil, fmt.Errorf("%s: %w", path, ErrNoArray)
}

// Source is what is known of a source by its row, as it was when it was scanned. Rows behind
// those of all sources are files of the manifest with chunks that were re-encoded and kept, by
// their absolute paths; they hold for this store only.
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

// OpenSource opens a source by its row, as it was when it was scanned, if it may be read. It is the
// caller's to close.
func (s *Store) OpenSource(ctx context.Context, row int64) (*source.Source, error) {
	if s.patches.isFile(row) {
		return s.patches.open(ctx, row)
	}
	src, err := s.Source(ctx, row)
	if err != nil {
		return nil, err
	}
	return s.access.open(ctx, s.opener, src)
}

// layout reads the tiles of a placement, once for all arrays that share it.
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
