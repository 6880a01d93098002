package jpeg2000

import (
	"encoding/binary"

	"varve/codec/internal/corrupt"
)

// A JP2 file (annex I) is a sequence of boxes. The first is a signature, and one has the codestream:
//
//	0  length of the box, 4 bytes; if 1, the length is in 8 bytes after the type; if 0, the box is the last
//	4  type, 4 characters
const (
	boxHeader     = 8
	longBoxHeader = 16
	signatureBox  = "jP  "
	streamBox     = "jp2c"
	startOfStream = 0xff4f // SOC
)

// codestream finds the codestream in src, which it may be itself.
func codestream(src []byte) ([]byte, error) {
	if len(src) >= 2 && binary.BigEndian.Uint16(src) == startOfStream {
		return src, nil
	}
	if len(src) < boxHeader || string(src[4:boxHeader]) != signatureBox {
		return nil, corrupt.Errorf("jpeg2000: neither a codestream nor a JP2 file")
	}
	for at := 0; ; {
		rest := src[at:]
		if len(rest) < boxHeader {
			return nil, corrupt.Errorf("jpeg2000: no codestream in the boxes up to byte %d", at)
		}
		length, header := uint64(binary.BigEndian.Uint32(rest)), boxHeader
		switch {
		case length == 0:
			length = uint64(len(rest))
		case length == 1 && len(rest) >= longBoxHeader:
			length, header = binary.BigEndian.Uint64(rest[boxHeader:]), longBoxHeader
		}
		if length < uint64(header) || length > uint64(len(rest)) {
			return nil, corrupt.Errorf("jpeg2000: the box at byte %d has %d bytes, and %d are left", at, length, len(rest))
		}
		if string(rest[4:boxHeader]) == streamBox {
			return rest[header:length], nil
		}
		at += int(length)
	}
}
