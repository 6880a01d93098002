// Package grid says how an array is cut into chunks, and which parts of which chunks
// a selection needs. It knows lengths and positions only: no elements, no stores, no
// documents.
//
// # Words
//
// An edge is a chunk's length along one axis. It has two sizes: the codec size is
// what the codec decodes, the data size is what of it counts. They differ where a
// writer padded a chunk that the array, or the file it came from, did not fill.
//
// A cell is a declared edge; a chunk is a cell that meets the array's extent. An axis
// that shrank keeps its cells and has fewer chunks:
//
//	edges     10        20              30
//	        |----|----------|----------------|
//	extent 25 ----------|                       3 cells, 2 chunks, data sizes 10 and 15
//
// A [Dimension] is one axis: [Fixed] (one size), [Varying] (run-length encoded
// edges) or [Tiled] (a pattern that repeats, such as the lengths of months). A [Grid]
// is one Dimension for each axis, bound to a shape. The specifications are the
// "regular" grid of Zarr v3 and the "rectilinear" grid of zarr-extensions; where
// implementations of them disagree docs/chunk-grids.md says what this package does.
//
// # Counts
//
// Every size, index and count is an int64. Nothing here expands a run: an axis of
// [[1, 9000000000000000000]] takes as much memory as one of [[1, 1]], and every sum
// that does not fit is an error.
//
// # Selections
//
// [Basic], [Orthogonal], [Block], [Coordinate] and [Mask] make an [Indexer], which
// streams one [Projection] for each chunk it touches. [Gather] and [Scatter] carry a
// projection's elements between a chunk and the output, as a memmove wherever
// elements lie side by side in both.
package grid
