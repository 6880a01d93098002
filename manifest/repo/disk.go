package repo

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// disk is what a folder needs of a file system. Names are relative to the repository and separated by slashes.
type disk interface {
	open(name string) (diskFile, error)
	// create makes a file that must not exist, for writing.
	create(name string) (diskFile, error)
	mkdir(name string) error
	// rename gives a file another name, and replaces the file that has it.
	rename(from, to string) error
	// link gives a file a second name, which must not exist.
	link(from, to string) error
	remove(name string) error
	stat(name string) (fs.FileInfo, error)
	// list returns the files in a folder; "" is the repository.
	list(name string) ([]fs.DirEntry, error)
	// lock locks a file, which it makes if it does not exist, until release is called. It returns ErrBusy if
	// another process holds a lock that excludes this one.
	lock(name string, how lockMode) (release func() error, err error)
	// syncFolder flushes the names in a folder, given by its path, to disk.
	syncFolder(dir string) error
	Close() error
}

// diskFile is an open file.
type diskFile interface {
	io.ReaderAt
	io.Writer
	io.Closer
	Stat() (fs.FileInfo, error)
	// Sync flushes the content to disk.
	Sync() error
}

// rootDisk is the file system of this machine below a folder. os.Root ensures that no name and no symbolic
// link leads out of it.
type rootDisk struct{ *os.Root }

func (d rootDisk) open(name string) (diskFile, error) {
	return diskFileOf(d.OpenFile(filepath.FromSlash(name), forReading, 0))
}

func (d rootDisk) create(name string) (diskFile, error) {
	return diskFileOf(d.OpenFile(filepath.FromSlash(name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666))
}

// diskFileOf keeps a nil *os.File from becoming a diskFile that is not nil.
func diskFileOf(f *os.File, err error) (diskFile, error) {
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (d rootDisk) mkdir(name string) error { return d.Mkdir(filepath.FromSlash(name), 0o777) }

func (d rootDisk) rename(from, to string) error { return rename(d.Root, from, to) }

func (d rootDisk) link(from, to string) error {
	return d.Link(filepath.FromSlash(from), filepath.FromSlash(to))
}

func (d rootDisk) remove(name string) error { return d.Remove(filepath.FromSlash(name)) }

func (d rootDisk) stat(name string) (fs.FileInfo, error) { return d.Stat(filepath.FromSlash(name)) }

func (d rootDisk) list(name string) ([]fs.DirEntry, error) {
	dir, err := d.Open(filepath.Join(".", filepath.FromSlash(name)))
	if err != nil {
		return nil, err
	}
	found, err := dir.ReadDir(-1)
	return found, errors.Join(err, dir.Close())
}

func (d rootDisk) lock(name string, how lockMode) (func() error, error) {
	file, err := d.OpenFile(filepath.FromSlash(name), os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	if err := lockFile(file, how); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return func() error { return unlockFile(file) }, nil
}

func (rootDisk) syncFolder(dir string) error { return syncFolder(dir) }
