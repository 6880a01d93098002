// Package mount shows virtual datasets in a folder of Linux, for programs that read only files.
//
//	DIR/NAME.nc          the dataset as one netCDF-4 file: see package netcdffile
//	DIR/NAME.zarr/       the files of its Zarr hierarchy
//	DIR/@SNAPSHOT/       the same of one snapshot, by its ID
//
// All is read only. Each snapshot has files of its own: after an append, the name leads to another file, and a program that has the
// old one open reads on in the old snapshot.
package mount
