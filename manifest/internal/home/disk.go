package home

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Disk is what a Folder needs of a file system. Keys are relative to the folder and separated by slashes.
type Disk interface {
	Open(key string) (DiskFile, error)
	// Create makes a file for writing. If isNew is set, it must not exist.
	Create(key string, isNew bool) (DiskFile, error)
	Mkdir(key string) error
	// Rename gives a file another name, and replaces the file that has it.
	Rename(from, to string) error
	// Link gives a file a second name, which must not exist.
	Link(from, to string) error
	Remove(key string) error
	Stat(key string) (fs.FileInfo, error)
	// List returns the files in a folder; "" is the whole.
	List(key string) ([]fs.DirEntry, error)
	// Lock locks a file, which it makes if it does not exist, until release is called. It returns ErrBusy if another process
	// holds a lock that excludes this one.
	Lock(key string, how LockMode) (release func() error, err error)
	// SyncFolder flushes the names in a folder, given by its path, to disk.
	SyncFolder(dir string) error
	Close() error
}

// LockMode is the kind of a lock: several processes can hold a shared lock, one an exclusive lock.
type LockMode uint8

// The kinds of locks.
const (
	Exclusive LockMode = iota
	Shared
)

// DiskFile is an open file.
type DiskFile interface {
	io.ReaderAt
	io.Writer
	io.Closer
	Stat() (fs.FileInfo, error)
	// Sync flushes the content to disk.
	Sync() error
}

// names are the functions of a file system that work with names.
type names interface {
	OpenFile(name string, flag int, mode fs.FileMode) (*os.File, error)
	Mkdir(name string, mode fs.FileMode) error
	Rename(from, to string) error
	Link(from, to string) error
	Remove(name string) error
	Stat(name string) (fs.FileInfo, error)
	Close() error
}

// below are the functions of package os for a folder. Unlike those of os.Root, they follow symbolic links out of it, which
// users make in their exports.
type below string

func (b below) at(name string) string { return filepath.Join(string(b), name) }

func (b below) OpenFile(name string, flag int, mode fs.FileMode) (*os.File, error) {
	return os.OpenFile(b.at(name), flag, mode)
}
func (b below) Mkdir(name string, mode fs.FileMode) error { return os.Mkdir(b.at(name), mode) }
func (b below) Rename(from, to string) error              { return os.Rename(b.at(from), b.at(to)) }
func (b below) Link(from, to string) error                { return os.Link(b.at(from), b.at(to)) }
func (b below) Remove(name string) error                  { return os.Remove(b.at(name)) }
func (b below) Stat(name string) (fs.FileInfo, error)     { return os.Stat(b.at(name)) }
func (b below) Close() error                              { return nil }

// systemDisk is the file system of this machine.
type systemDisk struct{ names }

func (d systemDisk) Open(key string) (DiskFile, error) { return d.open(key, forReading) }

func (d systemDisk) Create(key string, isNew bool) (DiskFile, error) {
	flag := os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	if isNew {
		flag |= os.O_EXCL
	}
	return d.open(key, flag)
}

func (d systemDisk) open(key string, flag int) (DiskFile, error) {
	f, err := d.OpenFile(filepath.FromSlash(key), flag, 0o666)
	if err != nil {
		return nil, err // f is a nil *os.File, which as a DiskFile would not be nil
	}
	return f, nil
}

func (d systemDisk) Mkdir(key string) error { return d.names.Mkdir(filepath.FromSlash(key), 0o777) }

func (d systemDisk) Rename(from, to string) error {
	return rename(d.names, filepath.FromSlash(from), filepath.FromSlash(to))
}

func (d systemDisk) Link(from, to string) error {
	return d.names.Link(filepath.FromSlash(from), filepath.FromSlash(to))
}

func (d systemDisk) Remove(key string) error { return d.names.Remove(filepath.FromSlash(key)) }

func (d systemDisk) Stat(key string) (fs.FileInfo, error) {
	return d.names.Stat(filepath.FromSlash(key))
}

func (d systemDisk) List(key string) ([]fs.DirEntry, error) {
	dir, err := d.OpenFile(filepath.Join(".", filepath.FromSlash(key)), os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	found, err := dir.ReadDir(-1)
	return found, errors.Join(err, dir.Close())
}

func (d systemDisk) Lock(key string, how LockMode) (func() error, error) {
	file, err := d.OpenFile(filepath.FromSlash(key), os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	if err := lockFile(file, how); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return func() error { return unlockFile(file) }, nil
}

func (systemDisk) SyncFolder(dir string) error { return syncFolder(dir) }
