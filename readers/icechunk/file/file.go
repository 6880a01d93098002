// Package file is how the files of Icechunk repositories begin, and what they are in. All
// but chunks are a header and then a FlatBuffers buffer in zstd:
//
//	"ICE🧊CHUNK"(12)  client(24)  version(1)  kind(1)  compression(1)  │ zstd
//
// The specification is Icechunk's, 2.1, "File headers". Those who read repositories and those
// who write to them share this package.
package file

import (
	"errors"
	"fmt"

	"github.com/klauspost/compress/zstd"

	"varve/readers"
)

// Magic begins every file but chunks.
const Magic = "ICE🧊CHUNK"

// ClientSize is how much of a header names the program that wrote the file.
const ClientSize = 24

// HeaderSize is how much comes before the buffer.
const HeaderSize = len(Magic) + ClientSize + 3

// Zstd is the only compression there is.
const Zstd = 1

// Kind is what a file is.
type Kind uint8

// The kinds of files.
const (
	Snapshot    Kind = 1
	Manifest    Kind = 2
	Transaction Kind = 4
	Repo        Kind = 6
)

// String names the kind.
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

// MaxSize is how large a file may be. Icechunk's own manifests cannot be read beyond 2 GiB,
// and seldom compress to less than a tenth.
const MaxSize = 512 << 20

// The limits of a buffer.
const (
	small      = 16 << 20 // larger ones only as far as their bytes justify
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
		return nil, fmt.Errorf("from byte %d on: %w", HeaderSize, err)
	}
	return &Buffer{data: decoded, version: version}, nil
}

// checkHeader returns the version of the format.
func checkHeader(data []byte, want Kind) (uint8, error) {
	if len(data) < HeaderSize || string(data[:len(Magic)]) != Magic {
		return 0, readers.Corruptf("no file of Icechunk: it does not begin with %s", Magic)
	}
	version, got, compression := data[HeaderSize-3], Kind(data[HeaderSize-2]), data[HeaderSize-1]
	switch {
	case version != 1 && version != 2:
		return 0, fmt.Errorf("version %d of the format; known are 1 and 2: %w", version, errors.ErrUnsupported)
	case got != want:
		return 0, readers.Corruptf("a %v, where a %v is due", got, want)
	case compression != Zstd:
		return 0, fmt.Errorf("compression %d; known is 1, zstd: %w", compression, errors.ErrUnsupported)
	}
	return version, nil
}

// NewDecoder returns a decoder of zstd, maybe with a dictionary, that makes at most limit
// bytes of a frame.
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

// Decompress decodes a frame, appending to dst.
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

// Name writes an id in Crockford's base 32 without padding, as it is in names.
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
