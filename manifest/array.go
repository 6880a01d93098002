package manifest

import (
	"errors"
	"fmt"

	"varve/zarrjson"
)

// Array is a declared Zarr schema and the tiles behind it.
type Array struct {
	Path   string // "/group/name"
	Schema *zarrjson.Array

	// Placement names the placement of the tiles. Empty: the values are Pieces.
	Placement string
	// Variables are the paths that the variable has in the sources, usually one. A tile whose
	// source has none of them is all fill.
	Variables []string
	// Dims are the paths of the dimensions, one for each axis. A tile's axes are found by
	// theirs, so that they may come in another order.
	Dims []string
	// Renamed gives the paths in Dims of dimensions that sources call otherwise.
	Renamed map[string]string `json:",omitempty"`
	// Unnamed gives the path in Dims of an axis of the variable, in sources that have no name
	// for its dimension: what their readers call it may be another axis in another source. Empty
	// for axes that have names everywhere.
	Unnamed []string `json:",omitempty"`
	// Reading says what becomes of a tile's elements.
	Reading Reading
	// Calibrated says that add_offset of some source, and so that of the schema, is HDF4's and not CF's.
	Calibrated bool `json:",omitempty"`
	// Pieces hold the values of an array that is kept in the manifest.
	Pieces []Piece
	// Patches are chunks that were re-encoded and kept, the newest last.
	Patches []Patched

	Chunks Counts
}

// CheckDecoding returns an error if the schema's attributes do not mean what CF says. It is
// errors.ErrUnsupported. Of no array nothing is known against it.
func (a *Array) CheckDecoding() error {
	if a == nil || !a.Calibrated {
		return nil
	}
	return fmt.Errorf("%s: add_offset is HDF4's, for which values are scale_factor * (stored - add_offset), or what the product's guide says, and not CF's; read what is stored, and compute: %w",
		a.Path, errors.ErrUnsupported)
}

// Reading says what the elements of tiles become in an array.
type Reading string

// The readings.
const (
	// AsStored keeps elements as they are stored, but for a cast to the schema's type, and for
	// the values that a tile's own attributes call missing, which become the schema's.
	AsStored Reading = "stored"
	// Unpacked applies each tile's own _Unsigned, scale_factor and add_offset, and makes NaN of
	// what its attributes call missing.
	Unpacked Reading = "unpacked"
	// Retimed turns times since one day into times since the schema's, exactly.
	Retimed Reading = "retimed"
)

// Piece is a box of an array whose values are in the table of values, in the schema's type.
type Piece struct {
	Origin []int64
	Shape  []int64
	Values string // the id of the values
}

// Counts are chunks by how they are served.
type Counts struct {
	Verbatim  int64 `json:"verbatim"` // stored bytes are what the schema declares
	Prefix    int64 `json:"prefix"`   // stored bytes begin with what the schema declares
	Reencoded int64 `json:"rebuilt"`  // decoded, converted, encoded
	Missing   int64 `json:"missing"`  // all fill

	Patched int64 `json:"patched,omitempty"` // of the verbatim ones, those that were re-encoded and kept
}

// Placement says where files lie along some dimensions. Arrays that have these dimensions,
// whatever others they have, share it.
type Placement struct {
	ID    string
	Dims  []string // paths of the dimensions along which files are placed, as the arrays call them
	Tiles []Tile   // by Origin, the first dimension first
}

// Tile is where one file lies. Each slice has one entry for each of Placement.Dims; along
// all other dimensions a tile begins at 0 and is as long as its variable.
type Tile struct {
	File   int     // row in the table of sources
	Origin []int64 // of the tile in the array
	Start  []int64 // what is taken of the variable begins here
	Shape  []int64 // and is this long
}
