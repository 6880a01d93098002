// Package hdf4 reads HDF4 files as the SD interface of the HDF library shows them (HDF
// Specification and Developer's Guide, version 4.2; mfhdf).
//
// A file is elements, each with a tag that says what it is and a number, and lists of
// descriptors that say where they are (chapter 2; numbers are big-endian):
//
//	0E 03 13 01 │ n(2) next(4) │ tag(2) ref(2) offset(4) length(4) … n times │ elements …
//	              └ 0, or where the next n descriptors are
//
// An element whose tag has the bit 0x4000 is special: at its offset stands how its bytes are
// stored (chapter 10):
//
//	1 linked      length(4) block(4) n(4) ref(2)     tables: next(2) ref(2) … n times
//	2 external    length(4) offset(4) n(4) name
//	3 compressed  version(2) length(4) ref(2) model(2) coder(2) …
//	5 chunked     n(4) version(1) flag(4) length(4) chunk(4) size(4) tag(2) ref(2) tag(2) ref(2)
//	              rank(4)  flag(4) dimension(4) chunk(4) … rank times  n(4) fill
//	              and if flag is 3:  3(2) n(4) model(2) coder(2) …
//
// The chunks of an element are rows of a table: the place of each and the element with its
// bytes, which may be compressed.
//
// A dataset is a Vgroup of class Var0.0 in the one of class CDF0.0, with its dimensions (Dim0.0,
// UDim0.0), attributes (Attr0.0), number type and data. Older files have a numeric data group
// in place of it (NDG, or SDG), with the dimensions in an element of their own and all else
// under tags of their own; their datasets have no names but Data-Set-2, and their dimensions
// none but fakeDim0, as the library gives them.
//
//	CDF0.0 ┬ Dim0.0   ── DimVal0.1: the length
//	       ├ Var0.0   ┬─ Dim0.0 …   Attr0.0 …
//	       │          └─ NT   SD: the values   NDG, for older libraries
//	       └ Attr0.0 …
//
// Tables of users (Vdatas) are groups with a variable a field. What the SD interface does not
// show, raster images above all, is listed as not read.
//
// Elements that lie in blocks here and there are a chunk a record. A chunk that is in several
// blocks is joined, and handed out with its bytes.
//
// Values stay as they are stored: scale_factor and add_offset are attributes, and what they mean
// is in HDF4 scale_factor · (stored - add_offset), unlike in CF.
package hdf4
