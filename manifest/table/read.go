package table

import (
	"context"
	"errors"
	"io"
	"iter"

	"varve/manifest"
)

// File is the open file of a table. A *manifest.TableFile is one.
type File interface {
	io.ReaderAt
	io.Closer
	Size() int64
}

// Opener opens the file of a table when it is first read.
type Opener func(ctx context.Context, t manifest.Table) (File, error)

// InRepository opens tables of a repository.
func InRepository(r *manifest.Repository) Opener {
	return func(ctx context.Context, t manifest.Table) (File, error) { return r.OpenTable(ctx, t) }
}

// Cache keeps decoded pages of any number of tables, up to a number of bytes. It may be used
// by any number of goroutines.
type Cache struct{}

// NewCache returns a cache. It keeps one page even if that is larger than the limit.
func NewCache(limit int64) *Cache { return &Cache{} }

// Bytes is what the cache holds.
func (c *Cache) Bytes() int64 { return 0 }

// Reader reads the tables of a snapshot, or of a part. It may be used by any number of
// goroutines. Rows that are asked for by number are decoded by pages, which the cache keeps;
// scans pass the cache by.
type Reader struct{}

// Open checks that the tables of each kind follow one another without gaps. It reads nothing:
// the file of a table is opened when a row of it is first asked for.
func Open(tables []manifest.Table, open Opener, cache *Cache) (*Reader, error) {
	return nil, errors.ErrUnsupported
}

// Close closes the files that are open.
func (r *Reader) Close() error { return nil }

// Rows is the number of rows of a kind.
func (r *Reader) Rows(kind manifest.TableKind) int64 { return 0 }

// ReadRefs reads the refs of len(dst) rows from a row on.
func (r *Reader) ReadRefs(ctx context.Context, row int64, dst []manifest.Ref) error {
	return errors.ErrUnsupported
}

// RefBatch is a run of refs, by columns of equal length. The next step of a scan overwrites it.
type RefBatch struct {
	Row     int64 // of the first
	Offsets []int64
	Sizes   []int64
	Masks   []uint32
	Others  []int32
}

// ScanRefs reads refs in order.
func (r *Reader) ScanRefs(ctx context.Context, row, rows int64) iter.Seq2[*RefBatch, error] {
	return nil
}

// Source reads one row of the sources. It must not be changed.
func (r *Reader) Source(ctx context.Context, row int64) (*SourceRow, error) {
	return nil, errors.ErrUnsupported
}

// ScanSources reads sources in order. Each may be kept.
func (r *Reader) ScanSources(ctx context.Context, row, rows int64) iter.Seq2[*SourceRow, error] {
	return nil
}

// SourceIndex is what a lookup of chunks has to know of each source: 12 bytes.
type SourceIndex struct {
	IDs    []string // of headers, each once
	Header []uint32 // place in IDs, by the row of the source
	Row    []int64  // of the first ref, by the row of the source
}

// Index reads the headers' ids and the first refs of all sources, and nothing else of them.
func (r *Reader) Index(ctx context.Context) (*SourceIndex, error) { return nil, errors.ErrUnsupported }

// Header reads a header. One that is asked for again is the same in memory, as long as the
// cache keeps it. It must not be changed. The error for an id that no table has is
// fs.ErrNotExist; so it is for Groups, Values and Patch.
func (r *Reader) Header(ctx context.Context, id string) (*manifest.Header, error) {
	return nil, errors.ErrUnsupported
}

// Groups reads attributes of groups. They must not be changed.
func (r *Reader) Groups(ctx context.Context, id string) (*manifest.GroupAttributes, error) {
	return nil, errors.ErrUnsupported
}

// Values reads values. They must not be changed.
func (r *Reader) Values(ctx context.Context, id string) (*manifest.Values, error) {
	return nil, errors.ErrUnsupported
}

// Inline reads one row of the inline bytes. They must not be changed.
func (r *Reader) Inline(ctx context.Context, row int64) ([]byte, error) {
	return nil, errors.ErrUnsupported
}

// Patch reads a rebuilt chunk.
func (r *Reader) Patch(ctx context.Context, array string, chunk int64) ([]byte, error) {
	return nil, errors.ErrUnsupported
}

// ScanTiles reads the tiles of a segment in order, moved as it says. Each may be kept.
func (r *Reader) ScanTiles(ctx context.Context, s manifest.Segment) iter.Seq2[manifest.Tile, error] {
	return nil
}

// Placement reads all tiles of a placement.
func (r *Reader) Placement(ctx context.Context, p manifest.PlacementTable) (*manifest.Placement, error) {
	return nil, errors.ErrUnsupported
}
