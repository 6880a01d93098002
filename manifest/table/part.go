package table

import (
	"context"
	"errors"
	"io"

	"varve/manifest"
)

// PartWriter writes all that a scan found to one Parquet file. It takes refs and inline bytes
// while the scan runs, as they come, and the files at its end.
type PartWriter struct{}

// NewPart starts a part.
func NewPart(w io.Writer) *PartWriter { return &PartWriter{} }

// Append adds refs, as RefWriter.Append does.
func (w *PartWriter) Append(offsets, sizes []int64, masks []uint32, others []int32) error {
	return errors.ErrUnsupported
}

// Inline adds bytes that refs point at, and returns their row.
func (w *PartWriter) Inline(b []byte) (row int64, err error) { return 0, errors.ErrUnsupported }

// Close writes the files, and with them their headers, groups and values, each once.
func (w *PartWriter) Close(files []*manifest.File) error { return errors.ErrUnsupported }

// IsPart reports whether a file is a part, by what it begins and ends with.
func IsPart(r io.ReaderAt, size int64) (bool, error) { return false, errors.ErrUnsupported }

// Part is an open part. Its rows are numbered from 0 on, for each kind.
type Part struct{ Reader }

// OpenPart opens a part by the name that errors call it. Closing it closes the file.
func OpenPart(name string, f File, cache *Cache) (*Part, error) { return nil, errors.ErrUnsupported }

// Files reads all files of the part. Those with equal headers, groups or values share them.
func (p *Part) Files(ctx context.Context) ([]*manifest.File, error) {
	return nil, errors.ErrUnsupported
}
