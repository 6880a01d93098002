// Package dap answers requests of the OPeNDAP protocols, DAP2 and DAP4, from a manifest. It knows neither addresses nor
// HTTP: package manifest/serve has those.
//
//	          DAP2                                   DAP4
//	schema    DDS: declarations, as in C             DMR: XML
//	          DAS: attributes
//	data      DODS: the DDS and values in XDR        chunks: the DMR, values, a CRC-32 for each variable
//	          ASCII: the same as text
//	request   sst[0:1:9][3][4],time[0:1:9]           /sst[0:1:9][3][4];/time[0:1:9]
//
// The last index of a hyperslab is included. In DAP2, a variable whose dimensions all have coordinates is a Grid: an array
// and its coordinates, the maps. DAP4 has groups; in DAP2 the variable /ocean/salt is
// ocean__salt.
//
// DAP2 lacks types, and clients read its unsigned types as signed ones. So values are sent as the next type that holds
// them all:
//
//	bool                           Byte
//	int8, uint8, int16             Int16
//	uint16, int32                  Int32
//	uint32, float64                Float64
//	float16, float32               Float32
//	int64, uint64, times           Int32 if all values fit; else Float64
//	texts                          String
//
// An array of up to a million elements with a value that a Float64 cannot hold is omitted in DAP2, and arrays along its dimension
// are no Grids. Of a larger array, such values are refused when they are requested.
//
// An array of single characters, as netCDF has for texts, becomes an array of Strings without its last dimension. What has
// no type in DAP, such as complex numbers, is omitted; attributes of the dataset say so.
//
// References: DAP 2.0, ESE-RFC-004.1.1; DAP4 Specification, volumes 1 and 2.
package dap
