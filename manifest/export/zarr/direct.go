package zarr

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"

	"varve/grid"
	"varve/manifest"
	"varve/manifest/store"
	"varve/readers/source"
)

// minDirect is the size from which it pays to open a source's file for one chunk.
const minDirect = 32 << 10

// origin is a source that is a local file.
type origin struct {
	row  int64
	path string // empty for all other sources
	id   source.Identity
	// proven says that the store has read the file, which it does only where it may.
	proven atomic.Bool
}

// origins keep what was asked for last of the sources of a manifest. Those from the row
// theirs on are files of the manifest itself, which only the store can check.
type origins struct {
	theirs int64
	known  [1024]atomic.Pointer[origin]
}

func newOrigins(s *manifest.Snapshot) *origins {
	o := &origins{}
	for _, t := range s.Tables {
		if t.Kind == manifest.Sources {
			o.theirs += t.Rows
		}
	}
	return o
}

// get returns the source of a chunk that is stored as it is declared, or nil.
func (o *origins) get(ctx context.Context, s *store.Store, loc *store.Location) (*origin, error) {
	if loc.Kind != store.Verbatim && loc.Kind != store.Prefix || loc.Source < 0 || loc.Source >= o.theirs || loc.Size < minDirect {
		return nil, nil
	}
	slot := &o.known[uint64(loc.Source)%uint64(len(o.known))]
	if known := slot.Load(); known != nil && known.row == loc.Source {
		return known, nil
	}
	src, err := s.Source(ctx, loc.Source)
	if err != nil {
		return nil, err
	}
	found := &origin{row: loc.Source, id: src.Identity()}
	path, err := source.LocalPath(src.URL)
	// Without a version to compare with, only the store knows what to do.
	if err == nil && filepath.IsAbs(path) && src.Size >= 0 && !src.Modified.IsZero() {
		found.path = path
	}
	slot.Store(found)
	return found, nil
}

// copyDirect copies a chunk from a local file to another without having it in memory. Blocks
// stay in the processor's cache between being read, summed and written, which takes less than
// to have the system copy the range, and to read it again for the sum. It is not done for
// chunks of which only the store knows how to get them.
func (w *work) copyDirect(ctx context.Context, coords []int64, at *grid.Walker) (r record, done bool, err error) {
	loc, err := w.target.source.Locate(ctx, coords)
	if err != nil {
		return r, false, err
	}
	o, err := w.origins.get(ctx, w.from, &loc)
	if err != nil || o == nil || o.path == "" {
		return r, false, err
	}
	if !o.proven.Load() {
		// What the store makes of the source decides, errors and all.
		if _, err := w.target.source.Chunk(ctx, coords); err != nil {
			return r, false, err
		}
		o.proven.Store(true)
	}
	f, err := w.open(o)
	if err != nil {
		return r, false, err
	}
	if o.id.Size < loc.Size || loc.Offset > o.id.Size-loc.Size {
		return r, false, nil // the store says it better
	}
	r.size = loc.Size
	err = w.write(w.path(w.target, at.Coords), func(to *os.File) error {
		r.sum, err = copyRange(to, f, loc.Offset, loc.Size)
		return err
	})
	// A file that was changed meanwhile, or cut off, is not what was to be copied.
	if changed := o.check(f.Stat()); changed != nil {
		err = changed
	}
	return r, err == nil, err
}

const blockSize = 256 << 10

var blocks = sync.Pool{New: func() any { return new([blockSize]byte) }}

// copyRange copies a part of a file and returns its checksum.
func copyRange(to io.Writer, from io.ReaderAt, offset, size int64) (sum uint32, err error) {
	block := blocks.Get().(*[blockSize]byte)
	defer blocks.Put(block)
	for end := offset + size; offset < end; {
		b := block[:min(blockSize, end-offset)]
		if _, err := from.ReadAt(b, offset); err != nil {
			return 0, err
		}
		sum = crc32.Update(sum, castagnoli, b)
		if _, err := to.Write(b); err != nil {
			return 0, err
		}
		offset += int64(len(b))
	}
	return sum, nil
}

// open returns the file of a source, which stays open for the chunks that follow.
func (w *work) open(o *origin) (*os.File, error) {
	if w.file != nil && w.fileOf == o {
		return w.file, nil
	}
	if err := w.closeFile(); err != nil {
		return nil, err
	}
	f, err := o.open()
	if err == nil {
		w.file, w.fileOf = f, o
	}
	return f, err
}

func (w *work) closeFile() (err error) {
	if w.file != nil {
		err = w.file.Close()
	}
	w.file = nil
	return err
}

// open opens the file of a source, if it is the one that was scanned.
func (o *origin) open() (*os.File, error) {
	// A pipe that took the file's place would otherwise wait for its other end.
	f, err := os.OpenFile(o.path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w: it is not there any more", o.path, source.ErrChanged)
	}
	if err != nil {
		return nil, err
	}
	if err := o.check(f.Stat()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// check compares the file with what was scanned.
func (o *origin) check(info fs.FileInfo, err error) error {
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s: %w: it is no regular file", o.path, source.ErrChanged)
	}
	if err := o.id.Check(source.Identity{Size: info.Size(), Modified: info.ModTime()}); err != nil {
		return fmt.Errorf("%s: %w", o.path, err)
	}
	return nil
}
