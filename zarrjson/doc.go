// Package zarrjson reads and writes the documents that describe Zarr hierarchies, and
// is the only owner of the names in them: zarr.json of format 3, and .zarray, .zgroup,
// .zattrs and .zmetadata of format 2.
//
// A document becomes an [Array] or a [Group], in varve's own terms: a codec.Type, a
// fill value in memory form, codec.Specs, and chunk sizes that bind to a grid.Grid.
//
//	{
//	  "shape": [90, 180],                             Array.Shape
//	  "data_type": "float32",                         Array.DataType
//	  "chunk_grid": {"name": "rectilinear", …},       Array.ChunkGrid
//	  "chunk_key_encoding": {"name": "default", …},   Array.Keys
//	  "fill_value": "NaN",                            Array.Fill
//	  "codecs": [{"name": "bytes", …}, …],            Array.Codecs
//	  "attributes": {"units": "K"},                   Array.Attributes
//	  "dimension_names": ["lat", null],               Array.DimensionNames
//	  "zarr_format": 3,
//	  "node_type": "array",
//	  "storage_transformers": [],                     refused unless empty
//	  "acme": {"must_understand": false, …}           Array.Extra
//	}
//
// The order above is the order of writing, zarr-python's, as are the layout and the
// spelling of numbers and strings. What came in is kept where more than one spelling
// means the same: the name of a data type or a grid, an integer for a whole axis,
// attributes byte for byte. Runs of chunk sizes are read and written as runs; nothing
// here expands a count.
//
// # Sources
//
// The core specification is Zarr v3.1, its data types, chunk grids and key encodings
// those of zarr-extensions, format 2 the Zarr storage specification version 2. Where
// zarr-python 3.4 reads more than they allow and its own older documents depend on it
// (bare NaN, integers as 1.0 or "1", text fill values as numbers), so does varve.
//
// # Errors
//
// A document is refused as a whole: nothing half-read is returned. The error is an
// [*Error], which names the field, what was found and what is allowed; it is
// codec.ErrCorrupt or, for what is valid but not supported, errors.ErrUnsupported.
package zarrjson
