package manifest

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"varve/codec"
	"varve/grid"
	"varve/zarrjson"
)

// Array is one variable of the combined dataset: the Zarr schema that it declares, and the tiles that
// provide its values.
type Array struct {
	Path   string // "/group/name"
	Schema *zarrjson.Array

	// Placement is the ID of the placement of the tiles. If it is empty, Pieces are the values.
	Placement string
	// Variables are the paths of the variable in the sources, usually one. The tile of a source that
	// has none of these paths has only the fill value.
	Variables []string
	// Dims are the paths of the dimensions, one for each axis. A tile's axes are matched by dimension
	// and not by position, so a source may store them in another order.
	Dims []string
	// Renamed maps a source's dimension path to the path in Dims, where the two differ.
	Renamed map[string]string `json:",omitempty"`
	// Unnamed has one entry for each axis of the variable in sources that do not name their
	// dimensions: the path in Dims of the array's axis. A reader invents names for such dimensions, so
	// the same name can mean another axis in another source. An entry is empty for an axis that is
	// named in all sources.
	Unnamed []string `json:",omitempty"`
	// Reading is the conversion of a tile's elements to the schema.
	Reading Reading
	// Calibrated marks an array with an add_offset that follows HDF4's definition and not CF's, in one
	// of its sources and so in the schema.
	Calibrated bool `json:",omitempty"`
	// AttributeTypes has the types of attributes that the JSON of the schema does not show, by name: see Attribute.JSONType.
	AttributeTypes map[string]string `json:",omitempty"`
	// CodecSizes has, for each axis, the codec sizes of the chunks as runs [length, count]; nil for an axis
	// whose chunks decode to their data. It is nil unless the plan was made with plan.Options.Padded. See
	// WithPadding.
	CodecSizes [][][2]int64 `json:",omitempty"`
	// Pieces are the values of an array whose values are stored in the manifest itself.
	Pieces []Piece
	// Patches are the compacted chunks: re-encoded chunks that are stored in the manifest, the newest
	// last.
	Patches []Patched

	Chunks Counts
}

// WithPadding returns the array with padded chunks inside: chunks that decode to more elements than they have
// data. Its schema has encoded_chunk_shapes, which few Zarr clients know. The result has no patches, because
// these were encoded without padding. It returns a itself if the array has no CodecSizes.
func (a *Array) WithPadding() (*Array, error) {
	if a.CodecSizes == nil {
		return a, nil
	}
	g, err := a.Schema.Grid()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", a.Path, err)
	}
	if len(a.CodecSizes) != g.Rank() {
		return nil, fmt.Errorf("%s: codec sizes for %d axes, but the array has %d: %w", a.Path, len(a.CodecSizes), g.Rank(), codec.ErrCorrupt)
	}
	padded, schema := *a, *a.Schema
	if schema.ChunkGrid, err = zarrjson.DescribeGrid(g, zarrjson.AsEncoded); err != nil {
		return nil, fmt.Errorf("%s: %w", a.Path, err)
	}
	for axis, list := range a.CodecSizes {
		if list == nil {
			continue
		}
		schema.ChunkGrid.Encoded[axis] = grid.RunLength(runsOf(list)...)
	}
	if g, err = schema.Grid(); err != nil {
		return nil, fmt.Errorf("%s: codec sizes: %w", a.Path, err)
	}
	schema.Codecs = unclipped(&schema, g)
	padded.Schema, padded.Patches = &schema, nil
	return &padded, nil
}

// unclipped returns the codecs of a schema without clipped inner chunks of shards, if these divide each chunk of the
// grid: padding can make that so.
func unclipped(schema *zarrjson.Array, g *grid.Grid) []codec.Spec {
	if !codec.HasClipping(schema.Codecs) {
		return schema.Codecs
	}
	codecs := slices.Clone(schema.Codecs)
	for i := range codecs {
		codecs[i].Clip = false
	}
	shape := make([]int64, g.Rank())
	for k := range shape {
		shape[k], _ = g.Dim(k).CodecSize(0)
	}
	if p, err := codec.New(codecs, schema.Form(shape)); err == nil && p.CheckGrid(g) == nil {
		return codecs
	}
	return schema.Codecs
}

