// Package store reads the arrays of a manifest: any region, and any declared chunk.
//
// An array is a mosaic of tiles. Reading a region means:
//
//	for each tile that meets the region: fetch, decode with the tile's pipeline, convert, place
//
// It has three steps, which run concurrently:
//
//	plan     selection → stored chunks of tiles → refs → batches of near byte ranges of one source
//	fetch    a batch is one read of one open source, whose identity is checked
//	place    each chunk is decoded, on any core, directly into the output if its rows are contiguous
//
// A declared chunk is served verbatim if its stored bytes match the schema. Otherwise it is
// re-encoded: read as a region and encoded with the schema's codecs. The bytes are the same every
// time.
//
// All arrays of a store share its memory: decoded chunks, encoded chunks, pages of tables and open
// files. Each has a limit. Equal concurrent requests share one piece of work.
package store
