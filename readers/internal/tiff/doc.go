// Package tiff reads TIFF and BigTIFF files, and with them GeoTIFF, COG, OME-TIFF and the stacks of ImageJ.
//
// A file is a list of directories (IFDs). Each describes an image by numbered tags. Two of them list the position and the size
// of every tile or strip:
//
//	header → IFD 0 → IFD 1 → …
//	         ├ width, height, bits, compression, …
//	         ├ offsets, byte counts ── tiles or strips
//	         └ sub-IFDs
//
// A tile is a chunk of a regular grid, a strip a chunk whose edges may differ, so that a last strip that is shorter needs
// no special case. Nothing but tags is read to open a file; the lists of positions are read with the refs.
//
// Specification: TIFF 6.0; BigTIFF; OGC GeoTIFF 1.1; Adobe's Technical Notes 1 to 3.
package tiff
