package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"syscall"

	"varve/manifest"
	"varve/manifest/store"
	"varve/readers/source"
)

// origin is a source as chunks of it are served.
type origin struct {
	row  int64
	tag  []byte // tells the version of the source
	path string // of a local file; empty for all else
	id   source.Identity
	// proven says that the store has read the file, which it does only where it may.
	proven atomic.Bool
}

// origins keep what was asked for last of the sources of a manifest, which may have a million
// of them.
type origins [4096]atomic.Pointer[origin]

func (o *origins) get(ctx context.Context, data dataset, row int64) (*origin, error) {
	slot := &o[uint64(row)%uint64(len(o))]
	if known := slot.Load(); known != nil && known.row == row {
		return known, nil
	}
	src, err := data.Source(ctx, row)
	if err != nil {
		return nil, err
	}
	found := newOrigin(row, src)
	slot.Store(found)
	return found, nil
}

func newOrigin(row int64, src manifest.Source) *origin {
	o := &origin{row: row, id: src.Identity()}
	o.tag = fmt.Appendf(nil, "%s\x00%d\x00%d\x00%s", src.URL, src.Size, src.Modified.UnixNano(), src.ETag)
	path, err := source.LocalPath(src.URL)
	// Without a version to compare with, only the store knows what to do.
	if err == nil && filepath.IsAbs(path) && src.Size >= 0 && !src.Modified.IsZero() {
		o.path = path
	}
	return o
}

// etag is that of bytes of the source, as they are.
func (o *origin) etag(offset, size int64) string {
	at := strconv.AppendInt(nil, offset, 10)
	at = strconv.AppendInt(append(at, ' '), size, 10)
	return tagOf("stored", o.tag, at)
}

// open opens the file of a source, if it is the one that was scanned.
func (o *origin) open() (*os.File, error) {
	// A pipe that took the file's place would otherwise wait for its other end.
	f, err := os.OpenFile(o.path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w: it is not there any more", o.path, source.ErrChanged)
	}
	if err != nil {
		return nil, err
	}
	if err := o.check(f.Stat()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// check compares the file with what was scanned.
func (o *origin) check(info fs.FileInfo, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w: it is not there any more", o.path, source.ErrChanged)
	}
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s: %w: it is no regular file", o.path, source.ErrChanged)
	}
	now := source.Identity{Size: info.Size(), Modified: info.ModTime()}
	if err := o.id.Check(now); err != nil {
		return fmt.Errorf("%s: %w", o.path, err)
	}
	return nil
}

// minSendfile is the size from which it is cheaper to have the system send a part of a file
// than to read and write it.
const minSendfile = 32 << 10

// serveFile sends a part of a local file to the client, if it is one for that: done is false
// where nothing was sent and the store has to read it.
func (o *origin) serveFile(w http.ResponseWriter, r *http.Request, loc *store.Location) (done bool, err error) {
	if o.path == "" || loc.Size < minSendfile || !o.proven.Load() {
		return false, nil
	}
	f, err := o.open()
	if err != nil {
		return false, err
	}
	defer f.Close()
	if o.id.Size < loc.Size || loc.Offset > o.id.Size-loc.Size {
		return false, nil // a store that knows the whole path to these bytes says it better
	}
	part, ok := begin(w, r, o.etag(loc.Offset, loc.Size), loc.Size)
	if !ok {
		return true, nil
	}
	if err := o.send(w, f, span{loc.Offset + part.from, part.length}); err != nil {
		abort(w, err)
	}
	return true, nil
}

// minHeld is the size from which sending takes long enough for a file to change meanwhile.
const minHeld = 1 << 20

// send copies a part of the file to the client. The last byte of a large one goes only once
// the file is known to be the same after all others went, so that the client does not take
// for whole what is not.
func (o *origin) send(w http.ResponseWriter, f *os.File, part span) error {
	if _, err := f.Seek(part.from, io.SeekStart); err != nil {
		return err
	}
	if part.length < minHeld {
		return o.copy(w, f, part.length)
	}
	if err := o.copy(w, f, part.length-1); err != nil {
		return err
	}
	if err := o.check(f.Stat()); err != nil {
		return err
	}
	return o.copy(w, f, 1)
}

func (o *origin) copy(w http.ResponseWriter, f *os.File, n int64) error {
	// A LimitedReader of a file is what the server knows to send without copying.
	sent, err := io.Copy(w, &io.LimitedReader{R: f, N: n})
	if err == nil && sent < n {
		err = fmt.Errorf("%s: %w: it was cut off", o.path, source.ErrChanged)
	}
	return err
}

// abort breaks the connection, the only way to tell a client that what it got is not whole.
// The server knows the value, and passes it over in silence.
func abort(w http.ResponseWriter, err error) {
	if rec, ok := w.(*recorder); ok {
		rec.err = err
	}
	panic(http.ErrAbortHandler)
}
