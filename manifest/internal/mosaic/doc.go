// Package mosaic computes the location of every declared chunk of an array: its tile, its row in the
// table of refs, and whether its stored bytes match the schema. It reads no sources and no tables itself.
//
//	array      0         31        59              placement: where tiles start
//	           ├─ tile 0 ─┼─ tile 1 ─┼─ tile 2 ─┤
//	schema       ├──┼──┼──┼─┼──┼──┼──┼┤ …            declared chunks
//	stored     ├──┼──┼──┼─┤                        the chunks of a tile's own variable
//	             │
//	             └ row of refs = first row of the file + rows of the variables before
//	                             + the number of the stored chunk
//
// A declared chunk is verbatim if it coincides with one stored chunk in position and codec shape, and
// decoding and conversion give the same elements. Elements beyond the array's shape do not count. So
// the padded last chunk of the last file is verbatim too.
package mosaic
