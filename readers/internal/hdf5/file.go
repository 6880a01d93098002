// Package hdf5 reads HDF5 and netCDF-4 files: their metadata, the positions of their chunks, and
// the values of small datasets.
//
// It follows the HDF5 File Format Specification, version 3, with the additions of HDF5 2.0.
// Comments cite its sections (IV.A.2 and so on). All reads are byte ranges without locks, and any
// number of goroutines may read at once.
//
//	superblock ── root group's object header
//	object header ── messages: dataspace, datatype, fill value, layout, filters,
//	                           attributes, links, …
//	group ──┬── symbol table: v1 B-tree ── SNOD nodes, names in a local heap
//	        ├── link messages
//	        └── dense links: v2 B-tree ── fractal heap
//	chunks ─┬── v1 B-tree, v2 B-tree
//	        └── single chunk, implicit, fixed array, extensible array
//	varying lengths ── global heap
//
// Addresses in the file are relative to its base address, the start of the superblock. Offsets in
// this package's results are relative to the start of the source.
//
// The package accepts files that libhdf5 accepts. It rejects damaged objects one by one: it lists
// the objects that can be read, and the others with the reason. It also lists the readable members
// of a damaged group, for which libhdf5 lists none.
package hdf5

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"

	"varve/readers"
	"varve/readers/source"
)

// File is an open HDF5 file. Any number of goroutines may use it.
type File struct {
	src   *source.Source
	allow []string // folders of other files that may be read if this file refers to them
	// opener opens these files. nil means the default.
	opener *source.Opener
	super  superblock
	end    int64 // end of the file's data; bytes from here on are not read
	image  []imageEntry
	// imageErr is the reason why the metadata cache image cannot be read. Then no object can be
	// read.
	imageErr error
	sohm     []sharedIndex

	mu      sync.Mutex
	indexes []source.Range // chunk indexes to prefetch when the first one is read
	arrays  []*chunkIndex  // those of them that are extensible arrays

	prefetched atomic.Int64 // bytes that prefetchLists have fetched
	heaps      map[uint64]*globalHeap
	heapBytes  int // bytes in heaps
}

// OpenFile reads the superblock of src and its extension. Other files that it refers to can be read
// if they are in its folder, or in an allowed one.
func OpenFile(ctx context.Context, src *source.Source, allow ...string) (*File, error) {
	f := &File{
		src:   src,
		allow: allow,
		heaps: map[uint64]*globalHeap{},
	}
	if err := f.open(ctx); err != nil {
		return nil, f.locate("", err)
	}
	return f, nil
}

func (f *File) open(ctx context.Context) error {
	if err := f.readSuperblock(ctx); err != nil {
		return err
	}
	if f.super.version < 2 {
		// The superblock of these versions contains the root group's symbol table entry. libhdf5
		// rejects the file if the root group's header cannot be read.
		_, err := f.readFirstChunk(ctx, f.super.root)
		return err
	}
	if f.super.extension == undefined {
		return nil
	}
	return f.readExtension(ctx)
}

// Search reports whether the source has an HDF5 signature at one of the permitted offsets: other content may be before it.
func Search(ctx context.Context, src *source.Source) (bool, error) {
	_, err := findSignature(ctx, src)
	if errors.Is(err, errNoSignature) {
		return false, nil
	}
	return err == nil, err
}

// view returns n bytes at an address. The caller must not change them.
func (f *File) view(ctx context.Context, addr uint64, n int) ([]byte, error) {
	if f.imageErr != nil {
		return nil, f.imageErr
	}
	// The image is newer than the bytes at the address.
	if b := f.imageBytes(addr, n); b != nil {
		return b, nil
	}
	off, err := f.offset(addr, uint64(n))
	if err != nil {
		return nil, err
	}
	return f.src.View(ctx, off, n)
}

// cursorOnce is cursorAt for bytes that are read once: it bypasses the cache. The result is valid until the
// window is used again.
func (f *File) cursorOnce(ctx context.Context, w *source.Window, addr uint64, n int) (*cursor, error) {
	if f.imageErr != nil || f.image != nil {
		return f.cursorAt(ctx, addr, n)
	}
	off, err := f.offset(addr, uint64(n))
	if err != nil {
		return nil, err
	}
	w.Source = f.src
	b, err := w.View(ctx, off, n)
	if err != nil {
		return nil, err
	}
	return f.newCursor(b, addr), nil
}

// offset converts an address to an offset in the source, and checks that the file has n bytes
// there.
func (f *File) offset(addr, n uint64) (int64, error) {
	off := addr + f.super.base
	// The sum wraps around for damaged addresses: off < addr detects this.
	if addr == undefined || off < addr || off > uint64(f.end) || n > uint64(f.end)-off {
		return 0, &readers.Error{Offset: int64(min(addr, math.MaxInt64)), Err: readers.Corruptf("%d bytes at address %d are beyond the end of the file (%d)", n, addr, uint64(f.end)-f.super.base)}
	}
	return int64(off), nil
}

// cursorAt returns a cursor over n bytes at an address.
func (f *File) cursorAt(ctx context.Context, addr uint64, n int) (*cursor, error) {
	b, err := f.view(ctx, addr, n)
	if err != nil {
		return nil, err
	}
	return f.newCursor(b, addr), nil
}

// newCursor returns a cursor over bytes that were read at an address.
func (f *File) newCursor(b []byte, addr uint64) *cursor {
	return &cursor{b: b, at: int64(addr + f.super.base), offsets: f.super.offsets, lengths: f.super.lengths}
}

// available returns how many bytes the file has at an address, at most limit.
func (f *File) available(addr uint64, limit int) int {
	for _, e := range f.image {
		if addr >= e.addr && addr-e.addr < uint64(len(e.data)) {
			return min(limit, len(e.data)-int(addr-e.addr))
		}
	}
	off := addr + f.super.base
	if addr == undefined || off < addr || off >= uint64(f.end) {
		return 0
	}
	return int(min(uint64(limit), uint64(f.end)-off))
}

// locate adds the source and the object's path to an error. Errors of cancelled contexts stay
// unchanged.
func (f *File) locate(path string, err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	located := readers.Error{Offset: -1, Err: err}
	if e, ok := err.(*readers.Error); ok { // not errors.As: an error that wraps one would lose its text
		located = *e
	}
	if located.Source == "" {
		located.Source = f.src.Name()
	}
	if located.Path == "" {
		located.Path = path
	}
	return &located
}

// unsupported returns an error for valid data that varve does not support.
func unsupported(format string, args ...any) error {
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), errors.ErrUnsupported)
}
