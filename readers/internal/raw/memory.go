package raw

import (
	"bufio"
	"context"
	"io"

	"varve/readers"
	"varve/readers/source"
)

// memory is a file in memory.
type memory []byte

// ReadAt fills p from an offset.
func (m memory) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	return copy(p, m[min(off, int64(len(m))):]), ctx.Err()
}

// View returns n bytes from an offset, which must be within.
func (m memory) View(ctx context.Context, off int64, n int) ([]byte, error) {
	if off < 0 || off > int64(len(m)) || int64(n) > int64(len(m))-off {
		return nil, readers.Corruptf("%d bytes at offset %d of %d", n, off, len(m))
	}
	return m[off:][:n], ctx.Err()
}

// Identity returns the size.
func (m memory) Identity() source.Identity { return source.Identity{Size: int64(len(m))} }

// Close does nothing.
func (m memory) Close() error { return nil }

// readerAt is a source as an io.ReaderAt.
type readerAt struct {
	ctx context.Context
	src *source.Source
}

// ReadAt fills p from an offset, which must be within.
func (r readerAt) ReadAt(p []byte, off int64) (int, error) { return r.src.ReadAt(r.ctx, p, off) }

func bufferOf(r io.Reader) *bufio.Reader { return bufio.NewReaderSize(r, 4<<10) }
