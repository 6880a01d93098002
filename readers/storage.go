package readers

import (
	"context"
	"fmt"
	"iter"
	"math"
	"math/bits"
	"slices"
	"strings"
	"time"

	"varve/codec"
	"varve/grid"
)

// Layout says how a variable's values are stored in their source.
type Layout uint8

// The layouts.
const (
	Unallocated Layout = iota // not stored: every cell has the fill value
	Chunked                   // in chunks that an index locates
	Contiguous                // in one block of bytes
	Inline                    // within the metadata
	Records                   // one block a record, at equal distances: netCDF-3
	External                  // in blocks of other files
	Virtual                   // in other variables
)

// String names the layout.
func (l Layout) String() string {
	names := [...]string{"unallocated", "chunked", "contiguous", "inline", "records", "external", "virtual"}
	return names[min(int(l), len(names)-1)]
}

// Storage describes how a variable's values are stored.
type Storage struct {
	Layout Layout
	Bytes  uint64 // stored size, as far as known without reading an index
	Source string // path or URL of the source that offsets refer to; empty: the source that was opened

	Offset int64  // Contiguous, and the first record of Records: from the start of the source
	Stride int64  // Records: distance between the starts of two records
	Data   []byte // Inline: the bytes as stored

	ChunkShape []uint64   // Chunked; nil if Grid is set
	Grid       *grid.Grid // Chunked, if chunks differ in shape
	Index      string     // Chunked: the kind of index, in the format's words
	RawEdges   bool       // Chunked: chunks that extend beyond the shape are stored without filters
	// Pipeline decodes chunks. If Plain is set, it returns elements in memory form; otherwise it
	// returns stored elements of the codec type Raw, which Type.AppendMemory converts. It decodes
	// strings of varying length itself if Texts is nil.
	Pipeline Pipeline
	Plain    bool

	Files    []ExternalFile // External
	Mappings []Mapping      // Virtual
	// Declared is the shape that other virtual variables see when they map this Virtual variable:
	// the shape in the file, if the current one differs because the sources have changed. nil means
	// Shape.
	Declared []uint64

	// Texts converts stored elements of strings of varying length, which are pointers into a heap,
	// to the strings. It is nil for other types.
	Texts func(ctx context.Context, stored []byte) ([][]byte, error)

	// IsDecimal is true if stored bytes are numbers written in decimal, as in ASCII tables of FITS.
	// Only ReadAll returns such elements.
	IsDecimal bool

	// Undecodable is the reason why the bytes that Refs and Data lead to cannot be decoded; it
	// wraps errors.ErrUnsupported. ReadAll may still return values that are stored elsewhere, such
	// as sequences of varying length.
	Undecodable error

	// ReadIndex reads the refs of Chunked storage; nil if nothing is stored.
	ReadIndex func(ctx context.Context) iter.Seq2[*Ref, error]
	// InOrder is true if the refs come in C order, unless the index is damaged.
	InOrder bool
}

// Reusing is an iterator whose values share memory: each is valid until the next one, and must not be
// changed. An error ends the sequence.
type Reusing[T any] func(yield func(*T, error) bool)

// Ref is the position of one stored chunk.
type Ref struct {
	Index  []uint64 // grid index of the chunk
	Offset int64    // from the start of the source
	Size   uint64   // as stored
	Mask   uint32   // bit i set: filter i was skipped
	Other  *Other   // set if the bytes are not in the storage's source
}

// WholeSource is the Size of a ref to all bytes of its source.
const WholeSource = math.MaxUint64

// Other is the location of a chunk's bytes outside the source of its storage. Refs may share one.
type Other struct {
	Inline []byte // the bytes; nil: they are in Source
	Source string // path or URL

	// The state of Source when the ref was made, as far as it was recorded.
	ETag     string
	Modified time.Time // Source has not changed since this time
	Size     int64     // 0 if it was not recorded; otherwise Modified is the time of its last change
}

// String describes the location.
func (o *Other) String() string {
	if o.Inline != nil {
		return fmt.Sprintf("%d bytes inline", len(o.Inline))
	}
	return o.Source
}

// Refs yields every stored chunk of Chunked storage in the order of the index, and skips chunks
// that are not stored.
func (s *Storage) Refs(ctx context.Context) Reusing[Ref] {
	if s.ReadIndex == nil {
		return func(func(*Ref, error) bool) {}
	}
	return Reusing[Ref](s.ReadIndex(ctx))
}

// ExternalFile is one block of the bytes of an External variable.
type ExternalFile struct {
	Name   string
	Offset uint64
	Size   uint64 // Unlimited: to the end of the file
}

// Mapping maps a selection of another variable to a selection of a Virtual variable.
type Mapping struct {
	File    string // "." for the same file; may be a pattern with %b
	Dataset string
	From    Selection // in the other variable
	To      Selection // in this variable
}

// SelectionKind says how a selection selects elements.
type SelectionKind uint8

// The kinds of selections.
const (
	SelectAll SelectionKind = iota
	SelectNone
	SelectRegular // blocks at equal distances: a hyperslab
	SelectBlocks  // a list of blocks
	SelectPoints  // a list of elements
)

// Selection is an ordered set of elements of an array.
type Selection struct {
	Kind SelectionKind
	// SelectRegular: lists of one number per dimension. Count or Block is Unlimited where the
	// selection grows with the array.
	Start, Stride, Count, Block []uint64
	// SelectBlocks: first and last corner of each block. SelectPoints: coordinates of each element.
	Rank  int
	Cells []uint64
}

// Filter is one stage that was applied to the stored bytes.
type Filter struct {
	ID     int    // the format's number for the filter
	Name   string // as the source names it, otherwise the common name
	Flags  uint32
	Values []uint32   // client data, as stored
	Codec  codec.Spec // the codec that decodes it; Name is empty if Err is set
	Err    error      // why it cannot be decoded; wraps errors.ErrUnsupported
}

// Pipeline is the list of codecs from elements to stored bytes, in the order of encoding: array
// codecs, the codec from elements to bytes, then one codec a filter.
type Pipeline struct {
	Arrays  []codec.Spec
	Bytes   codec.Spec
	Filters []Filter
}

// Specs returns the codecs of a chunk with the given filter mask. If a filter in use cannot be
// decoded, it returns that filter's error.
func (p *Pipeline) Specs(mask uint32) ([]codec.Spec, error) {
	specs := append(slices.Clone(p.Arrays), p.Bytes)
	for i, f := range p.Filters {
		// The mask has 32 bits, so filters after the 32nd cannot be skipped.
		if i < 32 && mask>>i&1 != 0 {
			continue
		}
		if f.Err != nil {
			return nil, fmt.Errorf("filter %d (%s): %w", f.ID, f.Name, f.Err)
		}
		specs = append(specs, f.Codec)
	}
	return specs, nil
}

// Edges lists the lengths of chunks of different shapes along each axis: runs of equal ones as length×count.
func (s *Storage) Edges() string {
	var layout codec.Layout
	for axis := range s.Grid.Rank() {
		layout.Chunks = append(layout.Chunks, grid.SizesOf(s.Grid.Dim(axis)))
	}
	return strings.Trim(layout.String(), "()")
}

// Elements returns the number of elements of a shape, or false if it needs more than 64 bits.
func Elements(shape []uint64) (uint64, bool) {
	n := uint64(1)
	for _, s := range shape {
		hi, lo := bits.Mul64(n, s)
		if hi != 0 {
			return 0, false
		}
		n = lo
	}
	return n, true
}
