package zarr

import (
	"context"
	"errors"
	"hash/crc32"
	"io"
	"sync"

	"varve/grid"
	"varve/manifest"
	"varve/manifest/store"
)

// minDirect is the size in bytes from which opening the source's file for one chunk is worthwhile.
const minDirect = 32 << 10

// isDirect reports whether a chunk may be copied from file to file. Only the store verifies checksums.
func isDirect(l *manifest.Location) bool {
	return (l.Kind == manifest.Verbatim || l.Kind == manifest.Prefix) && l.Source >= 0 && l.Checksum == 0 && !l.Compacted && l.Size >= minDirect
}

// opened is the open file of a source, kept for the next chunks.
type opened struct {
	*store.Local
	row, size int64
}

// copyDirect copies a chunk from one local file to another in small blocks. They stay in the processor's
// cache between reading, checksum and writing, which is faster than letting the system copy and reading again
// for the checksum.
func (w *work) copyDirect(ctx context.Context, coords []int64, at *grid.Walker) (r record, done bool, err error) {
	if w.home.prefix != nil {
		return r, false, nil
	}
	loc, err := w.target.source.Locate(ctx, coords)
	if err != nil || !isDirect(&loc) {
		return r, false, err
	}
	if err := w.open(ctx, loc.Source); errors.Is(err, errors.ErrUnsupported) {
		return r, false, nil // the store reads it
	} else if err != nil {
		return r, false, err
	}
	if w.file.size < loc.Size || loc.Offset > w.file.size-loc.Size {
		return r, false, nil // the store's error names array, chunk and file
	}
	r.size = loc.Size
	err = w.home.Write(ctx, w.target.key(at.Coords), w.home.how, func(to io.Writer) error {
		r.sum, err = copyRange(to, w.file, loc.Offset, loc.Size)
		return err
	})
	// The file may have changed or been truncated during the copy.
	if changed := w.file.Check(); changed != nil {
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

// open opens the file of a source, unless it is the current one.
func (w *work) open(ctx context.Context, row int64) error {
	if w.file.Local != nil && w.file.row == row {
		return nil
	}
	if err := w.closeFile(); err != nil {
		return err
	}
	f, err := w.from.OpenLocal(ctx, row)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return errors.Join(err, f.Close())
	}
	w.file = opened{f, row, info.Size()}
	return nil
}

func (w *work) closeFile() (err error) {
	if w.file.Local != nil {
		err = w.file.Close()
	}
	w.file = opened{}
	return err
}