// WithPadding returns the snapshot with padded chunks inside arrays: see Array.WithPadding.
func (s *Snapshot) WithPadding() (*Snapshot, error) {
	padded := *s
	padded.Arrays = slices.Clone(s.Arrays)
	for i := range padded.Arrays {
		a, err := s.Arrays[i].WithPadding()
		if err != nil {
			return nil, err
		}
		padded.Arrays[i] = *a
	}
	return &padded, nil
}

// HasPadding reports whether an array declares padded chunks inside, so that its schema has
// encoded_chunk_shapes. Arrays are planned without: see WithPadding.
func (s *Snapshot) HasPadding() bool {
	return slices.ContainsFunc(s.Arrays, func(a Array) bool { return a.Schema.ChunkGrid.Encoded != nil })
}

// CheckDecoding returns an errors.ErrUnsupported if clients that apply the schema's attributes as CF
// defines them would compute wrong values. For a nil array it returns nil.
func (a *Array) CheckDecoding() error {
	if a == nil || !a.Calibrated {
		return nil
	}
	return fmt.Errorf("%s: add_offset follows HDF4's definition, scale_factor * (stored - add_offset), or the product's guide, and not CF's, so varve does not unpack it; read the stored values and unpack them yourself: %w",
		a.Path, errors.ErrUnsupported)
}

// Reading is the conversion of the elements of tiles to the declared type and units.
type Reading string

// The readings.
const (
	// AsStored keeps the stored elements, cast to the schema's type. Elements that a tile's own
	// attributes mark as missing become the schema's missing value.
	AsStored Reading = "stored"
	// Unpacked applies each tile's own _Unsigned, scale_factor and add_offset. Elements that its
	// attributes mark as missing become NaN.
	Unpacked Reading = "unpacked"
	// Repacked applies each tile's own packing, and packs the values as the schema does. Values are
	// rounded to the nearest number of the schema.
	Repacked Reading = "repacked"
	// InUnits converts numbers from the tile's units to the schema's. Like Unpacked, it applies each tile's own packing.
	InUnits Reading = "in-units"
	// Retimed converts times from the tile's units to the schema's, exactly.
	Retimed Reading = "retimed"
)

// Piece is a box of an array whose values are in the table of values. They have the schema's type.
type Piece struct {
	Origin []int64
	Shape  []int64
	Values string // the ID of the values
}

// Counts has the number of chunks of an array, by the way they are served.
type Counts struct {
	Verbatim  int64 `json:"verbatim"` // the stored bytes match the schema
	Prefix    int64 `json:"prefix"`   // the stored bytes start with the bytes that match the schema
	Reencoded int64 `json:"rebuilt"`  // decoded from tiles, converted and encoded again
	Missing   int64 `json:"missing"`  // no values are stored

	Patched int64 `json:"patched,omitempty"` // number of verbatim chunks that are compacted chunks
}

// Placement is the position of files along some dimensions. All arrays that have these dimensions
// share it, even if they also have other dimensions.
type Placement struct {
	ID    string
	Dims  []string // paths, as in Array.Dims, of the dimensions along which files are placed
	Tiles []Tile   // sorted by Origin, the first dimension first
}

// Tile is the position of one file. Each slice has one entry for each of Placement.Dims. Along all
// other dimensions a tile starts at index 0 and is as long as its variable.
type Tile struct {
	File   int     // row in the table of sources
	Origin []int64 // where the tile starts in the array
	// Start is where the part that is used starts in the variable. If it is negative, the part is read backwards, from
	// index -1-Start down: so in both directions, a tile without its first n elements has n more.
	Start []int64
	Shape []int64 // the length of that part
}

// IsValid reports whether the origin, start and length along dimension k are in range.
func (t *Tile) IsValid(k int) bool {
	most := math.MaxInt64 - t.Shape[k] // of an origin or a start
	if t.Start[k] < 0 {
		return t.Origin[k] >= 0 && t.Shape[k] >= 0 && t.Origin[k] <= most && t.Shape[k] <= -t.Start[k] && t.Start[k] > math.MinInt64
	}
	return t.Origin[k] >= 0 && t.Shape[k] >= 0 && t.Origin[k] <= most && t.Start[k] <= most
}
