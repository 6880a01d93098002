// Package netcdffile presents a virtual dataset as one netCDF-4 file, for programs that read nothing else. Nothing is stored:
// each byte is made when it is read.
//
//	superblock, version 2                       in memory
//	object headers, version 2                   of groups, variables and dimensions
//	global heap                                 texts, and references to dimension scales
//	per variable: index │ chunks                version 1 B-tree; bytes of sources, or decoded chunks
//
// The file has only what HDF5 1.8 wrote, so that netCDF-Java and MATLAB before R2021b read it too.
//
// The index of a variable is a full tree: each leaf covers a window of 64 chunks in row order, whether they are stored or not.
// So the address of each node follows from its number, and its content from the manifest's refs, when it is read. A leaf
// lists the stored chunks of its window.
//
// A chunk is verbatim where HDF5 has the filters of the array: the file has the bytes of the source. Any other chunk is
// decoded, and its filter mask says that no filter was applied. So all sizes are known without decoding.
//
// The address of a chunk is known in one of two ways:
//
//	dense    chunks follow one another; the offset of each window is in memory. The refs are read when the file is opened.
//	slots    each chunk has room for its decoded size, so the address follows from its number, and the file has gaps.
//
// Arrays without filters, and those with very many chunks, have slots. A verbatim chunk that is larger than its slot is decoded.
//
// With Options.Classic the file is of netCDF's classic model instead: a header, and then the values in order. See package
// varve/manifest/export/netcdf.
package netcdffile
