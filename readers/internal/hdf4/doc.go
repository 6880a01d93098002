// Package hdf4 reads HDF4 files as the SD interface of the HDF library shows them (HDF
// Specification and Developer's Guide, version 4.2; mfhdf).
//
// A file consists of elements and of descriptor lists, which hold the position of each element. A
// tag (its type) and a reference number identify an element. Numbers are big-endian (chapter 2;
// sizes in bytes):
//
//	0E 03 13 01 │ n(2) next(4) │ tag(2) ref(2) offset(4) length(4) … n times │ elements …
//	              └ 0, or offset of the next descriptor list
//
// For example, 02BE 0003 00000126 00000018 describes the values (tag 702, SD) with reference number
// 3: 24 bytes at offset 294.
//
// An element is special if its tag has the bit 0x4000. Then its offset leads to a header, which
// starts with the storage kind (2 bytes) and describes how the bytes are stored (chapter 10):
//
//	1 linked      length(4) block(4) n(4) ref(2)     tables: next(2) ref(2) … n times
//	2 external    length(4) offset(4) n(4) name
//	3 compressed  version(2) length(4) ref(2) model(2) coder(2) …
//	5 chunked     n(4) version(1) flag(4) length(4) chunk(4) size(4) tag(2) ref(2) tag(2) ref(2)
//	              rank(4)  flag(4) dimension(4) chunk(4) … rank times  n(4) fill
//	              and if flag is 3:  3(2) n(4) model(2) coder(2) …
//
// The chunks of a chunked element are listed in a table: each row has a chunk's grid position and
// the element with its bytes, which may be compressed.
//
// A dataset is a Vgroup of class Var0.0 inside the Vgroup of class CDF0.0. It contains its
// dimensions (Dim0.0, UDim0.0), attributes (Attr0.0), number type and data. Older files have a
// numeric data group instead (NDG, or SDG), with the dimensions in one element and other properties
// under tags of their own. Their datasets have no names except Data-Set-2 and so on, and their
// dimensions are named fakeDim0 and so on, as by the library.
//
//	CDF0.0 ┬ Dim0.0   ── DimVal0.1: the length
//	       ├ Var0.0   ┬─ Dim0.0 …   Attr0.0 …
//	       │          └─ NT   SD: the values   NDG, for older libraries
//	       └ Attr0.0 …
//
// Users' tables (Vdatas) become groups with a variable for each field. Objects that the SD
// interface does not show, mainly raster images, are listed as problems.
//
// A dataset in linked blocks gets one chunk for each record. The bytes of a chunk in several blocks
// are read and returned with its ref.
//
// Values are returned as stored, with scale_factor and add_offset as attributes. In HDF4 these mean
// scale_factor · (stored - add_offset), unlike in CF.
package hdf4
