// Package parquet writes and reads Parquet files: the tables of manifests, exported tables, and references of kerchunk.
//
//	w := parquet.NewWriter(out, columns, parquet.Options{})
//	err := w.RowGroup(rows, nil, values)  // once for each row group
//	err = w.Close()
//
//	f, err := parquet.Open(in, size)         // a file of a Writer: any page of any column at once
//	f, err := parquet.OpenForeign(in, size)  // a file of any program: columns from their start
//
// The bytes of a file:
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
// show whether it has only one value, and which one, without reading a page.
//
// For example, a table with the only column offset (INT64) and the rows 5, 5 is
//
//	50 41 52 31 │ dictionary page: 5 │ data page: 2 indexes of 0 bits │ OffsetIndex │ CRC-32 │
//	FileMetaData: 2 rows, 1 group, least and greatest value 5 │ its size │ 50 41 52 31
//
// The package exists because the available libraries take a hundred times as long to look up one row,
// and allocate whatever a footer or page header claims. docs/reference/format.md has the figures.
//
// The specification is parquet-format 2.12 (parquet.thrift, Encodings.md).
package parquet

import "varve/readers"

// Type is the type of a column.
type Type uint8

// The types of columns, with their physical type and annotation.
const (
	Int      Type = iota // INT64
	Text                 // BYTE_ARRAY, STRING: UTF-8
	JSON                 // BYTE_ARRAY, JSON
	Bytes                // BYTE_ARRAY
	IntList              // LIST of INT64
	TextList             // LIST of BYTE_ARRAY, STRING
	Int32                // INT32; only read
	Other                // neither written nor read: other types, and columns in groups
)

// String returns the name of the type, for errors.
func (t Type) String() string {
	return [...]string{"INT64", "STRING", "JSON", "BYTE_ARRAY", "LIST of INT64", "LIST of STRING", "INT32", "an unsupported type"}[t]
}

func (t Type) isList() bool { return t == IntList || t == TextList }

// isInt reports whether values, or elements of lists, are integers.
func (t Type) isInt() bool { return t == Int || t == IntList || t == Int32 }

// Column is one column of a schema. A column of lists cannot be optional.
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

	// The rest is for writing only.

	// Index, if it is not nil, gives row i the value Bytes[Index[i]], or null where Index[i] is negative.
	Index []int32
	// Lengths are the numbers of elements of lists. The elements are in Ints, or in Index.
	Lengths []int32
	// Same says that the only value applies to all rows. Options.Portable rules it out.
	Same bool
}

// Null reports whether the value of a row is null.
func (v *Values) Null(row int) bool { return v.Present != nil && v.Present[row] == 0 }

const magic = "PAR1"

// Creator is the created_by of files that a Writer wrote.
const Creator = "varve"

// The numbers of the specification's enumerations (parquet.thrift).
const (
	int32Type     = 1
	int64Type     = 2
	byteArrayType = 6

	requiredField = 0
	optionalField = 1
	repeatedField = 2

	utf8Converted = 0
	listConverted = 3
	jsonConverted = 19
	stringLogical = 1
	jsonLogical   = 12

	plainEncoding            = 0
	plainDictionary          = 2 // what RLE_DICTIONARY was called in pages before
	rleEncoding              = 3
	deltaEncoding            = 5
	dictionaryEncoding       = 8
	uncompressed             = 0
	snappyCodec              = 1
	gzipCodec                = 2
	lzoCodec                 = 3
	brotliCodec              = 4
	oldLZ4Codec              = 5
	zstdCodec                = 6
	lz4Codec                 = 7
	dataPage                 = 0
	dictionaryPage           = 2
	dataPageV2               = 3
	unknownCodec       uint8 = 255
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

// Limits of a file of another program.
const (
	maxForeignFooter = 64 << 20
	maxForeignPage   = 64 << 20
	maxPageHead      = 8 << 10
)

func corruptf(format string, args ...any) error { return readers.Corruptf(format, args...) }
