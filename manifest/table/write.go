package table

import (
	"errors"
	"io"

	"varve/manifest"
)

// RefWriter writes a table of refs.
type RefWriter struct{}

// NewRefs starts a table of refs. Rows reach w in row groups; Close writes the last of them.
func NewRefs(w io.Writer) *RefWriter { return &RefWriter{} }

// Append adds refs, given by columns of equal length. Masks and others may be nil, which
// stands for zeros.
func (w *RefWriter) Append(offsets, sizes []int64, masks []uint32, others []int32) error {
	return errors.ErrUnsupported
}

// Rows is the number of refs so far.
func (w *RefWriter) Rows() int64 { return 0 }

// Close writes what is left, and the footer. It does not close the io.Writer.
func (w *RefWriter) Close() error { return errors.ErrUnsupported }

// Writer writes a table whose rows are of one type.
type Writer[T any] struct{}

// Append adds rows.
func (w *Writer[T]) Append(rows ...T) error { return errors.ErrUnsupported }

// Rows is the number of rows so far.
func (w *Writer[T]) Rows() int64 { return 0 }

// Close writes what is left, and the footer. It does not close the io.Writer.
func (w *Writer[T]) Close() error { return errors.ErrUnsupported }

// SourceRow is one row of the table of sources: a manifest.File whose header, groups and
// values are in other tables.
type SourceRow struct {
	manifest.Source
	Header string                     // id; empty if the source is only what refs of others point at
	Groups string                     // id
	Values map[string]string          // ids by the path of the variable, for those that were read
	Parts  map[string][]manifest.Part // by the path of the variable; File is a row of the sources
	Row    int64                      // of its first ref, among all refs of the manifest
	Bytes  int64
	Hidden bool
}

// NewSourceRow returns the row of a file. Parts and Row stay as they are in the file.
func NewSourceRow(f *manifest.File) *SourceRow { return nil }

// NewSources starts a table of sources, in the order of their rows.
func NewSources(w io.Writer) *Writer[*SourceRow] { return nil }

// NewHeaders starts a table of headers. They have to come in the order of their ids, each once.
func NewHeaders(w io.Writer) *Writer[*manifest.Header] { return nil }

// NewGroups starts a table of the attributes of groups. They have to come in the order of
// their ids, each once.
func NewGroups(w io.Writer) *Writer[*manifest.GroupAttributes] { return nil }

// NewValues starts a table of values. They have to come in the order of their ids, each once.
func NewValues(w io.Writer) *Writer[*manifest.Values] { return nil }

// NewInline starts a table of the bytes that refs point at.
func NewInline(w io.Writer) *Writer[[]byte] { return nil }

// NewTiles starts a table of tiles that are placed along a number of dimensions.
func NewTiles(w io.Writer, dims int) *Writer[manifest.Tile] { return nil }

// Patch is a chunk that was rebuilt.
type Patch struct {
	Array string // its path
	Chunk int64  // its number in C order of the array's chunk grid
	Bytes []byte // encoded as the face says
}

// NewPatches starts a table of patches. They have to come in the order of their arrays, then
// of their chunks.
func NewPatches(w io.Writer) *Writer[Patch] { return nil }
