// Package thrift reads and writes Thrift's compact protocol, which the footers, page heads and
// indexes of Parquet files are in:
//
//	struct   field, field, … 0
//	field    distance from the id before ×16 + type (1)  value
//	         type (1)  id varint  value                  where the distance is not 1 to 15
//	integer  varint, zigzag
//	binary   length varint  bytes
//	list     length ×16 + type (1)  elements             15: the length follows as a varint
//
// The specification is Thrift's thrift-compact-protocol.md. What a Reader reads may have been
// written by anybody.
package thrift

// The types of values.
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
