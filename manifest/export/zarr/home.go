package zarr

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"varve/manifest"
	"varve/manifest/export/internal/draft"
	"varve/manifest/export/internal/names"
	"varve/readers/source"
)

// home is the folder or object-store prefix of a copy. Keys use slashes.
type home interface {
	// name returns the name of a file for error messages.
	name(key string) string
	// isEmpty reports whether nothing exists at the destination. It fails for anything except a copy by
	// varve.
	isEmpty(ctx context.Context) (bool, error)
	has(ctx context.Context, key string) (bool, error)
	// takes fails if the destination cannot have files with these keys.
	takes(keys []string) error
	// read reads a document, or fails with fs.ErrNotExist.
	read(ctx context.Context, key string) ([]byte, error)
	// write writes the file of a chunk. An existing file is replaced atomically.
	write(ctx context.Context, key string, stored []byte) error
	// check compares a file with its record; size 0 means that there must be no file.
	check(ctx context.Context, key string, r record) error
	// replace writes a document atomically.
	replace(ctx context.Context, key string, data []byte) error
	// version returns the version that publish replaces; empty if none exists or the home does not need it.
	version(ctx context.Context, key string) (string, error)
	// publish replaces the document through which readers find the others.
	publish(ctx context.Context, key string, data []byte, version string) error
	// remove removes the file of a chunk, if it exists.
	remove(ctx context.Context, key string) error
	// clear removes everything: first the files that identify a copy, last the folder that allows varve to
	// remove it.
	clear(ctx context.Context) error
	// slices returns the folders of the journals of slices.
	slices(ctx context.Context) ([]string, error)
	// records returns the journal of a slice, or nil if there is none.
	records(ctx context.Context, slice string) ([]byte, error)
	// begun returns the first n bytes of the journal, or nil if there is none.
	begun(ctx context.Context, n int) ([]byte, error)
	// open opens or creates the journal.
	open(ctx context.Context) (*journal, error)
	// removeJournal removes the journal. If it is the journal of the whole, it removes those of slices as well.
	removeJournal(ctx context.Context) error
	// close releases the destination; err is the error of the copy, or nil.
	close(err error) error
}

// openHome opens the destination, and returns the context for writing to it.
func openHome(ctx context.Context, dest string, o *Options) (home, context.Context, error) {
	if err := source.CheckWritable(dest); err != nil {
		return nil, nil, err
	}
	if source.IsObject(dest) {
		return openPrefix(ctx, dest, o)
	}
	f, err := openFolder(ctx, filepath.Clean(dest), o.Slice)
	if err != nil {
		return nil, nil, err
	}
	f.whole = o.Append
	return f, ctx, nil
}

// Files of the copy itself.
const (
	stateFolder = ".varve"
	journalName = stateFolder + "/journal"
	stateName   = stateFolder + "/copy.json"

	slicePrefix  = stateFolder + "/slice-" // of the folder of a slice, which has
	sliceJournal = "/journal"
	sliceDone    = "/done" // written after the files of the journal were verified
)

// sliceFolder returns the folder of a slice.
func sliceFolder(s manifest.Slice) string {
	return fmt.Sprintf("%s%d-of-%d", slicePrefix, s.Number, s.Of)
}

// journalOf returns the key of the journal of a slice, or of the whole.
func journalOf(s manifest.Slice) string {
	if s.IsWhole() {
		return journalName
	}
	return sliceFolder(s) + sliceJournal
}

// identifying returns the keys that clear removes first: the documents by which readers and varve find a copy.
func identifying(journal string) []string {
	return []string{stateName, journal, "zarr.json", ".zmetadata"}
}

// foreign returns the error for a destination that is not a copy by varve.
func foreign(name string) error {
	return fmt.Errorf("%s exists and is not a copy by varve; export to another folder: %w", name, manifest.ErrForeign)
}

// folder is a home in the local file system.
type folder struct {
	dir     string
	journal string    // key of the journal
	whole   bool      // whether files are replaced atomically
	lock    io.Closer // nil if the file system has no locks
}

// openFolder opens and locks a folder, so that no other process writes the same files. For a slice it locks only the folder
// of the slice.
func openFolder(ctx context.Context, dir string, slice manifest.Slice) (*folder, error) {
	f := &folder{dir: dir, journal: journalOf(slice)}
	locked := dir
	if err := os.MkdirAll(dir, 0o777); err != nil { // the destination may be a file or a pipe
		return nil, err
	}
	if !slice.IsWhole() {
		if _, err := f.isEmpty(ctx); err != nil {
			return nil, err
		}
		locked = f.name(sliceFolder(slice))
		if err := os.MkdirAll(locked, 0o777); err != nil {
			return nil, err
		}
	}
	real, err := filepath.EvalSymlinks(locked)
	if err != nil {
		return nil, err
	}
	if f.lock, err = draft.Lock(real); err != nil {
		return nil, fmt.Errorf("another export is writing to it; try again later: %w", err)
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
	for _, key := range identifying(journalName) {
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
	return os.RemoveAll(f.name(stateFolder)) // the folder itself stays, because it is locked and may be a mount point
}

func (f *folder) begun(_ context.Context, n int) ([]byte, error) {
	file, err := os.Open(f.name(f.journal))
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
	name := f.name(f.journal)
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	return &journal{file: file}, nil
}

func (f *folder) removeJournal(ctx context.Context) error {
	if f.journal == journalName {
		slices, err := f.slices(ctx)
		for _, s := range slices {
			err = errors.Join(err, os.RemoveAll(f.name(s)))
		}
		if err != nil {
			return err
		}
	}
	return os.Remove(f.name(f.journal))
}

func (f *folder) slices(context.Context) (list []string, err error) {
	entries, err := os.ReadDir(f.name(stateFolder))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		if key := stateFolder + "/" + e.Name(); strings.HasPrefix(key, slicePrefix) {
			list = append(list, key)
		}
	}
	return list, err
}

func (f *folder) records(ctx context.Context, slice string) ([]byte, error) {
	data, err := f.read(ctx, slice+sliceJournal)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return data, err
}

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
	draft := f.name(path.Dir(f.journal) + "/draft")
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

// fill writes the file of a chunk with a function.
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
	if errors.Is(err, fs.ErrNotExist) { // the first file of its folder
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
	if r.isVerified {
		return nil
	}
	sum, err := copyRange(io.Discard, file, 0, r.size)
	if err == nil && sum != r.sum {
		err = errors.New("the checksum differs from the written data; copy again")
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func otherSize(name string, want, is int64) error {
	return fmt.Errorf("%s: %d bytes were written, but the file has %d; copy again", name, want, is)
}
