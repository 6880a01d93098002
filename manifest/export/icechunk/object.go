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
func (f folder) read(k file.Kind, key ...string) (*file.Buffer, error) {
	name := filepath.Join(append([]string{f.dir}, key...)...)
	data, err := readBounded(name)
	if err != nil {
		return nil, err
	}
	buffer, err := unpack(k, data)
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
	if info.Size() > file.MaxSize {
		return nil, fmt.Errorf("%s: %d bytes, of which at most %d are read: %w", name, info.Size(), file.MaxSize, errors.ErrUnsupported)
	}
	return os.ReadFile(name)
}

// create writes a file that is not there yet, and has it on disk when it returns.
func (f folder) create(data []byte, key ...string) error {
	return f.stream(func(w io.Writer) error { _, err := w.Write(data); return err }, key...)
}

// stream is create for what does not fit in memory. A file that fails is removed.
func (f folder) stream(write func(io.Writer) error, key ...string) error {
	out, err := f.begun(key...)
	if err != nil {
		return err
	}
	err = write(out)
	if err == nil {
		err = out.Sync()
	}
	if err = errors.Join(err, out.Close()); err != nil {
		return errors.Join(err, os.Remove(out.Name()))
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
