package readers

import (
	"context"
	"fmt"
	"iter"
	"math"
	"slices"
	"time"

	"varve/codec"
	"varve/grid"
)

// Layout says how the values of a variable lie in their source.
type Layout uint8

// The layouts.
const (
	Unallocated Layout = iota // no bytes anywhere: all fill
	Chunked                   // in chunks that an index finds
	Contiguous                // in one run of bytes
	Inline                    // within the metadata
	Records                   // one run a record, at equal distances: netCDF-3
	External                  // in runs of other files
	Virtual                   // in other variables
)

// String names the layout.
func (l Layout) String() string {
	names := [...]string{"unallocated", "chunked", "contiguous", "inline", "records", "external", "virtual"}
	return names[min(int(l), len(names)-1)]
}

// Storage is how the values of a variable lie in their source.
type Storage struct {
	Layout Layout
	Bytes  uint64 // stored, as far as the source tells without reading an index
	Source string // the path or URL that offsets are in; empty: the source that was opened

	Offset int64  // Contiguous, and the first record of Records: from byte 0 of the source
	Stride int64  // Records: from one record to the next
	Data   []byte // Inline: the bytes as stored

	ChunkShape []uint64   // Chunked; nil where Grid says it
	Grid       *grid.Grid // Chunked, where chunks differ in shape
	Index      string     // Chunked: the kind of index, in the format's words
	RawEdges   bool       // Chunked: chunks that reach over the shape are stored without filters
	// Pipeline decodes chunks. Where Plain is set it gives elements in memory form, else
	// elements as they are stored, of the codec type Raw; see Type.AppendMemory. Elements
	// of varying length it gives itself, if Texts is nil.
	Pipeline Pipeline
	Plain    bool

	Files    []ExternalFile // External
	Mappings []Mapping      // Virtual
	// Declared is the shape of a Virtual variable to others that it is a source of: what its file
	// says, where it has another now since its own sources have. nil where it is the same.
	Declared []uint64

	// Texts turns stored elements of strings of varying length, which only say where the
	// strings are, into the strings; nil for other types.
	Texts func(ctx context.Context, stored []byte) ([][]byte, error)

	// Spelled says that stored bytes are texts of numbers, as FITS has them in ASCII tables. Only
	// ReadAll gives the elements.
	Spelled bool

	// Undecodable says why nobody can decode what Refs and Data lead to; it wraps
	// errors.ErrUnsupported. Values that are stored elsewhere, as sequences of varying length
	// are, ReadAll can give all the same.
	Undecodable error

	// ReadIndex reads the refs of Chunked storage; nil where there is nothing stored.
	ReadIndex func(ctx context.Context) iter.Seq2[*Ref, error]
	// InOrder says that they come in C order, unless the index is damaged.
	InOrder bool
}

// Ref says where one stored chunk is. One that an iterator gives out must not be changed,
// and is only valid until the next.
type Ref struct {
	Index  []uint64 // of the chunk, in chunks
	Offset int64    // from byte 0 of the source
	Size   uint64   // as stored
	Mask   uint32   // bit i set: filter i was skipped
	Other  *Other   // where Offset is not in the source of the storage
}

// WholeSource is the size of a ref to all that its source holds.
const WholeSource = math.MaxUint64

// Other is where the bytes of a chunk are, if not in the source of its storage. Refs
// may share one.
type Other struct {
	Inline []byte // the bytes, from offset 0 on; nil: they are in Source
	Source string // path or URL

	// What the source was when the ref was made, as far as anybody noted it.
	ETag     string
	Modified time.Time // it has not changed after this
}

// String says where the bytes are.
func (o *Other) String() string {
	if o.Inline != nil {
		return fmt.Sprintf("%d bytes inline", len(o.Inline))
	}
	return o.Source
}

// Refs gives every stored chunk of Chunked storage, in the order of the index. Chunks
// that are not stored are left out. An error ends it.
func (s *Storage) Refs(ctx context.Context) iter.Seq2[*Ref, error] {
	if s.ReadIndex == nil {
		return func(func(*Ref, error) bool) {}
	}
	return s.ReadIndex(ctx)
}

// ExternalFile is one run of the bytes of an External variable.
type ExternalFile struct {
	Name   string
	Offset uint64
	Size   uint64 // Unlimited: to the end of the file
}

// Mapping says that a selection of a Virtual variable is one of another variable.
type Mapping struct {
	File    string // "." for the same file; may be a pattern with %b
	Dataset string
	From    Selection // in the other variable
	To      Selection // in this one
}

// SelectionKind says how a selection picks elements.
type SelectionKind uint8

// The kinds of selections.
const (
	SelectAll SelectionKind = iota
	SelectNone
	SelectRegular // blocks at equal distances
	SelectBlocks  // a list of blocks
	SelectPoints  // a list of elements
)

// Selection is a set of elements of an array, in an order.
type Selection struct {
	Kind SelectionKind
	// SelectRegular: a list of length rank each; Count or Block is Unlimited where the
	// selection grows with the array.
	Start, Stride, Count, Block []uint64
	// SelectBlocks: first and last corner of each block. SelectPoints: coordinates.
	Rank  int
	Cells []uint64
}

// Filter is one stage of what was done to stored bytes.
type Filter struct {
	ID     int    // the number that the format gives it
	Name   string // as the source names it, else as it is commonly called
	Flags  uint32
	Values []uint32   // client data, as stored
	Codec  codec.Spec // what undoes it; Name is empty if Err is set
	Err    error      // why it cannot be undone: wraps errors.ErrUnsupported
}

// Pipeline is the chain between elements and stored bytes, in the order of encoding:
// codecs that change elements, the one that lays them out as bytes, then one a filter.
type Pipeline struct {
	Arrays  []codec.Spec
	Bytes   codec.Spec
	Filters []Filter
}

// Specs returns the codecs for a chunk with the given filter mask, or the error of the
// first filter in use that nobody can undo.
func (p *Pipeline) Specs(mask uint32) ([]codec.Spec, error) {
	specs := append(slices.Clone(p.Arrays), p.Bytes)
	for i, f := range p.Filters {
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
