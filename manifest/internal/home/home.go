// Package home reads and writes the files of varve's outputs, in local folders and below prefixes of object stores:
//
//	Folder   a local folder: drafts are files that are renamed; locks and flushes are the system's
//	Prefix   a prefix of an object store: drafts are temporary local files that are uploaded; locks are leases
//	Stage    an output that appears as a whole: a folder beside its destination, or what is uploaded at the end
//
// The same rules keep outputs safe in both. A reader finds a file complete or not at all. The file through which readers find
// the others is written last, and only if it is absent or unchanged:
//
//	Put      c/0/0, tables/…             no reader looks for these yet
//	Replace  zarr.json, repo, current    if it is still the version that was read
//
// What differs, for a reason:
//
//	                      folder                                        prefix
//	a file appears        by a rename                                   by the request that stores it
//	… survives a failure  when its content and its folder are flushed   when it is stored
//	absent or unchanged   a hard link; the content, under a lock        a condition of the request
//	who is active         the system's locks end with a process         leases expire: see Lease
//	many are removed      one after another                             up to 1,000 with a request
package home

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"time"

	"varve/readers/source"
)

var (
	// ErrConflict says that an output is not the one that should be replaced.
	ErrConflict = errors.New("another process published a snapshot in the meantime")
	// ErrBusy says that another process has a lock or a lease.
	ErrBusy = errors.New("another process is writing to the manifest")
)

// Home is a folder, or a prefix of an object store. Keys are relative and separated by slashes. Any number of goroutines may
// use it.
type Home interface {
	// Name returns the full name of a file, or of the home if key is empty.
	Name(key string) string
	// Read returns the content of a file. More than `most` bytes are an error; a missing file is an fs.ErrNotExist.
	Read(ctx context.Context, key string, most int64) ([]byte, error)
	// ReadVersion is Read, and also returns the version for Replace.
	ReadVersion(ctx context.Context, key string, most int64) (data []byte, version string, err error)
	// Stat returns the size and version of a file. A missing file is an fs.ErrNotExist.
	Stat(ctx context.Context, key string) (source.Identity, error)
	// List yields the files and folders in a folder, which may be missing. Walk yields the keys of all files that begin with
	// start.
	List(ctx context.Context, folder string) iter.Seq2[source.Entry, error]
	Walk(ctx context.Context, start string) iter.Seq2[string, error]
	// Open opens a file that never changes. A size that is not known is -1. If it is known, the error for a missing file may
	// come only with the first read.
	Open(ctx context.Context, key string, size int64) (File, error)
	// Put writes a file. Write does so with content that does not fit in memory.
	Put(ctx context.Context, key string, data []byte, how How) error
	Write(ctx context.Context, key string, how How, write func(io.Writer) error) error
	// Settle waits until the files of Put and Write survive a power failure, if they are Flushed.
	Settle() error
	// Replace replaces a version of a file, or makes a file if the version is empty. If the file has another version, the error
	// is source.ErrConflict. Replace returns the new version. The file is then durable.
	Replace(ctx context.Context, key string, data []byte, version string) (string, error)
	// Begin starts a file that has no name yet. Finish flushes such files, then gives each its name: so a name appears only
	// when its file is complete, and survives a power failure.
	Begin() (Draft, error)
	Finish(ctx context.Context, drafts ...Named) error
	// Remove removes files in this order. Missing ones count as removed. It returns their number, also with an error.
	Remove(ctx context.Context, keys ...string) (int, error)
	// Clear removes everything: first the given files, one after another, then the rest, and last the folder StateFolder.
	Clear(ctx context.Context, first ...string) error
	// Close closes the home at the end of some work. err is the error of the work, which Close returns.
	Close(err error) error
}

// How says how a folder writes a file. Objects always appear whole and are durable at once.
type How uint8

// How files are written.
const (
	InPlace How = iota // under its name from the beginning, for files that no reader looks for
	Flushed            // like InPlace, and flushed by Settle; the file must not exist
	Whole              // readers find the former file or the whole new one
	Durable            // like Whole, and flushed before the file gets its name
)

// StateFolder contains files of varve that are no part of an output.
const StateFolder = ".varve"

// File is open for reading.
type File interface {
	io.ReaderAt
	io.Closer
	Size() int64
}

// Draft is a file that is being written.
type Draft interface {
	io.Writer
	// Open opens the bytes written so far.
	Open() (File, error)
	// Discard removes the file. After Finish it does nothing.
	Discard() error
}

// Named is a complete draft and its future key.
type Named struct {
	Draft Draft
	Key   string
}

// Open returns the home with a name: a prefix of an object store, or a folder. It sends no request and makes no folder.
func Open(ctx context.Context, name string) (Home, error) {
	if source.IsObject(name) {
		return OpenPrefix(ctx, name, nil)
	}
	if err := source.CheckWritable(name); err != nil {
		return nil, err
	}
	return At(name), nil
}

// Has reports whether a file exists.
func Has(ctx context.Context, h Home, key string) (bool, error) {
	_, err := h.Stat(ctx, key)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// maxTop bounds the number of names that Top returns.
const maxTop = 1000

// Top returns the names directly in a home, at most maxTop. Names of folders end with a slash.
func Top(ctx context.Context, h Home) (names []string, err error) {
	for e, err := range h.List(ctx, "") {
		if err != nil {
			return nil, err
		}
		name := e.Name
		if e.Folder {
			name += "/"
		}
		if names = append(names, name); len(names) >= maxTop {
			break
		}
	}
	return names, nil
}

// RemoveAll removes files while it lists them.
func RemoveAll(ctx context.Context, h Home, keys iter.Seq2[string, error]) error {
	some := make([]string, 0, maxTop)
	flush := func() error {
		_, err := h.Remove(ctx, some...)
		some = some[:0]
		return err
	}
	for key, err := range keys {
		if err != nil {
			return errors.Join(err, flush())
		}
		if some = append(some, key); len(some) == maxTop {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

// maxDocument bounds the size of documents.
const maxDocument = 1 << 30

// PutChanged is Put of a document, unless the document has the content already.
func PutChanged(ctx context.Context, h Home, key string, data []byte, how How) error {
	if same, err := Holds(ctx, h, key, data); same || err != nil {
		return err
	}
	return h.Put(ctx, key, data, how)
}

// Holds reports whether a document has a content.
func Holds(ctx context.Context, h Home, key string, data []byte) (bool, error) {
	old, err := h.Read(ctx, key, maxDocument)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && bytes.Equal(old, data), err
}

// VersionOf returns the version of a content in a folder; empty for nil, which means that there is no file.
func VersionOf(data []byte) string {
	if data == nil {
		return ""
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Discard discards a draft after an error. A failure to remove it adds to the message but does not replace the error.
func Discard(err error, d Draft) error {
	if failed := d.Discard(); failed != nil {
		return fmt.Errorf("%w (the draft could not be removed either and stays until gc: %w)", err, failed)
	}
	return err
}

// wait waits for some time, or until ctx ends.
func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
