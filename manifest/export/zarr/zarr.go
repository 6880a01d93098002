// Package zarr copies a store into a Zarr hierarchy with chunks of its own, in format 3 or 2, with the chunk
// shapes of the source or others.
//
//	DEST/zarr.json                   the root, with consolidated metadata: written last
//	DEST/GROUP/ARRAY/zarr.json
//	DEST/GROUP/ARRAY/c/0/0           chunks
//	DEST/.varve/journal              the copied chunks; removed at the end
//	DEST/.varve/copy.json            the snapshot and options of the copy
//	DEST/.varve/slice-3-of-8/        the journal of a slice, see Options.Slice; removed at the end
//
// A chunk with the same elements and codecs in the source is copied unchanged, also into and out of shards.
// All others are decoded and encoded. Chunks are read in boxes as large as memory allows, so that source
// chunks are not decoded again for neighbours. If boxes are too small for that, the copy has two passes, with
// temporary blocks between them: see Plan.
//
// A stopped copy continues where it was: see journal. At the end every file is read again and compared with
// its checksum; only then are the documents written that make the copy visible. Object stores compare
// checksums themselves, so only sizes are checked there; the journal is in segments, and the root is stored
// conditionally: see home.
package zarr

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/sync/semaphore"

	"varve/codec"
	"varve/manifest"
	"varve/manifest/conventions"
	"varve/manifest/export/internal/progress"
	"varve/manifest/repo"
	"varve/manifest/store"
	"varve/readers/source"
)

// Options configure a copy. Zero values select the defaults.
type Options struct {
	// Format is the Zarr format, 3 or 2; 0 means 3.
	Format int
	// Chunks are the chunk lengths of the copy, where they differ from the chunk lengths of the source.
	Chunks []Edges
	// Shards are shard lengths; Chunks are then the chunks in shards.
	Shards []Edges
	// Compressor selects codecs of Zarr's core specification, which every client has, with this compressor. Chunks that
	// are stored with these codecs are copied unchanged. Empty means the codecs of the source.
	Compressor codec.Compressor
	// Conventions are the conventions by which arrays and groups are described. All but conventions.GDAL need format 3.
	Conventions conventions.Set
	// Memory bounds the memory for chunks in bytes, in addition to the store's cache; 0 means 256 MiB.
	Memory int64
	// Temporary is the folder or the prefix of an object store for temporary blocks: see Plan. Empty means the system's folder.
	Temporary string
	// Planned, if set, is called before anything is read. It does not return before the copy may begin.
	Planned func(*Plan)
	// Workers is the number of boxes copied concurrently; 0 means GOMAXPROCS, and at least 16 for object
	// stores.
	Workers int
	// Append adds the data that is new since the copy.
	Append bool
	// Rectilinear lets Append change regular chunk grids to rectilinear ones.
	Rectilinear bool
	// Force replaces an existing copy.
	Force bool
	// Slice restricts the copy to one slice of the chunks. Machines may write slices at the same time. The copy is complete
	// only after one without a slice, which takes the chunks of the slices and writes those that are missing.
	Slice manifest.Slice
	// Manifest is the repository from which the store was opened. Append needs it.
	Manifest *repo.Repository
	// Progress is called from time to time, by one goroutine at a time. It does not include verification.
	Progress func(done, total int64)
}

// Edges are the lengths of chunks along a dimension: one that repeats, or all of them.
type Edges struct {
	Array string // a path.Match pattern for the path without its first slash; empty means all arrays but the dimension's coordinate
	Dim   string
	Sizes []int64
}

// Result describes a copy.
type Result struct {
	Arrays   int
	Verbatim int64 // chunks copied unchanged
	Inner    int64 // chunks within shards copied unchanged
	Encoded  int64 // chunks that were decoded and encoded
	Missing  int64 // chunks with only fill values
	Resumed  int64 // chunks that an earlier, stopped copy had written
	Bytes    int64 // bytes of written chunks
	Appended bool
	// Extensions are the parts of the copy that are outside Zarr's core specification, in format 3.
	Extensions []Extension
	// Description is the attributes of Options.Conventions.
	Description *conventions.Description
}

// Extension is a part of an array's schema that is outside Zarr's core specification, so that some clients cannot read
// the array.
type Extension struct {
	Array string
	Part  string // data_type, chunk_grid or codecs
	Name  string // of the extension: string, rectilinear, numcodecs.shuffle
}

