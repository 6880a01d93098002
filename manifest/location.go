package manifest

import (
	"iter"
	"slices"

	"varve/grid"
	"varve/readers"
)

// ChunkKind is the way in which a declared chunk gets its bytes.
type ChunkKind uint8

// The kinds of chunks.
const (
	Missing   ChunkKind = iota // all fill: nothing is stored, and a Zarr store has no such key
	Verbatim                   // the stored bytes match the schema
	Prefix                     // the stored bytes start with the bytes that match the schema
	Reencoded                  // everything else: decoded, converted and encoded
)

// String returns the kind in the form that documents use.
func (k ChunkKind) String() string {
	names := [...]string{"missing", "verbatim", "prefix", "re-encoded"}
	if int(k) < len(names) {
		return names[k]
	}
	return "unknown"
}

// HasBytes reports whether the bytes of the chunk are stored somewhere.
func (k ChunkKind) HasBytes() bool { return k == Verbatim || k == Prefix }

// Reason says why a declared chunk is re-encoded.
type Reason string

// The reasons. A chunk may have several.
const (
	SeveralFiles Reason = "several-files" // several files have elements of the chunk
	PartlyFill   Reason = "partly-fill"   // no file has some of the elements
	OtherChunks  Reason = "other-chunks"  // the stored chunks begin or end elsewhere
	Padded       Reason = "padded"        // the stored chunk is longer than the declared one, because it is padded
	Converted    Reason = "converted"     // the elements have another type, packing, missing value or units
	OtherOrder   Reason = "other-order"   // the dimensions are stored in another order
	OtherCodecs  Reason = "other-codecs"  // the stored bytes have other codecs
	OtherFill    Reason = "other-fill"    // elements were never written, and read as another fill value
)

// Location is where the bytes of a declared chunk are. Chunks without stored bytes have only Coords, Kind
// and a Source of -1.
type Location struct {
	Coords []int64
	Kind   ChunkKind
	// Source is the row of the source that contains the bytes at Offset. It may be a file of the manifest
	// with compacted chunks. It is -1 if the bytes are in the manifest itself. For a Prefix, Size is the
	// number of stored bytes that match the schema.
	Source       int64
	Offset, Size int64

	// InlineRow is a row in the table of inline bytes, plus 1, if Offset is in these bytes. Who reads the
	// table sets Inline instead, to the bytes of the chunk.
	InlineRow int64
	Inline    []byte

	Compacted bool   // the bytes were written by a compaction
	Checksum  uint32 // CRC-32C of the Size bytes; 0 if none is recorded
}

// Run is a run of chunks, consecutive in C order of the box of chunks that is being listed, which have the
// same kind and source. Its Location is that of the first chunk, except Offset and Size. The next run may
// have the same kind and source too.
type Run struct {
	Location
	Chunks int64
	// Offsets and Sizes have one entry for each chunk. They are nil for chunks without stored bytes, and
	// for Inline chunks, of which a run has only one.
	Offsets, Sizes []int64
	// Checksums has one entry for each chunk, or is nil. If it is not nil, it replaces the Checksum of the Location.
	Checksums []uint32
}

// Locations yields the chunks of a run one by one. chunks is the box that the run was listed for. Each
// Location is valid until the next one.
func (r *Run) Locations(chunks grid.Region) iter.Seq[*Location] {
	return func(yield func(*Location) bool) {
		coords := slices.Clone(r.Coords)
		var l Location // one for all chunks: an allocation for each would cost more than the rest
		for i := range r.Chunks {
			l = r.Location // the caller may have changed it
			l.Coords = coords
			if r.Offsets != nil {
				l.Offset, l.Size = r.Offsets[i], r.Sizes[i]
			}
			if r.Checksums != nil {
				l.Checksum = r.Checksums[i]
			}
			if !yield(&l) {
				return
			}
			chunks.Next(coords)
		}
	}
}

// LocationsOf yields the chunks of runs one by one. chunks is the box that the runs were listed for. An error
// ends the sequence.
func LocationsOf(runs readers.Reusing[Run], chunks grid.Region) readers.Reusing[Location] {
	return func(yield func(*Location, error) bool) {
		for r, err := range runs {
			if err != nil {
				yield(nil, err)
				return
			}
			for l := range r.Locations(chunks) {
				if !yield(l, nil) {
					return
				}
			}
		}
	}
}

// RunsOf yields a run for every location.
func RunsOf(locations readers.Reusing[Location]) readers.Reusing[Run] {
	return func(yield func(*Run, error) bool) {
		var out Run
		offset, size := make([]int64, 1), make([]int64, 1)
		for l, err := range locations {
			if err != nil {
				yield(nil, err)
				return
			}
			out = Run{Location: *l, Chunks: 1}
			if l.Kind.HasBytes() && l.Source >= 0 {
				offset[0], size[0] = l.Offset, l.Size
				out.Offsets, out.Sizes = offset, size
			}
			if !yield(&out, nil) {
				return
			}
		}
	}
}

// CountsOf returns the number of chunks of each kind.
func CountsOf(runs readers.Reusing[Run]) (c Counts, err error) {
	for r, err := range runs {
		if err != nil {
			return c, err
		}
		c.Add(r)
	}
	return c, nil
}

// Add adds the chunks of a run.
func (c *Counts) Add(r *Run) {
	switch r.Kind {
	case Missing:
		c.Missing += r.Chunks
	case Verbatim:
		c.Verbatim += r.Chunks
	case Prefix:
		c.Prefix += r.Chunks
	default:
		c.Reencoded += r.Chunks
	}
	if r.Compacted {
		c.Patched += r.Chunks
	}
}
