// Package zarr copies what a store holds into a Zarr hierarchy of its own: real chunks, of
// format 3 or 2, cut as the source is or as asked for.
//
//	DEST/zarr.json                   the root, with consolidated metadata: written last
//	DEST/GROUP/ARRAY/zarr.json
//	DEST/GROUP/ARRAY/c/0/0           chunks
//	DEST/.varve/journal              what is copied so far; gone when all is
//	DEST/.varve/copy.json            of which snapshot the copy is, and how it was asked for
//
// A chunk that the source declares with the same cells and codecs is copied as it is, also
// into a shard and out of one, and every other one is read as elements and encoded. What is read at a time is a box of
// chunks, as large as memory allows, so that chunks of the source are not decoded again and
// again for neighbours.
//
// A copy that was stopped goes on where it was: see journal. At the end every file is read
// back and held against its checksum, and only then the documents are written that make the
// hierarchy one. In object stores, which compare checksums when they store, it is seen that all
// is there; the journal is in segments, and the root is stored on condition: see home.
package zarr

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"varve/manifest"
	"varve/manifest/export/internal/progress"
	"varve/manifest/store"
	"varve/readers/source"
)

// Options say what is copied, and how. What is zero is as the field says.
type Options struct {
	// Format of the hierarchy, 3 or 2; 0 stands for 3.
	Format int
	// Chunks are edges that arrays are cut at, instead of the source's.
	Chunks []Edges
	// Shards are edges of shards; Chunks are then what is in them.
	Shards []Edges
	// Memory bounds what is held of chunks, besides what the store keeps; 0 stands for 256 MiB.
	Memory int64
	// Workers is how many boxes are copied at a time; 0 stands for GOMAXPROCS, and into object
	// stores for at least 16.
	Workers int
	// Append adds what the manifest has more than when it was copied.
	Append bool
	// Force replaces a copy that stands there.
	Force bool
	// Manifest is what the store was opened from. Append needs it.
	Manifest *manifest.Repository
	// Progress is told how many chunks are done, now and then, by one goroutine at a time. Reading
	// them back comes behind that.
	Progress func(done, total int64)
}

// Edges are the lengths of chunks along a dimension: one that repeats, or all of them.
type Edges struct {
	Array string // a pattern as of path.Match, on the path without its first slash; empty for all
	Dim   string
	Sizes []int64
}

// Result is what was copied.
type Result struct {
	Arrays   int
	Verbatim int64 // chunks that are as the source has them
	Inner    int64 // chunks within shards that are as the source has them
	Encoded  int64 // chunks that were read and encoded
	Missing  int64 // chunks that are all fill
	Resumed  int64 // chunks that an earlier, stopped copy had written
	Bytes    int64 // of chunks that were written
	Appended bool
}

const (
	defaultMemory = 256 << 20
	// awayWorkers wait for an object store, most of the time.
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

// Write copies the arrays of a store into a folder, or below a prefix of an object store.
func Write(ctx context.Context, s *store.Store, dest string, opts *Options) (*Result, error) {
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
	if c.documents, err = documents(s.Groups(), c.arrays, o); err != nil {
		return nil, err
	}
	if c.home, ctx, err = openHome(ctx, dest, o); err != nil {
		return nil, err
	}
	result, err := c.do(ctx)
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
	home      home
	opts      *Options
	from      *store.Store
	snapshot  *manifest.Snapshot
	arrays    []*target
	documents []document
	journal   *journal
	seen      *progress.Counter
	counts
}

// state is the file copy.json.
type state struct {
	Varve    int     `json:"varve"`
	Snapshot string  `json:"snapshot"`
	Format   int     `json:"format"`
	Chunks   []Edges `json:"chunks,omitempty"`
	Shards   []Edges `json:"shards,omitempty"`
}

func (c *copier) state() state {
	return state{manifest.Version, c.snapshot.ID, c.opts.Format, c.opts.Chunks, c.opts.Shards}
}
