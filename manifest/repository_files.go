package manifest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"time"

	"varve/readers/source"
)

// files keeps the files of a repository. Names are slash-separated and relative.
type files interface {
	// open opens a file of a size, -1 for one that is not known; where there is none the error
	// is fs.ErrNotExist, or, of a size that is known, comes with the first byte.
	open(ctx context.Context, name string, size int64) (blob, error)
	// begin starts a file that has no name yet.
	begin() (draft, error)
	// finish brings drafts to where they are to stay, then gives each its name, at once and
	// for good.
	finish(ctx context.Context, drafts ...named) error
	// list returns what lies in a folder; one that is missing is empty.
	list(ctx context.Context, folder string) ([]entry, error)
	// remove removes files, which may be gone already, in their order: how many, whatever the
	// error.
	remove(ctx context.Context, names ...string) (int, error)
	// stat returns where others find a file, and how it is; where there is none the error is
	// fs.ErrNotExist.
	stat(ctx context.Context, name string) (Source, error)
	// settle waits until nobody removes files.
	settle(ctx context.Context) (settled, error)
	// swap replaces current, if it still holds what old says, nil for a file that is not
	// there, and nobody began to remove files since; else the error is ErrConflict. Of two at
	// a time one wins.
	swap(ctx context.Context, since settled, old, new []byte) error
	// share waits until nobody removes files, and keeps others from it until it is released.
	share(ctx context.Context) (release func() error, err error)
	// exclude is ErrBusy as long as anybody shares, and keeps others from it until it is
	// released.
	exclude(ctx context.Context) (release func() error, err error)
	// path returns what to call a file in an error.
	path(name string) string
	close() error
}

// settled is what current was when nobody removed files.
type settled struct {
	data    []byte // nil: there was none
	version string // of an object store's
}

// blob is a file that does not change.
type blob interface {
	io.ReaderAt
	io.Closer
	Size() int64
}

// draft is a file that is being written.
type draft interface {
	io.Writer
	// open opens what was written for reading.
	open() (blob, error)
	// discard removes the file; after finish it does nothing.
	discard() error
}

// named is a draft that is ready, with the name that it is to have.
type named struct {
	draft draft
	name  string
}

type entry struct {
	name     string // within its folder
	size     int64
	modified time.Time
}

// home returns what keeps a repository of a name: a folder, which is made by way of local, or
// an object store.
func home(ctx context.Context, name string, local func(dir string) (*folder, error)) (files, error) {
	if source.IsObject(name) {
		return openObjects(ctx, name)
	}
	if err := checkLocal(name); err != nil {
		return nil, err
	}
	f, err := local(name)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// checkLocal refuses other URLs, which would otherwise become folders of such names.
func checkLocal(dir string) error {
	if !source.IsURL(dir) {
		return nil
	}
	return fmt.Errorf("%s: manifests are kept in local folders and in object stores: name a folder, such as ./%s, or a prefix, such as s3://bucket/%s: %w",
		dir, path.Base(dir), path.Base(dir), errors.ErrUnsupported)
}

// maxDocument bounds the files that are read whole.
const maxDocument = 1 << 30

// readAll reads a small file.
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
		return nil, &DamageError{store.path(name), Altered, fmt.Sprintf("%d bytes are more than the %d allowed", f.Size(), int64(maxDocument))}
	}
	data = make([]byte, f.Size())
	if n, err := f.ReadAt(data, 0); n < len(data) {
		return nil, fmt.Errorf("%s: %w", store.path(name), err)
	}
	return data, nil
}

// writeAll writes a small file that does not change.
func writeAll(ctx context.Context, store files, name string, data []byte) (err error) {
	d, err := store.begin()
	if err != nil {
		return err
	}
	if _, err = d.Write(data); err == nil {
		err = store.finish(ctx, named{d, name})
	}
	if err != nil {
		return joinDiscard(err, d)
	}
	return nil
}

// joinDiscard gives up a draft because of an error. That it could not be removed either is
// no news.
func joinDiscard(err error, d draft) error {
	if derr := d.discard(); derr != nil {
		return fmt.Errorf("%w (and the draft stays until gc: %w)", err, derr)
	}
	return err
}

func sumOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// isSum reports whether s is a SHA-256 in lower-case hex.
func isSum(s string) bool {
	return len(s) == 2*sha256.Size && strings.Trim(s, "0123456789abcdef") == ""
}

// tableName returns the file of a table.
func tableName(kind TableKind, sum string) string {
	switch kind {
	case Patches:
		return path.Join("patches", string(kind)+"-"+sum+".parquet")
	case Chunks:
		return path.Join("patches", string(kind)+"-"+sum+".bin")
	default:
		return path.Join("tables", string(kind)+"-"+sum+".parquet")
	}
}
