package repo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"varve/manifest"
	"varve/manifest/internal/home"
	"varve/readers/source"
)

// files stores the files of a repository, and keeps writers and GC apart.
type files interface {
	home.Home
	// needsLook reports whether a writer must look for the files that the current snapshot has already. In a folder, another
	// process may have been killed before it flushed their names, and looking for them makes this process flush these.
	needsLook() bool
	// waitForGC waits until no GC is removing files.
	waitForGC(ctx context.Context) (pointerState, error)
	// swapCurrent replaces current if it is still the state since. Otherwise it returns ErrConflict. Of two concurrent calls
	// one succeeds.
	swapCurrent(ctx context.Context, since pointerState, p *pointer) error
	// keep replaces current while lockForGC is in effect.
	keep(ctx context.Context, p *pointer) error
	// holdOffGC waits until no GC is removing files, and prevents GC until release is called. It returns the state of current
	// after that moment.
	holdOffGC(ctx context.Context) (since pointerState, release func() error, err error)
	// lockForGC returns ErrBusy while any caller of holdOffGC has not called release. Otherwise it makes
	// calls of holdOffGC wait until release is called.
	lockForGC(ctx context.Context) (release func() error, err error)
}

// pointerState is the content of current at a moment when no GC was removing files.
type pointerState struct {
	data    []byte // nil if there was no file
	version string
}

// openFiles returns the storage of the repository with this name: a prefix of an object store, or a folder. The function local
// opens or creates the folder.
func openFiles(ctx context.Context, name string, local func(dir string) (*home.Folder, error)) (files, error) {
	if source.IsObject(name) {
		p, err := home.OpenPrefix(ctx, name, nil)
		if err != nil {
			return nil, err
		}
		return &objects{Prefix: p}, nil
	}
	if err := source.CheckWritable(name); err != nil {
		return nil, err
	}
	f, err := local(name)
	if err != nil {
		return nil, notFolder(name, err)
	}
	return newFolder(f), nil
}

// maxDocument limits the size of files that are read into memory as a whole, and maxPointer that of current. It follows from
// maxTags and maxKept.
const (
	maxDocument = 1 << 30
	maxPointer  = 1 << 20
)

// readCurrent returns the state of current.
func readCurrent(ctx context.Context, h home.Home) (pointerState, error) {
	data, version, err := h.ReadVersion(ctx, currentName, maxPointer)
	if errors.Is(err, fs.ErrNotExist) {
		return pointerState{}, nil
	}
	return pointerState{data, version}, err
}

// replaceCurrent replaces a version of current.
func replaceCurrent(ctx context.Context, h home.Home, p *pointer, version string) error {
	_, err := h.Replace(ctx, currentName, p.encode(), version)
	if errors.Is(err, source.ErrConflict) {
		return ErrConflict
	}
	return err
}

func (p *pointer) encode() []byte {
	data, err := json.Marshal(p)
	if err != nil { // strings, and maps of them, always have a form in JSON
		panic(err)
	}
	return append(data, '\n')
}

// lockFolder has the files that writers lock; in object stores, leases.
const lockFolder = "locks"

// folder stores a repository in a local folder.
type folder struct{ *home.Folder }

func (*folder) needsLook() bool { return true }

func newFolder(f *home.Folder) *folder {
	f.Drafts = draftFolder
	return &folder{f}
}

// absent is an fs.ErrNotExist with a text of its own.
type absent string

// Error returns the text.
func (e absent) Error() string { return string(e) }

// Unwrap returns fs.ErrNotExist.
func (absent) Unwrap() error { return fs.ErrNotExist }

// notFolder returns a clearer error if dir is missing, or a file. The latter happens when a user forgets the argument OUT:
// then varve takes the first source for OUT.
func notFolder(dir string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return absent(dir + ": no such folder, so there is no manifest; varve build OUT SRC makes one")
	}
	if info, failed := os.Stat(dir); failed == nil && !info.IsDir() {
		return fmt.Errorf("%s is a file, but a manifest is a folder; name the folder first: varve build OUT SRC", dir)
	}
	return err
}

func (f *folder) swapCurrent(ctx context.Context, since pointerState, p *pointer) error {
	release, err := f.Wait(ctx, lockFolder+"/current", home.Exclusive)
	if err != nil {
		return err
	}
	return errors.Join(replaceCurrent(ctx, f, p, since.version), release())
}

func (f *folder) keep(ctx context.Context, p *pointer) error {
	since, err := readCurrent(ctx, f)
	if err != nil {
		return err
	}
	return f.swapCurrent(ctx, since, p)
}

func (f *folder) holdOffGC(ctx context.Context) (since pointerState, release func() error, err error) {
	if release, err = f.Wait(ctx, lockFolder+"/writers", home.Shared); err != nil {
		return since, nil, err
	}
	if since, err = readCurrent(ctx, f); err != nil {
		return since, nil, errors.Join(err, release())
	}
	return since, release, nil
}

func (f *folder) lockForGC(context.Context) (func() error, error) {
	return f.Lock(lockFolder+"/writers", home.Exclusive)
}

// waitForGC returns at once: holdOffGC already prevents GC in a folder.
func (f *folder) waitForGC(ctx context.Context) (pointerState, error) { return readCurrent(ctx, f) }

// sourceOf returns the location of a file.
func sourceOf(ctx context.Context, f files, key string) (manifest.Source, error) {
	id, err := f.Stat(ctx, key)
	if err != nil {
		return manifest.Source{}, err
	}
	at := f.Name(key)
	if !source.IsObject(at) {
		at, err = filepath.Abs(at)
	}
	return manifest.Source{URL: at, Size: id.Size, Modified: id.Modified, ETag: id.ETag}, err
}

// damagedFile is a file of a repository. If it is missing or was changed, reading it returns a manifest.DamageError.
type damagedFile struct {
	home.File
	name string
}

func (f damagedFile) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.File.ReadAt(p, off)
	return n, damageOf(f.name, err)
}

// damageOf returns a manifest.DamageError if the error shows that a published file is missing or was changed.
func damageOf(name string, err error) error {
	var size *home.SizeError
	switch {
	case errors.As(err, &size):
		return checkSize(name, size.Size, size.Want)
	case errors.Is(err, fs.ErrNotExist):
		return &manifest.DamageError{Name: name, Damage: manifest.FileMissing}
	case errors.Is(err, source.ErrChanged):
		return &manifest.DamageError{Name: name, Damage: manifest.FileCorrupt, Detail: err.Error()}
	}
	return err
}
