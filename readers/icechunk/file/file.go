// Package file reads and writes the encoding of files in Icechunk repositories. All files but
// chunks consist of a header and a FlatBuffers buffer in zstd:
//
//	"ICE🧊CHUNK"(12)  client(24)  version(1)  kind(1)  compression(1)  │ zstd
//
// For example, a manifest of format 2 has the bytes 02 02 01 before the zstd frame at offset 39.
// The specification is "File headers" of Icechunk 2.1. The reader and the writer of repositories
// share this package.
package file

import (
	"errors"
	"fmt"

	"github.com/klauspost/compress/zstd"

	"varve/readers"
)

// Magic starts every file but chunks.
const Magic = "ICE🧊CHUNK"

// ClientSize is the size of the name of the program that wrote the file.
const ClientSize = 24

// HeaderSize is the size of a header.
const HeaderSize = len(Magic) + ClientSize + 3

// Zstd is the only defined compression.
const Zstd = 1

// Kind is the kind of a file.
type Kind uint8

// The kinds of files.
const (
	Snapshot    Kind = 1
	Manifest    Kind = 2
	Transaction Kind = 4
	Repo        Kind = 6
)

// String returns the name of the kind.
func (k Kind) String() string {
	switch k {
	case Snapshot:
		return "snapshot"
	case Manifest:
		return "manifest"
	case Transaction:
		return "transaction log"
	case Repo:
		return "repository info"
	}
	return fmt.Sprintf("file of type %d", uint8(k))
}

// MaxSize limits the size of a file. Icechunk cannot read manifests of more than 2 GiB, and they
// rarely compress to less than a tenth.
const MaxSize = 512 << 20

// Limits of a buffer.
const (
	small      = 16 << 20 // up to this size any compression ratio is accepted
	maxRatio   = 128
	maxDecoded = 2 << 30
)

// Unpack returns the buffer in a file of a kind.
func Unpack(data []byte, want Kind) (*Buffer, error) {
	version, err := checkHeader(data, want)
	if err != nil {
		return nil, err
	}
	payload := data[HeaderSize:]
	d, err := NewDecoder(nil, min(max(small, uint64(len(payload))*maxRatio), maxDecoded))
	if err != nil {
		return nil, err
	}
	defer d.Close()
	decoded, err := Decompress(d, payload, nil)
	if err != nil {
		return nil, fmt.Errorf("at byte %d: %w", HeaderSize, err)
	}
	return &Buffer{data: decoded, version: version}, nil
}

// checkHeader checks a header and returns the version of the format.
func checkHeader(data []byte, want Kind) (uint8, error) {
	if len(data) < HeaderSize || string(data[:len(Magic)]) != Magic {
		return 0, readers.Corruptf("not an Icechunk file: it does not start with %s", Magic)
	}
	version, got, compression := data[HeaderSize-3], Kind(data[HeaderSize-2]), data[HeaderSize-1]
	switch {
	case version != 1 && version != 2:
		return 0, fmt.Errorf("format version %d (supported: 1 and 2): %w", version, errors.ErrUnsupported)
	case got != want:
		return 0, readers.Corruptf("file is a %v (want a %v)", got, want)
	case compression != Zstd:
		return 0, fmt.Errorf("compression %d (supported: 1, zstd): %w", compression, errors.ErrUnsupported)
	}
	return version, nil
}

// NewDecoder returns a zstd decoder that expands a frame to at most limit bytes. dictionary may be
// nil.
func NewDecoder(dictionary []byte, limit uint64) (*zstd.Decoder, error) {
	options := []zstd.DOption{zstd.WithDecoderMaxMemory(limit), zstd.WithDecoderConcurrency(1)}
	if dictionary != nil {
		options = append(options, zstd.WithDecoderDicts(dictionary))
	}
	d, err := zstd.NewReader(nil, options...)
	if err != nil {
		return nil, readers.Corruptf("zstd: %w", err)
	}
	return d, nil
}

// Decompress decodes a frame and appends it to dst.
func Decompress(d *zstd.Decoder, frame, dst []byte) ([]byte, error) {
	out, err := d.DecodeAll(frame, dst)
	if errors.Is(err, zstd.ErrDecoderSizeExceeded) || errors.Is(err, zstd.ErrWindowSizeExceeded) {
		return nil, fmt.Errorf("%w: %w", err, errors.ErrUnsupported)
	}
	if err != nil {
		return nil, readers.Corruptf("zstd: %w", err)
	}
	return out, nil
}

// Name returns an id in Crockford's base 32 without padding, as in file names.
func Name(id []byte) string {
	const digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	out := make([]byte, 0, (len(id)*8+4)/5)
	bits, n := uint32(0), 0
	for _, c := range id {
		bits, n = bits<<8|uint32(c), n+8
		for ; n >= 5; n -= 5 {
			out = append(out, digits[bits>>(n-5)&31])
		}
	}
	if n > 0 {
		out = append(out, digits[bits<<(5-n)&31])
	}
	return string(out)
}
