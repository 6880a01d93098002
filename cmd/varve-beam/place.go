package main

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"varve/readers/source"
	"varve/readers/source/atomicfile"
)

// place is the folder, or the prefix in an object store, to which driver and workers write.
type place string

// name returns the path or URL of a file in the place.
func (p place) name(base string) string {
	if source.IsObject(string(p)) {
		return string(p) + "/" + base
	}
	return filepath.Join(string(p), base)
}

// write writes a small file. Readers see all of it or nothing.
func (p place) write(ctx context.Context, base string, data []byte) error {
	if source.IsObject(string(p)) {
		return p.with(ctx, base, func(at *source.Place, key string) error {
			return at.Put(ctx, key, bytes.NewReader(data), int64(len(data)))
		})
	}
	// The draft's random name keeps two workers with the same slice apart.
	return atomicfile.WriteBytes(p.name(base), atomicfile.Volatile, data)
}

// read returns the contents of a file.
func (p place) read(ctx context.Context, base string) ([]byte, error) {
	src, err := source.Open(ctx, p.name(base))
	if err != nil {
		return nil, err
	}
	data := make([]byte, src.Size())
	_, err = src.ReadAt(ctx, data, 0)
	return data, errors.Join(err, src.Close())
}

// remove removes a file.
func (p place) remove(ctx context.Context, base string) error {
	if source.IsObject(string(p)) {
		return p.with(ctx, base, func(at *source.Place, key string) error { return at.Remove(ctx, key) })
	}
	return os.Remove(p.name(base))
}

// removeOld removes the files whose names begin with start and that are older than life.
func (p place) removeOld(ctx context.Context, start string, life time.Duration) error {
	isOld := func(base string, modified time.Time) bool {
		return strings.HasPrefix(base, start) && !modified.IsZero() && time.Since(modified) > life
	}
	if source.IsObject(string(p)) {
		return p.with(ctx, start, func(at *source.Place, key string) error {
			for e, err := range at.List(ctx, strings.TrimSuffix(path.Dir(key), ".")) {
				if err == nil && !e.Folder && isOld(e.Name, e.Modified) {
					err = at.Remove(ctx, path.Join(path.Dir(key), e.Name))
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	entries, err := os.ReadDir(string(p))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if info, gone := e.Info(); gone == nil && isOld(e.Name(), info.ModTime()) {
			err = errors.Join(err, os.Remove(p.name(e.Name())))
		}
	}
	return err
}

// with opens the bucket of an object and calls do with it and the object's key.
func (p place) with(ctx context.Context, base string, do func(at *source.Place, key string) error) error {
	opener := source.NewOpener(nil)
	at, key, err := opener.PlaceOf(ctx, p.name(base))
	if err == nil {
		err = do(at, key)
	}
	return errors.Join(err, opener.Close())
}
