// Package describe writes documents of sources for "varve inspect --json": HDF5, netCDF-3 and GRIB in the words of the libraries that
// define them, and all else in the words of readers.Dataset.
package describe

import (
	"errors"

	"varve/readers"
)

// The limits of what is listed and hashed, as in the documents it is compared with.
const (
	maxListedChunks = 2_000_000
	maxHashedValues = 64 << 20
)

// document is a JSON object. That of a file has the keys
//
//	file, source   its name with its folder, and as it was given
//	kind, status   "hdf5", "netcdf3", "zarr" and so on, or "unknown"; "ok" or "error" with the
//	               reason in error
//	superblock, userblock, sizes, eof
//	               of HDF5: version, bytes in front, of addresses and lengths, of the file
//	objects        of all but netCDF-3: each path once, with type, attributes, and for datasets dtype,
//	               shape, layout, chunk, index, filters, fill, and what --checksum and
//	               --values add: hashes of the list of chunks and of all values
//	salvaged       of HDF5: objects likewise, of groups whose list of members is damaged. libhdf5 lists
//	               nothing of such
//	classic        of netCDF-3: the header as it is stored
//	format, dimensions
//	               of formats other than these: what the reader calls it, by path
//	grib           of GRIB: messages, one document a field, with ecCodes' keys; --values adds hashes of
//	               values and coordinates. status is "partial" if some messages cannot be read
//	tiff           of TIFF: byteOrder, bigtiff and ifds, an object for each directory
//	netcdf         of HDF5 and netCDF-3: dimensions, groups, variables and attributes as netcdf-c gives them
//
// Values are hashed little-endian in C order, strings as a JSON list.
type document = map[string]any

// damage keeps the first error about corrupt bytes. The damaged part is marked in the document.
type damage struct{ first error }

func (d *damage) note(err error) {
	if d.first == nil && errors.Is(err, readers.ErrCorrupt) {
		d.first = &readers.PartialError{Err: err}
	}
}
