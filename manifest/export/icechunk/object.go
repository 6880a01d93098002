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

// client is the name of the writing program in file headers.
const client = "varve"

func corruptf(format string, args ...any) error { return readers.Corruptf(format, args...) }

// newerf returns an error for features of later Icechunk versions.
func newerf(format string, args ...any) error {
	return fmt.Errorf("%w: %w", fmt.Errorf(format, args...), errors.ErrUnsupported)
}

// header returns the 39 bytes at the beginning of a file.
func header(k file.Kind) []byte {
	h := append(make([]byte, 0, file.HeaderSize), file.Magic...)
	h = append(h, client...)
	h = append(h, bytes.Repeat([]byte{' '}, file.ClientSize-len(client))...)
	return append(h, formatVersion, byte(k), file.Zstd)
}

// newEncoder returns an encoder for the given number of concurrent blocks. For refs, the fastest level
// compresses better than the slower ones.
func newEncoder(w io.Writer, blocks int) (*zstd.Encoder, error) {
	return zstd.NewWriter(w, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(blocks),
		zstd.WithWindowSize(windowSize), zstd.WithLowerEncoderMem(true))
}

const windowSize = 1 << 20 // a larger window hardly improves refs

// pack compresses a buffer into a file.
func pack(k file.Kind, e *zstd.Encoder, buffer []byte) []byte { return e.EncodeAll(buffer, header(k)) }

// unpack returns the buffer of a file.
func unpack(k file.Kind, data []byte) (*file.Buffer, error) {
	f, err := file.Unpack(data, k)
	if err == nil && f.Version() != formatVersion {
		return nil, newerf("format version %d is not supported for writing (only %d)", f.Version(), formatVersion)
	}
	return f, err
}

// Names of files and folders of a repository.
const (
	repoKey            = "repo"
	snapshotsFolder    = "snapshots"
	manifestsFolder    = "manifests"
	transactionsFolder = "transactions"
	chunksFolder       = "chunks"
	overwrittenFolder  = "overwritten"
)

var folders = []string{snapshotsFolder, manifestsFolder, transactionsFolder, chunksFolder, overwrittenFolder}

// read returns the buffer of a file in the repository.
func (w *writer) read(ctx context.Context, k file.Kind, folder string, id objectID) (*file.Buffer, error) {
	key := folder + "/" + id.String()
	data, err := w.home.Read(ctx, key, file.MaxSize)
	if err != nil {
		return nil, err
	}
	buffer, err := unpack(k, data)
	if err != nil {
		return nil, &readers.Error{Source: w.home.Name(key), Offset: -1, Err: err}
	}
	return buffer, nil
}
