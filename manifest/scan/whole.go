package scan

import (
	"context"
	"fmt"
	"io"
	"sync"

	"varve/readers/source"
)

// wholeBits is the binary logarithm of the largest size of local files that are read with one read. The metadata
// of a file are in many places, and one read is faster than twenty small reads.
const wholeBits = 19

// whole is the content of a small file in memory. After the file was scanned, the memory is used for another
// file, so everything that is kept must be copied.
type whole struct {
	data []byte
	id   source.Identity
}

var wholes = sync.Pool{New: func() any { return &whole{data: make([]byte, 0, 1<<wholeBits)} }}

// readWhole returns a source in memory with the contents of src if that is faster, otherwise src. Closing it
// does not close src.
func readWhole(ctx context.Context, src *source.Source) (*source.Source, *whole, error) {
	if src.IsFolder() || src.Far() || src.Size() > 1<<wholeBits || src.Size() == 0 {
		return src, nil, nil
	}
	w := wholes.Get().(*whole)
	w.data, w.id = w.data[:src.Size()], src.Identity()
	if _, err := src.ReadAt(ctx, w.data, 0); err != nil {
		wholes.Put(w)
		return nil, nil, err
	}
	return source.New(src.Name(), w), w, nil
}

// ReadAt implements source.Ranges.
func (w *whole) ReadAt(_ context.Context, p []byte, off int64) (int, error) {
	if off < 0 || off > int64(len(w.data)) {
		return 0, fmt.Errorf("offset %d of %d", off, len(w.data))
	}
	n := copy(p, w.data[off:])
	if n < len(p) {
		return n, io.ErrUnexpectedEOF
	}
	return n, nil
}

// Identity implements source.Ranges.
func (w *whole) Identity() source.Identity { return w.id }

// Size returns the number of bytes, which is not the size of the version if the file is in an archive.
func (w *whole) Size() int64 { return int64(len(w.data)) }

// Close implements source.Ranges.
func (w *whole) Close() error { return nil }

// BlockBits implements source.Blocker: the file is one block.
func (w *whole) BlockBits() int { return wholeBits }

// Prefetched implements source.Prefetcher.
func (w *whole) Prefetched() []byte { return w.data }
