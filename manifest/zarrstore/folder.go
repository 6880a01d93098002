package zarrstore

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"

	"varve/codec"
	"varve/readers/source/atomicfile"
)

// folder stores an array in a local folder.
type folder struct {
	dir     string
	durable atomicfile.Durability // of chunks
}

func newFolder(dir string, sync bool) *folder {
	return &folder{filepath.Clean(dir), atomicfile.Durability(sync)}
}

func (f *folder) name(key string) string { return filepath.Join(f.dir, filepath.FromSlash(key)) }
func (f *folder) close() error           { return nil }

func (f *folder) claim(context.Context) error {
	if err := os.MkdirAll(f.dir, 0o777); err != nil {
		return err
	}
	file, err := os.OpenFile(f.name(claimKey), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	return file.Close()
}

func (f *folder) top(context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		entries, err := os.ReadDir(f.dir)
		if err != nil {
			yield("", err)
			return
		}
		for _, e := range entries {
			if !yield(e.Name(), nil) {
				return
			}
		}
	}
}

func (f *folder) document(_ context.Context, key string) ([]byte, string, error) {
	data, err := os.ReadFile(f.name(key))
	return data, "", err
}

func (f *folder) replaceDocument(_ context.Context, key string, data []byte, _ string) (string, error) {
	return "", atomicfile.WriteBytes(f.name(key), atomicfile.Durable, data)
}

func (f *folder) put(_ context.Context, key string, data []byte) error {
	return atomicfile.WriteBytes(f.name(key), f.durable, data)
}

func (f *folder) remove(_ context.Context, key string) error {
	if err := os.Remove(f.name(key)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (f *folder) walk(context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		err := filepath.WalkDir(f.dir, func(name string, entry fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) { // removed since its folder was read
				return nil
			}
			if err != nil || entry.IsDir() {
				return err
			}
			key, err := filepath.Rel(f.dir, name)
			if err != nil {
				return err
			}
			if !yield(filepath.ToSlash(key), nil) {
				return fs.SkipAll
			}
			return nil
		})
		if err != nil {
			yield("", err)
		}
	}
}

// removeFolders ignores errors: folders with other files stay.
func (f *folder) removeFolders() {
	var folders []string
	_ = filepath.WalkDir(f.dir, func(name string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			folders = append(folders, name)
		}
		return nil
	})
	for i := len(folders) - 1; i >= 0; i-- { // subfolders first
		_ = os.Remove(folders[i])
	}
}

// localChunk is a chunk's file. Only the requested ranges of it are read.
type localChunk struct {
	*os.File
	size int64
}

func (f *folder) open(_ context.Context, key string) (chunkFile, error) {
	file, err := os.Open(f.name(key))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &localChunk{file, info.Size()}, nil
}

// Size implements codec.Reader.
func (c *localChunk) Size() int64 { return c.size }

// ReadRanges implements codec.Reader.
func (c *localChunk) ReadRanges(ctx context.Context, ranges []codec.Range, out [][]byte) error {
	for i, r := range ranges {
		if err := ctx.Err(); err != nil {
			return err
		}
		out[i] = make([]byte, r.Length) // no longer than the file
		if _, err := c.ReadAt(out[i], r.Offset); err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return err
		}
	}
	return nil
}
