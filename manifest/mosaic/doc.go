// Package mosaic says of every declared chunk of an array where its bytes are: in which
// tile, at which row of the table of refs, and whether they are what the schema declares.
// It does no I/O.
//
//	array      0         31        59              placement: where tiles begin
//	           ├─ tile 0 ─┼─ tile 1 ─┼─ tile 2 ─┤
//	schema       ├──┼──┼──┼─┼──┼──┼──┼┤ …            declared chunks
//	stored     ├──┼──┼──┼─┤                        the chunks of a tile's own variable
//	             │
//	             └ row of refs = first row of the file + rows of the variables before
//	                             + the number of the stored chunk
//
// A chunk that coincides with one stored chunk, in place and in codec shape, is verbatim
// if decoding and conversion make the same of it. The cells of a chunk that lie past the
// array's extent count for nothing, so that a stored chunk on the border of its file fits
// the one on the border of the array, padding and all.
package mosaic