const (
	defaultMemory = 256 << 20
	// awayWorkers mostly wait for the object store.
	awayWorkers = 16
)

func (o *Options) defaults(dest string) (*Options, error) {
	d := Options{}
	if o != nil {
		d = *o
	}
	if d.Format == 0 {
		d.Format = 3
	}
	if d.Format != 2 && d.Format != 3 {
		return nil, fmt.Errorf("format %d of Zarr; known are 2 and 3: %w", d.Format, errors.ErrUnsupported)
	}
	if d.Format == 2 && d.Conventions.NeedsFormat3() {
		return nil, fmt.Errorf("the conventions %s are of format 3 of Zarr: %w", d.Conventions, errors.ErrUnsupported)
	}
	if err := d.Slice.Check(); err != nil {
		return nil, err
	}
	if !d.Slice.IsWhole() && (d.Append || d.Force) {
		return nil, fmt.Errorf("a slice of a copy cannot append or replace; do that without slices: %w", errors.ErrUnsupported)
	}
	if d.Memory <= 0 {
		d.Memory = defaultMemory
	}
	if d.Workers <= 0 {
		if d.Workers = runtime.GOMAXPROCS(0); source.IsObject(dest) {
			d.Workers = max(d.Workers, awayWorkers)
		}
	}
	return &d, nil
}

// Write copies the arrays of a store into a folder or below a prefix of an object store.
func Write(ctx context.Context, s *store.Store, dest string, opts *Options) (*Result, error) {
	if err := s.CheckListed(); err != nil {
		return nil, err
	}
	o, err := opts.defaults(dest)
	if err == nil {
		err = s.Snapshot().CheckNames()
	}
	if err != nil {
		return nil, err
	}
	if o.Force {
		if err := s.CheckReplaced(ctx, dest); err != nil {
			return nil, err
		}
	}
	c := &copier{opts: o, from: s, snapshot: s.Snapshot()}
	if c.arrays, err = targets(s, o); err != nil {
		return nil, err
	}
	described, err := conventions.Describe(ctx, s, o.Conventions)
	if err != nil {
		return nil, err
	}
	for _, t := range c.arrays {
		if attributes, ok := described.Arrays[t.spec.Path]; ok {
			t.schema.Attributes = attributes
		}
	}
	if c.documents, err = documents(described.In(s.Groups()), c.arrays, o); err != nil {
		return nil, err
	}
	if c.home, ctx, err = openDestination(ctx, dest, o); err != nil {
		return nil, err
	}
	result, err := c.do(ctx)
	if result != nil {
		result.Description = described
	}
	return result, c.home.close(err)
}

func (c *copier) do(ctx context.Context) (*Result, error) {
	if err := c.prepare(ctx); err != nil {
		return nil, err
	}
	return c.run(ctx)
}

// copier is one call of Write.
type copier struct {
	home      *destination
	opts      *Options
	from      *store.Store
	snapshot  *manifest.Snapshot
	arrays    []*target
	documents []document
	journal   *journal
	blocks    *blockFolder // nil if no array needs two passes
	seen      *progress.Counter
	memory    *semaphore.Weighted
	counts

	mu    sync.Mutex
	spare []byte // memory for a box
}

// state is the content of copy.json.
type state struct {
	Varve    int     `json:"varve"`
	Snapshot string  `json:"snapshot"`
	Format   int     `json:"format"`
	Chunks   []Edges `json:"chunks,omitempty"`
	Shards   []Edges `json:"shards,omitempty"`
	Padded   bool    `json:"padded,omitempty"`

	Compressor  codec.Compressor `json:"compressor,omitempty"`
	Conventions conventions.Set  `json:"conventions,omitempty"`
	// Coordinates is true if Chunks or Shards of all arrays do not apply to coordinates. Older copies applied them.
	Coordinates bool `json:"coordinates,omitempty"`
}

func (c *copier) state() state {
	return state{manifest.Version, c.snapshot.ID, c.opts.Format, c.opts.Chunks, c.opts.Shards, c.snapshot.HasPadding(), c.opts.Compressor, c.opts.Conventions,
		slices.ContainsFunc(slices.Concat(c.opts.Chunks, c.opts.Shards), func(e Edges) bool { return e.Array == "" })}
}
