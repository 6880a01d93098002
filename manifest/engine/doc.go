// Package engine answers the requests of a program in another language, such as the Python package
// in cmd/varve-python: it opens manifests and sends decoded regions of their arrays.
//
// # Connections
//
// An engine belongs to one client process and ends with it. On Unix the client hands it one end of a
// socket pair, over which it sends one end of another socket pair for each connection (SCM_RIGHTS):
// no socket has a name, so no other process can connect. Elsewhere the engine listens on the loopback
// address, and a connection begins with a token that only the client knows.
//
// A connection carries one request at a time. A client that no longer wants an answer closes its
// connection; the engine then cancels the work. Datasets are known to all connections.
//
// # Protocol
//
// All numbers are little-endian. A request is
//
//	u32  number of bytes that follow
//	u8   operation
//	...  body
//
// and its answer
//
//	u32  status: 0 done, 1 a block is in shared memory, 2 no such key, 3 failed
//	u32  status 1: the slot of the block; otherwise 0
//	u64  number of bytes that follow
//	...  payload; status 3: {"code": "source_changed", "message": "..."}
//
// The operations:
//
//	1 hello  u32 Version                     →  JSON: "version" and "commit" of the engine
//	2 open   JSON, an openRequest            →  JSON: "dataset" (its handle), "snapshot", "groups", "arrays"
//	3 close  u32 handle, any number of times →  nothing
//	4 read   u32 dataset                     →  the selected elements, in C order
//	         u32 array, its index in the answer to open
//	         u8  selection: 0 orthogonal, 1 points
//	         u8  rank
//	         u8  1 to get the elements through shared memory, else 0
//	         u8  0
//	         orthogonal, for each axis
//	             u8 0, i64 index                          one index; the axis is dropped
//	             u8 1, i64 start, i64 count, i64 step     a slice; the step is positive
//	             u8 2, u64 n, n × i64                     indices
//	         points
//	             u64 n, rank × n × i64                    n indices for each axis; the output is a line
//	5 get    u32 dataset, u8 range, i64 a, i64 b, key → the bytes of a key of the Zarr hierarchy
//	             range 0: all; 1: from a up to b; 2: from a on; 3: the last a
//	6 list   u32 dataset, i64 start, i64 most, prefix → JSON: "keys", and "next", the start of the next request
//	7 draw   u32 dataset, u32 array                   →  SVG: where its chunks are, and how they are served
//	8 sources u32 dataset, i64 start, i64 most        →  JSON: "sources" with "url", "size" and so on, and "next"
//	9 refs   u32 dataset, u32 array                   →  u32 length, JSON: "sources", "chunks"; then for all chunks, in C order,
//	                                                     i64 source: its index, -1 missing, or -2 inline; i64 offset;
//	                                                     i64 size; then the bytes in which offsets of inline chunks are
//
// Elements of a fixed size follow one another without padding. For elements of varying size, the payload has
// a u32 length for each element, then the bytes of all elements.
//
// # Shared memory
//
// With a request to read, a client may send the descriptor of an anonymous file (SCM_RIGHTS), which all
// later requests of the connection use. The file is divided into slots of 4 MiB. The engine decodes blocks of
// the elements into slots, on all cores, and sends a message for each block, in any order:
//
//	u32 1, u32 slot, u64 16, u64 offset of the block in the bytes of the elements, u64 its length
//
// The client copies the block to its destination and sends one byte, the number of the slot, which is then
// free again. So the file stays small, the system allocates its pages only once for a connection (the first
// access to a page costs ten times as much as a copy), and the client copies while the engine decodes.
package engine
