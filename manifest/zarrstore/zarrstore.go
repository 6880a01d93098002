// Package zarrstore keeps Zarr arrays in local folders: it creates them, reads and writes
// regions and selections, resizes them by growth policies, appends to them and deletes them.
// It writes format 3 with regular and rectilinear grids, sharded or not, and format 2. It
// also opens arrays that other programs made.
//
//	DIR/zarr.json      or .zarray and .zattrs
//	DIR/c/0/0          a chunk, or a shard: replaced whole, by a rename
//	DIR/c/0/.1.draft-* one that is being written
//
// Readers see every chunk complete, either before or after a write. The document decides which
// chunks belong to the array. Growing writes the chunks first and the document last; shrinking
// writes the document first. So readers never find a chunk missing. Chunks that a stopped process
// leaves are outside of the array; they are deleted when the array grows over them.
//
// Any number of goroutines may write an array, even to the same chunk, but only one process at a
// time: to write a part of a chunk, the chunk is read, changed and replaced.
package zarrstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"varve/codec"
	"varve/grid"
	"varve/zarrjson"
)

// Options say how an array is created and written. The zero value has the defaults.
type Options struct {
	// Format is the Zarr format of a new array, 3 or 2; 0 means 3. Open ignores it.
	Format int
	// Workers is the number of chunks that are read or written at a time; 0 means GOMAXPROCS.
	Workers int
	// Clip reads and writes shards by version 1.1 of sharding, whose inner chunks need not divide the
	// shard: see codec.WithClipping. The document does not say so: give the option to Open too. Other
	// programs refuse such arrays.
	Clip bool
	// Sync writes every chunk to the disk before it replaces another, as documents always are.
	Sync bool
}

// Array is an array in a folder. It may be used by any number of goroutines.
type Array struct {
	dir  string
	opts Options

	mu   sync.RWMutex // held for writing while the array is resized or deleted
	form form

	locks [64]sync.Mutex // of chunks that are changed, by number
}

// form is the state of an array between two changes of its shape.
type form struct {
	schema *zarrjson.Array   // as in format 3
	v2     *zarrjson.V2Array // nil in format 3
	grid   *grid.Grid
	base   *codec.Pipeline // of some chunk; nil if an axis has no chunks
}

// Create makes an array without any chunk in a folder, which must be empty or not exist.
// The schema is kept and must not change afterwards.
func Create(dir string, schema *zarrjson.Array, opts *Options) (*Array, error) {
	a := &Array{dir: filepath.Clean(dir), opts: defaults(opts)}
	if entries, err := os.ReadDir(dir); len(entries) > 0 {
		return nil, fmt.Errorf("%s is not empty: %w", dir, fs.ErrExist)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	f, err := newForm(a.opts.clipped(schema), a.opts.Format)
	if err == nil {
		err = os.MkdirAll(a.dir, 0o777)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	a.form = *f
	return a, a.publish(f)
}

// CreateLike makes an array with the schema of another, but without its values: see
// [Array.CopyFrom].
func CreateLike(dir string, other *Array, opts *Options) (*Array, error) {
	o := defaults(opts)
	f := other.now()
	if o.Format = 3; f.v2 != nil {
		o.Format = 2
	}
	return Create(dir, f.schema, &o)
}

// Open opens the array in a folder. The error is fs.ErrNotExist if there is none.
func Open(dir string, opts *Options) (*Array, error) {
	a := &Array{dir: filepath.Clean(dir), opts: defaults(opts)}
	f, err := a.opts.readForm(a.dir)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	a.form = *f
	return a, nil
}

// clipped returns the schema with the codecs that the options ask for.
func (o *Options) clipped(schema *zarrjson.Array) *zarrjson.Array {
	if !o.Clip {
		return schema
	}
	s := *schema
	s.Codecs = codec.WithClipping(s.Codecs)
	return &s
}

func defaults(opts *Options) Options {
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.Format == 0 {
		o.Format = 3
	}
	if o.Workers <= 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	return o
}

// now returns the current form. It must not be changed.
func (a *Array) now() form {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return a.form
}

// Schema returns the array's schema as a document of format 3, even if it is stored in format 2. It must
// not be changed.
func (a *Array) Schema() *zarrjson.Array { return a.now().schema }

// Grid returns the array's chunk grid.
func (a *Array) Grid() *grid.Grid { return a.now().grid }

// Shape returns the array's shape. It must not be changed.
func (a *Array) Shape() []int64 { return a.now().grid.Shape() }

// Pipeline returns the codec pipeline of the chunk at some coordinates.
func (a *Array) Pipeline(coords []int64) (*codec.Pipeline, error) {
	f := a.now()
	c, ok := f.grid.Chunk(coords)
	if !ok {
		return nil, fmt.Errorf("%s: chunk %v of %v: %w", a.dir, coords, f.grid.Counts(), grid.ErrOutOfBounds)
	}
	return f.pipeline(c.Codec)
}

// Chunk returns the stored bytes of a chunk, or nil if it is not stored.
func (a *Array) Chunk(_ context.Context, coords []int64) ([]byte, error) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	if _, ok := a.form.grid.Number(coords); !ok {
		return nil, fmt.Errorf("%s: chunk %v of %v: %w", a.dir, coords, a.form.grid.Counts(), grid.ErrOutOfBounds)
	}
	return readIfThere(a.path(coords))
}

// path returns the name of a chunk's file.
func (a *Array) path(coords []int64) string {
	return filepath.Join(a.dir, filepath.FromSlash(string(a.form.schema.Keys.Append(nil, coords))))
}

// pipeline returns the codec pipeline of chunks of a shape.
func (f *form) pipeline(shape []int64) (*codec.Pipeline, error) {
	if f.base == nil {
		return codec.New(f.schema.Codecs, f.schema.Form(shape))
	}
	if slices.Equal(f.base.Form().Shape, shape) {
		return f.base, nil
	}
	return f.base.WithShape(shape)
}

// Delete removes the array: its documents first, so that readers find no array, and then its
// chunks. Files that do not belong to the array stay.
func (a *Array) Delete(ctx context.Context) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, name := range []string{v3Name, v2Name, v2Attributes} {
		if err := os.Remove(filepath.Join(a.dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	folders, err := a.sweep(ctx, func([]int64) bool { return false })
	for i := len(folders) - 1; i >= 0; i-- {
		_ = os.Remove(folders[i]) // folders with other files stay
	}
	return err
}
