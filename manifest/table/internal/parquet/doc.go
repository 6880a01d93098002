// Package parquet writes and reads the part of Parquet that the tables of a manifest are in:
// flat rows of 64-bit integers, texts and bytes, some of which may be null.
//
//	"PAR1"
//	for each row group, for each column:
//	    [dictionary page]                    PLAIN; only with RLE_DICTIONARY
//	    data page, data page, …              version 1; each with a CRC-32
//	for each row group, for each column:
//	    OffsetIndex                          where pages are, and the first row of each
//	CRC-32 of the FileMetaData, 4 bytes      ours; Parquet lets anything lie between the parts
//	FileMetaData                             Thrift's compact protocol
//	size of the FileMetaData, 4 bytes
//	"PAR1"
//
// A column of a row group is in one of these forms (Encodings.md of the specification):
//
//	one value only    one data page, RLE_DICTIONARY, indexes of 0 bits; or no values at all
//	integers          DELTA_BINARY_PACKED, blocks of 128 in 4 miniblocks
//	                  (PLAIN if a page would be without values)
//	texts, bytes      RLE_DICTIONARY where values repeat, PLAIN otherwise
//
// and all in ZSTD, also what it does not make smaller: libraries are about that take the
// compression of the first row group for that of all. All columns but those of one value have their page boundaries in
// common, so that a page is a run of rows. The statistics of a column say whether it has one
// value only, and which: it takes no reading to know.
//
// Why by hand: a lookup of one row takes the libraries at hand a hundred times as long, and
// they allocate whatever a footer or a page header claims. docs/format.md has the figures.
package parquet

import (
	"fmt"

	"varve/codec"
)

// Type is what a column holds.
type Type uint8

// The types of columns.
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

// Values are those of one column in a run of rows: one each, nulls included.
type Values struct {
	Ints  []int64
	Bytes [][]byte
	// Present has a 1 for each value and a 0 for each null. It is nil if there are no nulls.
	Present []uint8
	// Same: there is one value, which stands for all rows. It is for writing only.
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

// What a file may have. Rows that hold one value only take no bytes, so that nothing else
// bounds what a page of them takes in memory.
const (
	MaxGroupRows = 1 << 20
	MaxPageRows  = 1 << 16
	singleRows   = 1 << 12 // where no column says where pages end
	MaxColumns   = 256
	maxPageBytes = 1 << 30
	maxNameBytes = 128
)

func corruptf(format string, args ...any) error { return &corruption{fmt.Errorf(format, args...)} }

// corruption is an error caused by the bytes of a file.
type corruption struct{ err error }

func (c *corruption) Error() string   { return c.err.Error() }
func (c *corruption) Unwrap() []error { return []error{c.err, codec.ErrCorrupt} }
