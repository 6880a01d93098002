package icechunk

import (
	"context"
	"errors"
	"fmt"

	"github.com/klauspost/compress/zstd"

	"varve/readers"
	"varve/readers/source"
)

// magic begins every file but chunks.
const magic = "ICE🧊CHUNK"

// The header of a file.
const (
	headerSize    = 39
	versionAt     = 36
	kindAt        = 37
	compressionAt = 38
)

// kind is what a file is.
type kind uint8

const (
	snapshotFile kind = 1
	manifestFile kind = 2
	repoFile     kind = 6
)

func (k kind) String() string {
	switch k {
	case snapshotFile:
		return "snapshot"
	case manifestFile:
		return "manifest"
	case repoFile:
		return "repository info"
	}
	return fmt.Sprintf("file of type %d", uint8(k))
}

// The limits of a file. Icechunk's own manifests cannot be read beyond 2 GiB, and seldom
// compress to less than a tenth.
const (
	maxFile    = 512 << 20
	smallFile  = 16 << 20 // uncompressed; larger ones only as far as their bytes justify
	maxRatio   = 128
	maxDecoded = 2 << 30
)

// readFile returns the buffer in a file of the repository.
func readFile(ctx context.Context, src *source.Source, key string, want kind) (*flat, error) {
	data, err := src.ReadMember(ctx, key, maxFile)
	if err != nil {
		return nil, err
	}
	payload, err := checkHeader(data, want)
	if err != nil {
		return nil, &readers.Error{Source: src.MemberName(key), Offset: 0, Err: err}
	}
	limit := min(max(smallFile, uint64(len(payload))*maxRatio), maxDecoded)
	d, err := newDecoder(nil, limit)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	decoded, err := decompress(d, payload, nil)
	if err != nil {
		return nil, &readers.Error{Source: src.MemberName(key), Offset: headerSize, Err: err}
	}
	return &flat{data: decoded}, nil
}

// checkHeader returns what follows the header.
func checkHeader(data []byte, want kind) ([]byte, error) {
	if len(data) < headerSize || string(data[:len(magic)]) != magic {
		return nil, readers.Corruptf("no file of Icechunk: it does not begin with %s", magic)
	}
	switch version, got, compression := data[versionAt], kind(data[kindAt]), data[compressionAt]; {
	case version != 1 && version != 2:
		return nil, fmt.Errorf("version %d of the format; known are 1 and 2: %w", version, errors.ErrUnsupported)
	case got != want:
		return nil, readers.Corruptf("a %v, where a %v is due", got, want)
	case compression != 1:
		return nil, fmt.Errorf("compression %d; known is 1, zstd: %w", compression, errors.ErrUnsupported)
	}
	return data[headerSize:], nil
}

// newDecoder returns a decoder of zstd, maybe with a dictionary, that makes at most limit
// bytes of a frame.
func newDecoder(dictionary []byte, limit uint64) (*zstd.Decoder, error) {
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

// decompress decodes a frame, appending to dst.
func decompress(d *zstd.Decoder, frame, dst []byte) ([]byte, error) {
	out, err := d.DecodeAll(frame, dst)
	if errors.Is(err, zstd.ErrDecoderSizeExceeded) || errors.Is(err, zstd.ErrWindowSizeExceeded) {
		return nil, fmt.Errorf("%w: %w", err, errors.ErrUnsupported)
	}
	if err != nil {
		return nil, readers.Corruptf("zstd: %w", err)
	}
	return out, nil
}

// encode32 writes bytes in Crockford's base 32 without padding, as ids are in names.
func encode32(b []byte) string {
	const digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	out := make([]byte, 0, (len(b)*8+4)/5)
	bits, n := uint32(0), 0
	for _, c := range b {
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
