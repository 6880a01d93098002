// Package store reads the arrays of a manifest: any region, and any declared chunk.
//
// An array is a mosaic of tiles, and reading is
//
//	for each tile that meets the region: fetch, decode with the tile's pipeline, convert, place
//
// in three steps, each of them streaming:
//
//	plan     selection → stored chunks of tiles → refs → batches of near ranges of one source
//	fetch    a batch is one read of one open source, whose identity is checked
//	place    each chunk is decoded, by any core, into the output where rows allow it
//
// A declared chunk is served as it is stored where that is what the schema declares, and
// re-encoded everywhere else: read as a region, encoded with the schema's codecs, the same bytes
// every time.
//
// What a store keeps in memory (decoded chunks, encoded ones, pages of tables, open files)
// has limits, and is shared by all arrays. Equal requests at one time are worked on once.
package store
