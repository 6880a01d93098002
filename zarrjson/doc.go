// Package zarrjson reads and writes the documents that describe Zarr hierarchies:
// zarr.json of format 3, and .zarray, .zgroup, .zattrs and .zmetadata of format 2. No
// other package contains the names of their fields.
//
// A document becomes an [Array] or a [Group], in varve's own terms: a codec.Type, a fill
// value in memory form, codec.Specs, and chunk sizes that bind to a grid.Grid.
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
// Fields are written in this order, which is zarr-python's, as are the layout and the
// spelling of numbers and strings. Where two spellings mean the same, the original one is
// kept: the name of a data type or a grid, an integer for the edges of an axis,
// attributes byte for byte. Runs of chunk sizes are read and written as runs; no function
// expands a count.
//
// # Specifications
//
// Documents follow the core specification of Zarr v3.1. Data types, chunk grids and key
// encodings follow zarr-extensions. Format 2 follows the Zarr storage specification
// version 2. Where zarr-python 3.4 accepts more, and its own older documents depend on it (bare
// NaN, integers as 1.0 or "1", text fill values as numbers), so does varve.
//
// # Errors
//
// A document is refused as a whole: no partial result is returned. The error is an
// [*Error], which names the field, its value and the allowed values. It wraps
// codec.ErrCorrupt or, for a valid document that needs an unsupported feature,
// errors.ErrUnsupported.
package zarrjson
