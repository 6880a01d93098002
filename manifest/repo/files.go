package repo

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"time"

	"varve/manifest"
	"varve/readers/source"
)

// files stores the files of a repository. Names are relative and separated by slashes.
type files interface {
	// open opens a file. The size is -1 if it is not known. A missing file is an fs.ErrNotExist; if
	// the size is known, that error may come only with the first read.
	open(ctx context.Context, name string, size int64) (blob, error)
	// begin starts a file that has no name yet.
	begin() (draft, error)
	// finish flushes drafts to their final storage, then gives each its name. A name appears only when
	// its file is complete, and survives a power failure.
	finish(ctx context.Context, drafts ...namedDraft) error
	// list returns the files in a folder. A missing folder is empty.
	list(ctx context.Context, folder string) ([]entry, error)
	// remove removes files in this order. Files that do not exist count as removed. It returns the
	// number of removed files, also with an error.
	remove(ctx context.Context, names ...string) (int, error)
	// stat returns the location, size and version of a file. A missing file is an fs.ErrNotExist.
	stat(ctx context.Context, name string) (manifest.Source, error)
	// waitForGC waits until no GC is removing files.
	waitForGC(ctx context.Context) (pointerState, error)
	// swapCurrent replaces current if its content is still old (nil if the file must not exist) and no GC
	// has started since. Otherwise it returns ErrConflict. Of two concurrent calls one succeeds.
	swapCurrent(ctx context.Context, since pointerState, old, new []byte) error
	// keep replaces current while lockForGC is in effect.
	keep(ctx context.Context, old, new []byte) error
	// holdOffGC waits until no GC is removing files, and prevents GC until release is called.
	holdOffGC(ctx context.Context) (release func() error, err error)
	// lockForGC returns ErrBusy while any caller of holdOffGC has not called release. Otherwise it makes
	// calls of holdOffGC wait until release is called.
	lockForGC(ctx context.Context) (release func() error, err error)
	// path returns the name of a file for messages.
	path(name string) string
	close() error
}

// pointerState is the content of current at a moment when no GC was removing files.
type pointerState struct {
	data    []byte // nil if there was no file
	version string // the object store's version of current
}

// blob is an immutable file that is open for reading.
type blob interface {
	io.ReaderAt
	io.Closer
	Size() int64
}

// draft is a file that is being written.
type draft interface {
	io.Writer
	// open opens the bytes written so far for reading.
	open() (blob, error)
	// discard removes the file. After finish it does nothing.
	discard() error
}

// namedDraft is a complete draft and its future name.
type namedDraft struct {
	draft draft
	name  string
}

type entry struct {
	name     string // without the folder
	size     int64
	modified time.Time
}

// home returns the storage of the repository with this name: a prefix of an object store, or a folder. The
// function local opens or creates the folder.
func home(ctx context.Context, name string, local func(dir string) (*folder, error)) (files, error) {
	if source.IsObject(name) {
		return openObjects(ctx, name)
	}
	if err := source.CheckWritable(name); err != nil {
		return nil, err
	}
	f, err := local(name)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// maxDocument limits the size of files that are read into memory as a whole.
const maxDocument = 1 << 30

// readAll returns the content of a small file.
func readAll(ctx context.Context, store files, name string) (data []byte, err error) {
	f, err := store.open(ctx, name, -1)
	if err != nil {
		return nil, err
	}
	defer func() {
		if cerr := f.Close(); err == nil {
			err = cerr
		}
	}()
	if f.Size() > maxDocument {
		return nil, &manifest.DamageError{Name: store.path(name), Damage: manifest.FileCorrupt, Detail: fmt.Sprintf("it has %d bytes, the limit is %d", f.Size(), int64(maxDocument))}
	}
	data = make([]byte, f.Size())
	if n, err := f.ReadAt(data, 0); n < len(data) {
		return nil, fmt.Errorf("%s: %w", store.path(name), err)
	}
	return data, nil
}

// writeAll writes a small immutable file.
func writeAll(ctx context.Context, store files, name string, data []byte) (err error) {
	d, err := store.begin()
	if err != nil {
		return err
	}
	if _, err = d.Write(data); err == nil {
		err = store.finish(ctx, namedDraft{d, name})
	}
	if err != nil {
		return joinDiscard(err, d)
	}
	return nil
}

// joinDiscard discards a draft after an error. A failure to remove it adds to the message but does not
// replace the error.
func joinDiscard(err error, d draft) error {
	if derr := d.discard(); derr != nil {
		return fmt.Errorf("%w (the draft could not be removed either and stays until gc: %w)", err, derr)
	}
	return err
}

func sumOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
