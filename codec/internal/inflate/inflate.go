// Package inflate decodes zlib and gzip (DEFLATE) streams to buffers of known size. Use Zlib or Gzip.
//
// The size of a chunk is known before it is decoded. So, unlike a general decoder, this one needs no
// sliding window: the output buffer is the window, the whole input is in memory, and matches are
// copied directly to their place. The formats, with lengths in bits for DEFLATE and in bytes otherwise:
//
//	DEFLATE, RFC 1951: blocks, the lowest bit of a byte first, each
//	  | final 1 | type 2 | type 0: pad to a byte, LEN 2, NLEN 2, LEN bytes          |
//	  |         |        | type 1: codes of section 3.2.6                           |
//	  |         |        | type 2: HLIT 5, HDIST 5, HCLEN 4, code lengths, codes    |
//
//	zlib, RFC 1950
//	  | CMF 1 | FLG 1 | DICTID 4 if FLG bit 5 is set | DEFLATE | Adler-32 4, big-endian |
//
//	gzip, RFC 1952: members, each
//	  | 1f 8b 08 | FLG 1 | MTIME 4 | XFL 1 | OS 1 | optional fields, see FLG | DEFLATE |
//	  | CRC-32 4 | ISIZE 4 |
//
// For example, "hi" in a stored block of a zlib stream is
//
//	78 01 │ 01  02 00  fd ff  68 69 │ 01 3b 00 d2
//	head    final LEN  NLEN   bytes   Adler-32
//
// Where the RFCs leave a choice, this package accepts the same streams as zlib:
//
//   - A code of one symbol may be incomplete.
//   - A block without distances may have no distance code.
//   - Every other incomplete or oversubscribed code is an error.
//   - A distance may reach back to the start of the output. The window size in the header is ignored.
//
// The caller passes the output as a slice dst of the expected size. A stream that holds more is
// corrupt. A stream that holds less is no error here, because only the caller knows whether it is
// one. Bytes of dst after the returned length are undefined, as is all of dst after an error. Nothing
// is written past len(dst).
//
// With the build tag libdeflate (and cgo), the C library of that name decodes the blocks. It accepts a
// few malformed codes that zlib rejects; all else is the same.
package inflate
