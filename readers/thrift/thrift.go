// Package thrift reads and writes Thrift's compact protocol, which encodes the footers, page
// headers and indexes of Parquet files (thrift-compact-protocol.md):
//
//	struct   field, field, … 0
//	field    (id - previous id)·16 + type (1)  value
//	         type (1)  id varint  value        if the difference is not 1 to 15
//	integer  varint, zigzag
//	binary   length varint  bytes
//	list     length·16 + type (1)  elements    15: the length follows as a varint
//
// For example, a struct with field 1 = i32 5 and field 3 = binary "ab" is 15 0A 28 02 61 62 00.
//
// A Reader accepts data from untrusted sources.
package thrift

// Types of values.
const (
	stop   = 0
	True   = 1
	False  = 2
	I8     = 3
	I16    = 4
	I32    = 5
	I64    = 6
	Double = 7
	Binary = 8
	List   = 9
	Set    = 10
	Map    = 11
	Struct = 12
)
