package icechunk

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/zstd"

	"varve/readers"
)

// kind is what a file of a repository is.
type kind uint8

const (
	snapshotFile    kind = 1
	manifestFile    kind = 2
	transactionFile kind = 4
	repoFile        kind = 6
)

// The header of a file.
const (
	magic          = "ICE🧊CHUNK"
	clientSize     = 24
	headerSize     = len(magic) + clientSize + 3
	formatVersion  = 2
	zstdCompressed = 1
)

// client is the name of the program in the headers that it writes.
const client = "varve"

func corruptf(format string, args ...any) error { return readers.Corruptf(format, args...) }

// newerf is the error of what only a later version of Icechunk knows.
func newerf(format string, args ...any) error {
	return fmt.Errorf("%w: %w", fmt.Errorf(format, args...), errors.ErrUnsupported)
}

// header returns the 39 bytes that a file begins with.
func header(k kind) []byte {
	h := append(make([]byte, 0, headerSize), magic...)
	h = append(h, client...)
	h = append(h, bytes.Repeat([]byte{' '}, clientSize-len(client))...)
	return append(h, formatVersion, byte(k), zstdCompressed)
}

// newEncoder returns an encoder that is at work on so many blocks at a time. Of refs the
// fastest level makes less than the slower ones.
func newEncoder(w io.Writer, blocks int) (*zstd.Encoder, error) {
	return zstd.NewWriter(w, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(blocks),
		zstd.WithWindowSize(windowSize), zstd.WithLowerEncoderMem(true))
}

const windowSize = 1 << 20 // more makes refs hardly smaller

// pack returns the file that holds a buffer.
func pack(k kind, e *zstd.Encoder, buffer []byte) []byte { return e.EncodeAll(buffer, header(k)) }

// The limits of files that are read: a small frame may not fill the memory.
const (
	maxFile    = 512 << 20
	smallFile  = 16 << 20
	maxRatio   = 128
	maxDecoded = 2 << 30
)

// unpack returns the buffer in a file.
func unpack(k kind, file []byte) (*flat, error) {
	if len(file) < headerSize || string(file[:len(magic)]) != magic {
		return nil, corruptf("no file of Icechunk: it does not begin with %s", magic)
	}
	switch version, got, compression := file[headerSize-3], kind(file[headerSize-2]), file[headerSize-1]; {
	case version != formatVersion:
		return nil, fmt.Errorf("version %d of the format, where only %d is written to: %w", version, formatVersion, errors.ErrUnsupported)
	case got != k:
		return nil, corruptf("a file of type %d, where type %d is due", got, k)
	case compression != zstdCompressed:
		return nil, fmt.Errorf("compression %d; known is 1, zstd: %w", compression, errors.ErrUnsupported)
	}
	payload := file[headerSize:]
	limit := min(max(smallFile, uint64(len(payload))*maxRatio), maxDecoded)
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(limit))
	if err != nil {
		return nil, fmt.Errorf("zstd: %w", err)
	}
	defer d.Close()
	data, err := d.DecodeAll(payload, nil)
	if err != nil {
		return nil, corruptf("zstd: %w", err)
	}
	return &flat{data: data}, nil
}

// folder is a repository, or what is to become one.
type folder struct{ dir string }

// The places of files in a folder.
const (
	repoKey            = "repo"
	snapshotsFolder    = "snapshots"
	manifestsFolder    = "manifests"
	transactionsFolder = "transactions"
	chunksFolder       = "chunks"
	overwrittenFolder  = "overwritten"
)

// prepare makes the folders of a repository.
func (f folder) prepare() error {
	for _, name := range []string{snapshotsFolder, manifestsFolder, transactionsFolder, chunksFolder, overwrittenFolder} {
		if err := os.MkdirAll(filepath.Join(f.dir, name), 0o755); err != nil {
			return err
		}
	}
	return nil
}

// read returns the buffer in a file.
func (f folder) read(k kind, key ...string) (*flat, error) {
	name := filepath.Join(append([]string{f.dir}, key...)...)
	file, err := readBounded(name)
	if err != nil {
		return nil, err
	}
	buffer, err := unpack(k, file)
	if err != nil {
		return nil, &readers.Error{Source: name, Offset: -1, Err: err}
	}
	return buffer, nil
}

func readBounded(name string) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxFile {
		return nil, fmt.Errorf("%s: %d bytes, of which at most %d are read: %w", name, info.Size(), maxFile, errors.ErrUnsupported)
	}
	return os.ReadFile(name)
}

// create writes a file that is not there yet, and has it on disk when it returns.
func (f folder) create(data []byte, key ...string) error {
	return f.stream(func(w io.Writer) error { _, err := w.Write(data); return err }, key...)
}

// stream is create for what does not fit in memory. A file that fails is removed.
func (f folder) stream(write func(io.Writer) error, key ...string) error {
	file, err := f.begun(key...)
	if err != nil {
		return err
	}
	err = write(file)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return nil
}

// begun opens a file that is not there yet.
func (f folder) begun(key ...string) (*os.File, error) {
	name := filepath.Join(append([]string{f.dir}, key...)...)
	return os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
}

// remove deletes files that nothing leads to.
func (f folder) remove(keys ...string) error {
	var failed error
	for _, key := range keys {
		if err := os.Remove(filepath.Join(f.dir, filepath.FromSlash(key))); err != nil && !errors.Is(err, os.ErrNotExist) {
			failed = errors.Join(failed, err)
		}
	}
	return failed
}
