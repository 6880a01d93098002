package zarr

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"varve/manifest"
	"varve/manifest/export/internal/draft"
	"varve/manifest/export/internal/names"
	"varve/readers/source"
)

// home is where a copy is written: a folder, or a prefix of an object store. Keys have slashes.
type home interface {
	// name is what to call a file in an error.
	name(key string) string
	// isEmpty reports whether nothing stands there; what varve did not copy is an error.
	isEmpty(ctx context.Context) (bool, error)
	has(ctx context.Context, key string) (bool, error)
	// takes is an error if files of some keys cannot stand there.
	takes(keys []string) error
	// read reads a document; where there is none the error is fs.ErrNotExist.
	read(ctx context.Context, key string) ([]byte, error)
	// write writes the file of a chunk. One that readers have already is replaced as a whole.
	write(ctx context.Context, key string, stored []byte) error
	// check holds a file against what was written; its size is 0 if there is to be none.
	check(ctx context.Context, key string, r record) error
	// replace writes a document that readers see whole or not at all.
	replace(ctx context.Context, key string, data []byte) error
	// version tells what publish is to replace; it is empty if that is nothing, or does not matter.
	version(ctx context.Context, key string) (string, error)
	// publish is replace of the document that has readers find the others.
	publish(ctx context.Context, key string, data []byte, version string) error
	// remove removes the file of a chunk, if it may be there.
	remove(ctx context.Context, key string) error
	// clear removes everything: first that it is a copy, last that varve may remove it.
	clear(ctx context.Context) error
	// begun is how a journal begins, so many bytes of it; nil if there is none.
	begun(ctx context.Context, n int) ([]byte, error)
	// open opens the journal, or makes one.
	open(ctx context.Context) (*journal, error)
	removeJournal(ctx context.Context) error
	// close gives the place back, and returns what became of a copy that ended with an error.
	close(err error) error
}

// openHome returns where a copy goes, and the context by which it is written.
func openHome(ctx context.Context, dest string, o *Options) (home, context.Context, error) {
	if source.IsObject(dest) {
		return openPrefix(ctx, dest, o.Append)
	}
	f, err := openFolder(filepath.Clean(dest))
	if err != nil {
		return nil, nil, err
	}
	f.whole = o.Append
	return f, ctx, nil
}

// What a copy keeps for itself, and what has readers find it.
const (
	stateFolder = ".varve"
	journalName = stateFolder + "/journal"
	stateName   = stateFolder + "/copy.json"
)

// telling is what goes first when a copy is removed.
func telling(journal string) []string { return []string{stateName, journal, "zarr.json", ".zmetadata"} }

// foreign is the error of a place that varve did not copy to.
func foreign(name string) error {
	return fmt.Errorf("%s is there, and varve did not copy it: export to another folder: %w", name, manifest.ErrForeign)
}

// folder is a local home.
type folder struct {
	dir   string
	whole bool      // files are replaced as a whole
	lock  io.Closer // nil where the file system has no locks
}

// openFolder keeps others from copying to the folder, who would write the same files.
func openFolder(dir string) (*folder, error) {
	f := &folder{dir: dir}
	if err := os.MkdirAll(dir, 0o777); err != nil { // or no folder is there, but a file, or a pipe
		return nil, err
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, err
	}
	if f.lock, err = draft.Lock(real); err != nil {
		return nil, fmt.Errorf("another export copies to it; try again when it is done: %w", err)
	}
	return f, nil
}

func (f *folder) name(key string) string { return filepath.Join(f.dir, filepath.FromSlash(key)) }

func (f *folder) close(err error) error {
	if f.lock != nil {
		err = errors.Join(err, f.lock.Close())
	}
	return err
}

func (f *folder) isEmpty(context.Context) (bool, error) {
	entries, err := os.ReadDir(f.dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0 {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	if _, err := os.Stat(f.name(stateFolder)); err != nil {
		return false, foreign(f.dir)
	}
	return false, nil
}

func (f *folder) has(_ context.Context, key string) (bool, error) {
	_, err := os.Stat(f.name(key))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

func (f *folder) takes(keys []string) error { return names.Check(f.name(stateFolder), keys) }

func (f *folder) read(_ context.Context, key string) ([]byte, error) { return os.ReadFile(f.name(key)) }

func (f *folder) version(context.Context, string) (string, error) { return "", nil }

func (f *folder) publish(ctx context.Context, key string, data []byte, _ string) error {
	return f.replace(ctx, key, data)
}

func (f *folder) remove(_ context.Context, key string) error {
	if err := os.Remove(f.name(key)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (f *folder) clear(ctx context.Context) error {
	for _, key := range telling(journalName) {
		if err := f.remove(ctx, key); err != nil {
			return err
		}
	}
	entries, err := os.ReadDir(f.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() == stateFolder {
			continue
		}
		if err := os.RemoveAll(filepath.Join(f.dir, e.Name())); err != nil {
			return err
		}
	}
	return os.RemoveAll(f.name(stateFolder)) // and not the folder, which is locked, and may be a mount
}

func (f *folder) begun(_ context.Context, n int) ([]byte, error) {
	file, err := os.Open(f.name(journalName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	head, err := io.ReadAll(io.LimitReader(file, int64(n)))
	return head, errors.Join(err, file.Close())
}

func (f *folder) open(context.Context) (*journal, error) {
	if err := os.MkdirAll(f.name(stateFolder), 0o777); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(f.name(journalName), os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	return &journal{file: file}, nil
}

func (f *folder) removeJournal(context.Context) error { return os.Remove(f.name(journalName)) }

func (f *folder) replace(_ context.Context, key string, data []byte) error {
	name := f.name(key)
	if old, err := os.ReadFile(name); err == nil && bytes.Equal(old, data) {
		return nil
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	draft := f.name(stateFolder + "/draft")
	file, err := os.Create(draft)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	return os.Rename(draft, name)
}

func (f *folder) write(_ context.Context, key string, stored []byte) error {
	return f.fill(key, func(file *os.File) error {
		_, err := file.Write(stored)
		return err
	})
}

// fill is write of what somebody writes.
func (f *folder) fill(key string, fill func(*os.File) error) error {
	name := f.name(key)
	if !f.whole {
		return writeFile(name, fill)
	}
	draft := filepath.Join(filepath.Dir(name), "."+filepath.Base(name)+".draft")
	if err := writeFile(draft, fill); err != nil {
		return err
	}
	return os.Rename(draft, name)
}

func writeFile(name string, fill func(*os.File) error) error {
	f, err := os.Create(name)
	if errors.Is(err, fs.ErrNotExist) { // the first one of its folder
		if err = os.MkdirAll(filepath.Dir(name), 0o777); err == nil {
			f, err = os.Create(name)
		}
	}
	if err != nil {
		return err
	}
	return errors.Join(fill(f), f.Close())
}

func (f *folder) check(_ context.Context, key string, r record) error {
	name := f.name(key)
	file, err := os.Open(name)
	if errors.Is(err, os.ErrNotExist) && r.size == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if info.Size() != r.size {
		return otherSize(name, r.size, info.Size())
	}
	sum, err := copyRange(io.Discard, file, 0, r.size)
	if err == nil && sum != r.sum {
		err = errors.New("its checksum is not that of what was written: copy again")
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func otherSize(name string, want, is int64) error {
	return fmt.Errorf("%s: %d bytes were written, and %d are there: copy again", name, want, is)
}
