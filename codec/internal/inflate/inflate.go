// Package inflate decodes DEFLATE streams into buffers whose size is known.
//
// A chunk of an array announces how many elements it holds, so its decoder never
// needs the sliding window of a general inflater: the output is the window, the whole
// input is in memory, and every copy goes straight to its place. The three wrappings:
//
//	DEFLATE, RFC 1951: blocks, each behind three bits, lowest bit of a byte first
//	  | final 1 | type 2 | type 0: pad to a byte, LEN 2, NLEN 2, LEN bytes          |
//	  |         |        | type 1: codes of section 3.2.6                           |
//	  |         |        | type 2: HLIT 5, HDIST 5, HCLEN 4, code lengths, codes    |
//
//	zlib, RFC 1950
//	  | CMF 1 | FLG 1 | DICTID 4 when FLG bit 5 | DEFLATE | Adler-32 4, big endian  |
//
//	gzip, RFC 1952: one member after another, each
//	  | 1f 8b 08 | FLG 1 | MTIME 4 | XFL 1 | OS 1 | fields that FLG names | DEFLATE |
//	  | CRC-32 4 | ISIZE 4 |
//
// What a stream may contain is what zlib decides where the RFCs are silent: a code
// of one symbol may be incomplete, a block without distances may have none, every
// other incomplete or oversubscribed set of lengths is an error, and a distance may
// reach back to the start of the output whatever window the header declares.
//
// Every decoder takes the output as a slice of the expected size. A stream that holds
// more is corrupt; one that holds less is not an error here, since only the caller
// knows whether less will do. Bytes of dst behind the returned n are undefined after a
// call, and so is all of dst after an error. Nothing is ever written behind len(dst).
//
// With the build tag libdeflate (and cgo) the blocks are decoded by the C library of that
// name, which forgives a few malformed codes that zlib refuses; all else is the same.
package inflate
