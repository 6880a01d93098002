// Package grid computes how an array is cut into chunks, and which parts of which chunks
// a selection needs. It works on lengths and positions only: it sees no elements, no
// stores and no documents.
//
// # Terms
//
// A dimension is one direction of an array. An axis is the number of a dimension in the
// array's shape, as in NumPy: axis 0 is the first.
//
// An edge is a chunk's length along one axis. It has two sizes: the codec size is the
// length that the codec decodes, the data size is the number of decoded elements that
// belong to the array. They differ where a writer padded a chunk that the array, or the
// file it came from, did not fill.
//
// A cell is a declared edge; a chunk is a cell that intersects the array's extent. A
// dimension that shrank keeps its cells and has fewer chunks:
//
//	edges     10        20              30
//	        |----|----------|----------------|
//	extent 25 ----------|                       3 cells, 2 chunks, data sizes 10 and 15
//
// A [Dimension] is [Fixed] (all edges have one size), [Varying] (run-length encoded
// edges) or [Tiled] (a repeating pattern, such as the lengths of months). A [Grid] has
// one Dimension for each axis and the array's shape. The specifications are the "regular"
// grid of Zarr v3 and the "rectilinear" grid of zarr-extensions; docs/reference/chunk-grids.md
// states this package's behaviour where implementations disagree.
//
// # Counts
//
// Every size, index and count is an int64. No function expands a run: a dimension of [[1,
// 9000000000000000000]] takes as much memory as one of [[1, 1]]. A sum that overflows an
// int64 is an error.
//
// # Selections
//
// [Basic], [Orthogonal], [Block], [Coordinate] and [Mask] return an [Indexer], which
// streams one [Projection] for each chunk that the selection touches. [Gather] and
// [Scatter] copy a projection's elements between a chunk and the output, with memmove
// where elements are contiguous in both.
package grid
