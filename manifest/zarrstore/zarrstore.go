// Package zarrstore keeps Zarr arrays in local folders and in object stores: it creates them,
// reads and writes regions and selections, resizes them by growth policies, appends to them and
// deletes them. It writes format 3 with regular and rectilinear grids, sharded or not, and
// format 2. It also opens arrays that other programs made.
//
//	NAME/zarr.json       or .zarray and .zattrs
//	NAME/c/0/0           a chunk, or a shard: replaced whole, in a folder by a rename
//	NAME/c/0/.1.draft-*  one that is being written (only in folders)
//	NAME/.varve-create   a process is creating the array
//
// Readers see every chunk complete, either before or after a write. The document decides which
// chunks belong to the array. Growing writes the chunks first and the document last; shrinking
// writes the document first. So readers never find a chunk missing. Chunks that a stopped process
// leaves are outside of the array; they are deleted when the array grows over them.
//
// Any number of goroutines may write an array, even to the same chunk, but only one process at a
// time: to write a part of a chunk, the chunk is read, changed and replaced. In an object store, an
// array that another process has resized since it was opened is a source.ErrConflict.
package zarrstore

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"varve/codec"
	"varve/grid"
	"varve/readers/source"
	"varve/zarrjson"
)

// Options say how an array is created and written. The zero value has the defaults.
type Options struct {
	// Format is the Zarr format of a new array, 3 or 2; 0 means 3. Open ignores it.
	Format int
	// Workers is the number of chunks that are read or written at a time; 0 means GOMAXPROCS, and at least
	// 16 in an object store.
	Workers int
	// Opener makes the requests to object stores; nil means one of the array's own.
	Opener *source.Opener
	// Clip reads and writes shards by version 1.1 of sharding, whose inner chunks need not divide the
	// shard: see codec.WithClipping. The document of a new array keeps it, so Open needs the option only
	// for arrays of other programs. These programs may refuse arrays of varve with such shards.
	Clip bool
	// Sync writes every chunk to the disk before it replaces another, as documents always are. Object stores
	// always do so.
	Sync bool
}

// Array is an array in a folder or an object store. It may be used by any number of goroutines.
type Array struct {
	files *files
	opts  Options

	mu      sync.RWMutex // held for writing while the array is resized or deleted
	form    form
	version string // of the document; always empty in a folder

	locks [64]sync.Mutex // of chunks that are changed, by number
}

// form is the state of an array between two changes of its shape.
type form struct {
	schema *zarrjson.Array   // as in format 3
	v2     *zarrjson.V2Array // nil in format 3
	grid   *grid.Grid
	base   *codec.Pipeline // of some chunk; nil if an axis has no chunks
}

// Create makes an array without any chunk in a folder, or below a prefix of an object store such as
// s3://bucket/copy.zarr/sst. Nothing may be there: otherwise the error is fs.ErrExist. Of several
// concurrent calls, also of other processes, one succeeds. The schema is kept and must not change
// afterwards.
func Create(ctx context.Context, name string, schema *zarrjson.Array, opts *Options) (*Array, error) {
	o := defaults(opts, name)
	f, err := newForm(o.clipped(schema), o.Format)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	a := &Array{opts: o}
	if a.files, err = openFiles(ctx, name, &o); err != nil {
		return nil, err
	}
	if err := a.create(ctx, f); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

func (a *Array) create(ctx context.Context, f *form) error {
	if err := a.files.create(ctx); err != nil {
		return err
	}
	err := a.createAttributes(ctx, f)
	if err == nil {
		err = a.publish(ctx, f)
	}
	a.form = *f
	return errors.Join(err, a.files.removeClaim(ctx))
}

// CreateLike makes an array with the schema of another, but without its values: see
// [Array.CopyFrom].
func CreateLike(ctx context.Context, name string, other *Array, opts *Options) (*Array, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	f := other.now()
	if o.Format = 3; f.v2 != nil {
		o.Format = 2
	}
	return Create(ctx, name, f.schema, &o)
}

// Open opens the array in a folder or below a prefix. The error is fs.ErrNotExist if there is none.
func Open(ctx context.Context, name string, opts *Options) (_ *Array, err error) {
	a := &Array{opts: defaults(opts, name)}
	if a.files, err = openFiles(ctx, name, &a.opts); err != nil {
		return nil, err
	}
	f, err := a.readForm(ctx)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", a.files.Name(""), err), a.Close())
	}
	a.form = *f
	return a, nil
}

// Close closes the connections to an object store. Without it, they end when they are idle.
func (a *Array) Close() error { return a.files.Close(nil) }

// clipped returns the schema with the codecs that the options ask for.
func (o *Options) clipped(schema *zarrjson.Array) *zarrjson.Array {
	if !o.Clip {
		return schema
	}
	s := *schema
	s.Codecs = codec.WithClipping(s.Codecs)
	return &s
}

// objectWorkers is the number of concurrent requests to object stores, which mostly wait.
const objectWorkers = 16

func defaults(opts *Options, name string) Options {
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.Format == 0 {
		o.Format = 3
	}
	if o.Workers <= 0 {
		o.Workers = runtime.GOMAXPROCS(0)
		if source.IsObject(name) {
			o.Workers = max(o.Workers, objectWorkers)
		}
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
		return nil, fmt.Errorf("%s: chunk %v of %v: %w", a.files.Name(""), coords, f.grid.Counts(), grid.ErrOutOfBounds)
	}
	return f.pipeline(c.Codec)
}

// Chunk returns the stored bytes of a chunk, or nil if it is not stored.
func (a *Array) Chunk(ctx context.Context, coords []int64) ([]byte, error) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	if _, ok := a.form.grid.Number(coords); !ok {
		return nil, fmt.Errorf("%s: chunk %v of %v: %w", a.files.Name(""), coords, a.form.grid.Counts(), grid.ErrOutOfBounds)
	}
	return a.files.readChunk(ctx, a.key(coords))
}

// key returns the key of a chunk's file.
func (a *Array) key(coords []int64) string { return string(a.form.schema.Keys.Append(nil, coords)) }

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
	for _, key := range []string{v3Name, v2Name, v2Attributes} {
		if err := a.files.remove(ctx, key); err != nil {
			return err
		}
	}
	err := a.sweep(ctx, func([]int64) bool { return false })
	a.files.removeFolders()
	return err
}
