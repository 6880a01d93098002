package icechunk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"

	"varve/readers"
	"varve/readers/icechunk/file"
)

const formatVersion = 2

// client is the name of the program in the headers that it writes.
const client = "varve"

func corruptf(format string, args ...any) error { return readers.Corruptf(format, args...) }

// newerf is the error of what only a later version of Icechunk knows.
func newerf(format string, args ...any) error {
	return fmt.Errorf("%w: %w", fmt.Errorf(format, args...), errors.ErrUnsupported)
}

// header returns the 39 bytes that a file begins with.
func header(k file.Kind) []byte {
	h := append(make([]byte, 0, file.HeaderSize), file.Magic...)
	h = append(h, client...)
	h = append(h, bytes.Repeat([]byte{' '}, file.ClientSize-len(client))...)
	return append(h, formatVersion, byte(k), file.Zstd)
}

// newEncoder returns an encoder that is at work on so many blocks at a time. Of refs the
// fastest level makes less than the slower ones.
func newEncoder(w io.Writer, blocks int) (*zstd.Encoder, error) {
	return zstd.NewWriter(w, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(blocks),
		zstd.WithWindowSize(windowSize), zstd.WithLowerEncoderMem(true))
}

const windowSize = 1 << 20 // more makes refs hardly smaller

// pack returns the file that holds a buffer.
func pack(k file.Kind, e *zstd.Encoder, buffer []byte) []byte { return e.EncodeAll(buffer, header(k)) }

// unpack returns the buffer in a file.
func unpack(k file.Kind, data []byte) (*file.Buffer, error) {
	f, err := file.Unpack(data, k)
	if err == nil && f.Version() != formatVersion {
		return nil, newerf("version %d of the format, where only %d is written to", f.Version(), formatVersion)
	}
	return f, err
}

// The places of files.
const (
	repoKey            = "repo"
	snapshotsFolder    = "snapshots"
	manifestsFolder    = "manifests"
	transactionsFolder = "transactions"
	chunksFolder       = "chunks"
	overwrittenFolder  = "overwritten"
)

var folders = []string{snapshotsFolder, manifestsFolder, transactionsFolder, chunksFolder, overwrittenFolder}

// read returns the buffer in a file.
func (w *writer) read(ctx context.Context, k file.Kind, folder string, id objectID) (*file.Buffer, error) {
	key := folder + "/" + id.String()
	data, _, err := w.home.fetch(ctx, key)
	if err != nil {
		return nil, err
	}
	buffer, err := unpack(k, data)
	if err != nil {
		return nil, &readers.Error{Source: w.home.name(key), Offset: -1, Err: err}
	}
	return buffer, nil
}
