// Package store reads the arrays of a manifest: any region, and any declared chunk.
//
// An array is a mosaic of tiles. Reading a region means:
//
//	for each tile that overlaps the region: fetch, decode with the tile's pipeline, convert, copy
//
// It has three steps, which run concurrently:
//
//	plan     find the stored chunks, read their refs, and form batches of near byte ranges of one source
//	fetch    read each batch with one read of an open source, whose identity was checked
//	copy     decode each chunk, on any core, directly into the output if its rows are contiguous
//
// A declared chunk is served verbatim if its stored bytes match the schema. Otherwise it is
// re-encoded: read as a region and encoded with the schema's codecs. The bytes are the same each time.
//
// All arrays of a store share its decoded chunks, encoded chunks, pages of tables and open files. Each
// of these has a limit. Equal concurrent requests are done only once.
package store
