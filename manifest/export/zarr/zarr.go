// Package zarr copies what a store holds into a Zarr hierarchy of its own: real chunks, of
// format 3 or 2, cut as the source is or as asked for.
//
//	DEST/zarr.json                   the root, with consolidated metadata: written last
//	DEST/GROUP/ARRAY/zarr.json
//	DEST/GROUP/ARRAY/c/0/0           chunks
//	DEST/.varve/journal              what is copied so far; gone when all is
//	DEST/.varve/copy.json            of which snapshot the copy is, and how it was asked for
//
// A chunk that the source declares with the same cells and codecs is copied as it is, and
// every other one is read as elements and encoded. What is read at a time is a box of
// chunks, as large as memory allows, so that chunks of the source are not decoded again and
// again for neighbours.
//
// A copy that was stopped goes on where it was: see journal. At the end every file is read
// back and held against its checksum, and only then the documents are written that make the
// hierarchy one.
package zarr

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"varve/manifest"
	"varve/manifest/export/internal/change"
	"varve/manifest/store"
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
	// Workers is how many boxes are copied at a time; 0 stands for GOMAXPROCS.
	Workers int
	// Append adds what the manifest has more than when it was copied.
	Append bool
	// Force replaces a copy that stands there.
	Force bool
	// Manifest is what the store was opened from. Append needs it.
	Manifest *manifest.Repository
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
	Encoded  int64 // chunks that were read and encoded
	Missing  int64 // chunks that are all fill
	Resumed  int64 // chunks that an earlier, stopped copy had written
	Bytes    int64 // of chunks that were written
	Appended bool
}

const (
	defaultMemory = 256 << 20
	stateFolder   = ".varve"
	journalName   = "journal"
	stateName     = "copy.json"
)

func (o *Options) defaults() (*Options, error) {
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
		d.Workers = runtime.GOMAXPROCS(0)
	}
	return &d, nil
}

// Write copies the arrays of a store into a folder.
func Write(ctx context.Context, s *store.Store, dest string, opts *Options) (*Result, error) {
	o, err := opts.defaults()
	if err != nil {
		return nil, err
	}
	c := &copier{dest: filepath.Clean(dest), opts: o, snapshot: s.Snapshot()}
	if c.arrays, err = targets(s, o); err != nil {
		return nil, err
	}
	if c.documents, err = documents(s.Groups(), c.arrays, o); err != nil {
		return nil, err
	}
	if err := c.prepare(ctx); err != nil {
		return nil, err
	}
	return c.run(ctx)
}

// copier is one call of Write.
type copier struct {
	dest      string
	opts      *Options
	snapshot  *manifest.Snapshot
	arrays    []*target
	documents []document
	journal   *journal
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

// prepare settles what stands at the destination.
func (c *copier) prepare(ctx context.Context) error {
	entries, err := os.ReadDir(c.dest)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(c.dest, stateFolder)); err != nil {
		return fmt.Errorf("%s is there, and varve did not copy it: export to another folder: %w", c.dest, fs.ErrExist)
	}
	if c.opts.Force {
		return os.RemoveAll(c.dest)
	}
	if c.opts.Append {
		return c.extend(ctx)
	}
	if complete, err := c.complete(); !complete {
		return err // the journal says whether what was begun is this copy
	}
	return fmt.Errorf("%s is there: append to it, or replace it: %w", c.dest, fs.ErrExist)
}

// complete reports whether there is a copy and nobody is at work on it.
func (c *copier) complete() (bool, error) {
	_, unfinished := os.Stat(filepath.Join(c.dest, stateFolder, journalName))
	_, err := os.Stat(filepath.Join(c.dest, stateFolder, stateName))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && errors.Is(unfinished, fs.ErrNotExist), err
}

// extend finds what is new since the copy was made.
func (c *copier) extend(ctx context.Context) error {
	b, err := os.ReadFile(filepath.Join(c.dest, stateFolder, stateName))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: the copy is not complete: finish it before anything is appended", c.dest)
	}
	if err != nil {
		return err
	}
	var was state
	if err := json.Unmarshal(b, &was); err != nil {
		return fmt.Errorf("%s: %w", filepath.Join(c.dest, stateFolder, stateName), err)
	}
	is := c.state()
	is.Snapshot = was.Snapshot
	if x, _ := json.Marshal(is); string(x) != string(b) {
		return fmt.Errorf("%s was copied with other chunks or another format; append with the same", c.dest)
	}
	if c.opts.Manifest == nil {
		return fmt.Errorf("%s: nothing can be appended without the manifest's folder: %w", c.dest, errors.ErrUnsupported)
	}
	h := change.NewHistory(c.opts.Manifest)
	old, err := h.Load(ctx, was.Snapshot)
	if err == nil {
		err = c.compare(ctx, &change.Snapshots{Old: old, Now: c.snapshot, Past: h})
	} else if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%s is a copy of snapshot %.12s, which the manifest no longer has: replace the copy: %w", c.dest, was.Snapshot, fs.ErrExist)
	}
	return errors.Join(err, h.Close())
}

// compare leaves of every array what is new.
func (c *copier) compare(ctx context.Context, s *change.Snapshots) error {
	for _, t := range c.arrays {
		old, err := previous(s.Old, t, c.opts)
		if err != nil {
			return err
		}
		if old == nil {
			continue // an array that is new
		}
		t.old = old
		ch, err := s.Of(ctx, t.spec, t.source.Grid())
		if err != nil {
			return err
		}
		t.fresh = change.Growth(old.grid, t.grid)
		if ch.Kind == change.Everything && t.kept() {
			t.fresh = ch // an array that is in the manifest is small: it is written again
			continue
		}
		if ch.Kind == change.Everything || t.fresh.Kind == change.Everything || ch.Kind == change.Behind && t.fresh.Kind == change.Behind && ch.Axis != t.fresh.Axis {
			return fmt.Errorf("%s: what was copied is not as it was: replace the copy", t.spec.Path)
		}
	}
	return nil
}
