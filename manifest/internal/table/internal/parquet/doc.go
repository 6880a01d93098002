// Package parquet writes and reads a subset of Parquet for the tables of a manifest: flat rows of
// 64-bit integers, texts and bytes, which may be null.
//
//	"PAR1"                                   magic
//	for each row group, for each column:
//	    [dictionary page]                    PLAIN; only with RLE_DICTIONARY
//	    data page, data page, …              version 1; each with a CRC-32
//	for each row group, for each column:
//	    OffsetIndex                          location and first row of each page
//	CRC-32 of the FileMetaData, 4 bytes      checkBytes; varve's own, where Parquet allows any bytes
//	FileMetaData                             Thrift's compact protocol
//	size of the FileMetaData, 4 bytes        tailBytes, with the magic
//	"PAR1"
//
// A column of a row group has one of these forms (Encodings.md of the specification):
//
//	one value only    one data page, RLE_DICTIONARY, indexes of 0 bits; or no values at all
//	integers          DELTA_BINARY_PACKED, blocks of 128 in 4 miniblocks
//	                  (PLAIN if a page would have no values)
//	texts, bytes      RLE_DICTIONARY if values repeat, else PLAIN
//
// All pages are compressed with ZSTD, even if that makes them larger, because some libraries take the
// compression of the first row group for that of all. In a row group, all columns have the same page
// boundaries, except columns with one value, so a page is a run of rows. The statistics of a column
// tell whether it has only one value, and which one, without reading a page.
//
// For example, a table with the only column offset (INT64) and the rows 5, 5 is
//
//	50 41 52 31 │ dictionary page: 5 │ data page: 2 indexes of 0 bits │ OffsetIndex │ CRC-32 │
//	FileMetaData: 2 rows, 1 group, least and greatest value 5 │ its size │ 50 41 52 31
//
// The package exists because the available libraries take a hundred times as long to look up one row,
// and allocate whatever a footer or page header claims. docs/reference/format.md has the figures.
package parquet

import (
	"fmt"

	"varve/codec"
)

// Type is the type of a column.
type Type uint8

// The types of columns, with their physical type and annotation.
const (
	Int   Type = iota // INT64
	Text              // BYTE_ARRAY, STRING: UTF-8
	JSON              // BYTE_ARRAY, JSON
	Bytes             // BYTE_ARRAY
)

func (t Type) String() string { return [...]string{"INT64", "STRING", "JSON", "BYTE_ARRAY"}[t] }

// Column is one column of a schema.
type Column struct {
	Name     string
	Type     Type
	Optional bool
}

// Values are the values of one column in a run of rows, including nulls.
type Values struct {
	Ints  []int64
	Bytes [][]byte
	// Present has 1 for each value and 0 for each null. It is nil if there are no nulls.
	Present []uint8
	// Same says that the only value applies to all rows. It is for writing only.
	Same bool
}

// Null reports whether the value of a row is null.
func (v *Values) Null(row int) bool { return v.Present != nil && v.Present[row] == 0 }

const magic = "PAR1"

// The numbers of the specification's enumerations (parquet.thrift).
const (
	int64Type     = 2
	byteArrayType = 6

	plainEncoding      = 0
	rleEncoding        = 3
	deltaEncoding      = 5
	dictionaryEncoding = 8

	uncompressed = 0
	zstdCodec    = 6

	dataPage       = 0
	dictionaryPage = 2
)

// Limits of a file. Rows of columns with one value take no bytes, so the file's size does not bound
// the memory of a page of them.
const (
	MaxGroupRows = 1 << 20
	MaxPageRows  = 1 << 16
	singleRows   = 1 << 12 // rows of a page if no column has page boundaries
	MaxColumns   = 256
	maxPageBytes = 1 << 30
	maxNameBytes = 128
)

func corruptf(format string, args ...any) error { return &corruption{fmt.Errorf(format, args...)} }

// corruption is an error caused by the bytes of a file.
type corruption struct{ err error }

func (c *corruption) Error() string   { return c.err.Error() }
func (c *corruption) Unwrap() []error { return []error{c.err, codec.ErrCorrupt} }
