package manifest

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"
)

// folder keeps a repository in a local folder. Nothing in a manifest, links included, leads
// out of it.
type folder struct {
	dir  string
	root *os.Root
}

func createFolder(dir string) (*folder, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	if err := syncFolder(filepath.Dir(filepath.Clean(dir))); err != nil {
		return nil, err
	}
	return openFolder(dir)
}

func openFolder(dir string) (*folder, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &folder{dir: dir, root: root}, nil
}

func (f *folder) close() error            { return f.root.Close() }
func (f *folder) path(name string) string { return filepath.Join(f.dir, filepath.FromSlash(name)) }

// localBlob is an open file; its size is that of the time of opening.
type localBlob struct {
	*os.File
	size int64
}

func (b localBlob) Size() int64 { return b.size }

func (f *folder) open(name string) (blob, error) {
	file, err := f.root.Open(filepath.FromSlash(name))
	if err != nil {
		return nil, f.named(name, err)
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s: not a regular file", f.path(name))
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return localBlob{file, info.Size()}, nil
}

// named has an error call a file by its whole path.
func (f *folder) named(name string, err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return &fs.PathError{Op: p.Op, Path: f.path(name), Err: p.Err}
	}
	return err
}

func (f *folder) stat(name string) (where string, e entry, err error) {
	info, err := f.root.Stat(filepath.FromSlash(name))
	if err != nil {
		return "", e, f.named(name, err)
	}
	if !info.Mode().IsRegular() {
		return "", e, fmt.Errorf("%s: not a regular file", f.path(name))
	}
	where, err = filepath.Abs(f.path(name))
	return where, entry{path.Base(name), info.Size(), info.ModTime()}, err
}

func (f *folder) list(name string) ([]entry, error) {
	dir, err := f.root.Open(filepath.Join(".", filepath.FromSlash(name)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, f.named(name, err)
	}
	found, err := dir.ReadDir(-1)
	if err := errors.Join(err, dir.Close()); err != nil {
		return nil, err
	}
	entries := make([]entry, 0, len(found))
	for _, e := range found {
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		entries = append(entries, entry{e.Name(), info.Size(), info.ModTime()})
	}
	return entries, nil
}

func (f *folder) remove(name string) error {
	return f.named(name, f.root.Remove(filepath.FromSlash(name)))
}

// localDraft is a file in the folder drafts.
type localDraft struct {
	folder *folder
	file   *os.File
	name   string // empty once it is finished or discarded
}

func (f *folder) begin() (draft, error) {
	if err := f.makeFolder("drafts"); err != nil {
		return nil, err
	}
	name := "drafts/" + rand.Text()
	file, err := f.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return nil, f.named(name, err)
	}
	return &localDraft{folder: f, file: file, name: name}, nil
}

func (d *localDraft) Write(p []byte) (int, error) {
	n, err := d.file.Write(p)
	if err != nil {
		err = d.folder.named(d.name, err)
	}
	return n, err
}

func (d *localDraft) finish(name string) error {
	if d.name == "" {
		return fs.ErrClosed
	}
	if err := d.folder.makeFolder(path.Dir(name)); err != nil {
		return err
	}
	if err := d.file.Sync(); err != nil {
		return d.folder.named(d.name, err)
	}
	if err := d.file.Close(); err != nil {
		return d.folder.named(d.name, err)
	}
	if err := d.folder.root.Rename(d.name, name); err != nil {
		return err
	}
	d.name = ""
	return d.folder.sync(path.Dir(name))
}

func (d *localDraft) discard() error {
	if d.name == "" {
		return nil
	}
	name := d.name
	d.name = ""
	err := d.file.Close()
	if errors.Is(err, fs.ErrClosed) {
		err = nil
	}
	return errors.Join(err, d.folder.remove(name))
}

// makeFolder makes a folder directly in the repository's, and sees that it is there after
// a loss of power.
func (f *folder) makeFolder(name string) error {
	err := f.root.Mkdir(name, 0o777)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return f.named(name, err)
	}
	return f.sync(".")
}

func (f *folder) sync(name string) error { return syncFolder(f.path(name)) }

// syncFolder brings the names in a folder to disk.
func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func (f *folder) swap(ctx context.Context, name string, old, new []byte) error {
	release, err := f.wait(ctx, "current", exclusively)
	if err != nil {
		return err
	}
	err = f.compareAndWrite(name, old, new)
	return errors.Join(err, release())
}

func (f *folder) compareAndWrite(name string, old, new []byte) error {
	now, err := readAll(f, name)
	if errors.Is(err, fs.ErrNotExist) {
		now, err = nil, nil
	}
	if err != nil {
		return err
	}
	if !bytes.Equal(now, old) {
		return ErrConflict
	}
	return writeAll(f, name, new)
}

func (f *folder) share(ctx context.Context) (func() error, error) {
	return f.wait(ctx, "writers", together)
}

func (f *folder) exclude() (func() error, error) { return f.lock("writers", exclusively) }

// lockPause is the time between two attempts at a lock.
const lockPause = 5 * time.Millisecond

// wait locks a file of the folder locks as soon as it is free. The system gives back the
// locks of a process that dies.
func (f *folder) wait(ctx context.Context, name string, how lockMode) (func() error, error) {
	for {
		release, err := f.lock(name, how)
		if !errors.Is(err, ErrBusy) {
			return release, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%s: waiting for the lock %s: %w", f.dir, name, ctx.Err())
		case <-time.After(lockPause):
		}
	}
}

func (f *folder) lock(name string, how lockMode) (func() error, error) {
	if err := f.makeFolder("locks"); err != nil {
		return nil, err
	}
	name = "locks/" + name
	file, err := f.root.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, f.named(name, err)
	}
	if err := lockFile(file, how); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file.Close, nil
}

// lockMode says who may hold a lock besides.
type lockMode uint8

const (
	exclusively lockMode = iota
	together
)
