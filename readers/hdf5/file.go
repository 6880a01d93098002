// Package hdf5 reads HDF5 and netCDF-4 files: their metadata, where their chunks are, and
// the values that have to be shown.
//
// It follows the HDF5 File Format Specification, version 3 with the additions of HDF5
// 2.0; comments cite its sections (IV.A.2 and the like). Everything is read through
// byte ranges, without locks, by any number of goroutines at once.
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
// Addresses in the file count from its base address, which is where the superblock
// starts; offsets in this package's results count from byte 0 of the source.
//
// What libhdf5 reads is read, what it refuses as damaged is refused object by object:
// the objects that can be read are listed, and the others with the reason. So are the members of a
// group, of which libhdf5 lists none where one is damaged.
package hdf5

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"varve/readers"
	"varve/readers/source"
)

// File is an open HDF5 file. It may be used by any number of goroutines.
type File struct {
	src   *source.Source
	allow []string // folders of which files may be read that this one names
	super superblock
	end   int64 // nothing is read from here on
	image []imageEntry
	// imageErr is why the metadata cache image cannot be read: then no object can.
	imageErr error
	sohm     []sharedIndex

	mu      sync.Mutex
	indexes []source.Range // to be announced when the first is read
	heaps   map[uint64]*globalHeap
	held    int // bytes of heaps
}

// OpenFile reads the superblock of src and what belongs to it. Files that it names are read if
// they lie in its folder, or in one that is allowed.
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
		// These have the root group's symbol table in the superblock: without the group
		// itself there is no file.
		_, err := f.readFirstChunk(ctx, f.super.root)
		return err
	}
	if f.super.extension == undefined {
		return nil
	}
	return f.readExtension(ctx)
}

// Detect reports whether the source has an HDF5 signature where one may be.
func Detect(ctx context.Context, src *source.Source) (bool, error) {
	_, err := findSignature(ctx, src)
	if errors.Is(err, errNoSignature) {
		return false, nil
	}
	return err == nil, err
}

// view returns n bytes at an address, which the caller must not change.
func (f *File) view(ctx context.Context, addr uint64, n int) ([]byte, error) {
	if f.imageErr != nil {
		return nil, f.imageErr
	}
	if b := f.imaged(addr, n); b != nil {
		return b, nil
	}
	off, err := f.offset(addr, uint64(n))
	if err != nil {
		return nil, err
	}
	return f.src.View(ctx, off, n)
}

// scan is at for bytes that are needed once, valid until the window is used again.
func (f *File) scan(ctx context.Context, w *source.Window, addr uint64, n int) (*cursor, error) {
	if f.imageErr != nil || f.image != nil {
		return f.at(ctx, addr, n)
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
	return f.over(b, addr), nil
}

// offset turns an address into an offset in the source, where n bytes must be.
func (f *File) offset(addr, n uint64) (int64, error) {
	off := addr + f.super.base
	if addr == undefined || off < addr || off > uint64(f.end) || n > uint64(f.end)-off {
		return 0, &readers.Error{Offset: -1, Err: readers.Corruptf("%d bytes at address %d lie beyond the end, %d", n, addr, uint64(f.end)-f.super.base)}
	}
	return int64(off), nil
}

// at returns a cursor over n bytes at an address.
func (f *File) at(ctx context.Context, addr uint64, n int) (*cursor, error) {
	b, err := f.view(ctx, addr, n)
	if err != nil {
		return nil, err
	}
	return f.over(b, addr), nil
}

// over returns a cursor over bytes that were read from an address.
func (f *File) over(b []byte, addr uint64) *cursor {
	return &cursor{b: b, at: int64(addr + f.super.base), offsets: f.super.offsets, lengths: f.super.lengths}
}

// available is how many bytes there are from an address to the end, at most limit.
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

// locate says in an error which source and which object it is of.
func (f *File) locate(path string, err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	located := readers.Error{Offset: -1, Err: err}
	if e, ok := err.(*readers.Error); ok { // itself, and not something that wraps one
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

// unsupported returns an error for what is valid and not understood.
func unsupported(format string, args ...any) error {
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), errors.ErrUnsupported)
}
