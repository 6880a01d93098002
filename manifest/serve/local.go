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
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"varve/manifest"
	"varve/manifest/store"
	"varve/readers/source"
)

// origin is a source as chunks of it are served.
type origin struct {
	row     int64
	version string // tells the version of the source
	path    string // of a local file; empty for all else
	id      source.Identity
	// proven says that the store has read the file, which it does only where it may.
	proven atomic.Bool

	file atomic.Pointer[descriptor] // kept open, or nil
	gone atomic.Bool                // nothing is to be kept open any more
}

// origins keep what was asked for last of the sources of a manifest, which may have a million
// of them, and their files open.
type origins [512]atomic.Pointer[origin]

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
	if old := slot.Swap(found); old != nil {
		old.close()
	}
	return found, nil
}

// close closes the files that are kept open, each as soon as nobody reads it.
func (o *origins) close() {
	for i := range o {
		if known := o[i].Load(); known != nil {
			known.close()
		}
	}
}

func newOrigin(row int64, src manifest.Source) *origin {
	version := fmt.Appendf(nil, "%s\x00%d\x00%d\x00%s", src.URL, src.Size, src.Modified.UnixNano(), src.ETag)
	o := &origin{row: row, id: src.Identity(), version: strings.Trim(tagOf("stored", version), `"`)}
	path, err := source.LocalPath(src.URL)
	// Without a version to compare with, only the store knows what to do.
	if err == nil && filepath.IsAbs(path) && src.Size >= 0 && !src.Modified.IsZero() {
		o.path = path
	}
	return o
}

// etag is that of bytes of the source, as they are.
func (o *origin) etag(offset, size int64) string {
	b := make([]byte, 0, 64)
	b = append(append(b, '"'), o.version...)
	b = strconv.AppendInt(append(b, '-'), offset, 36)
	b = strconv.AppendInt(append(b, '-'), size, 36)
	return string(append(b, '"'))
}

// take returns the open file of the source, to be left after use, or nil if only the store
// may read it.
func (o *origin) take() (*descriptor, error) {
	if o.path == "" || !o.proven.Load() {
		return nil, nil
	}
	if d := o.file.Load(); d != nil && d.enter() {
		return d, nil
	}
	d, err := o.open()
	if err != nil {
		return nil, err
	}
	d.users.Add(1)
	if !o.file.CompareAndSwap(nil, d) {
		d.leave()
	} else if o.gone.Load() {
		o.forget(d)
	}
	return d, nil
}

// forget has a file closed when nobody reads it any more.
func (o *origin) forget(d *descriptor) {
	if o.file.CompareAndSwap(d, nil) {
		d.leave()
	}
}

func (o *origin) close() {
	o.gone.Store(true)
	if d := o.file.Load(); d != nil {
		o.forget(d)
	}
}

// renew gives up a file that is not any more what it was. What is there now may be the same
// version, copied back or with other permissions, but then the store has to read it first.
func (o *origin) renew(d *descriptor) error {
	o.forget(d)
	o.proven.Store(false)
	now, err := o.open()
	if err != nil {
		return err
	}
	now.leave()
	return nil
}

// open opens the file of a source, if it is the one that was scanned.
func (o *origin) open() (*descriptor, error) {
	// A pipe that took the file's place would otherwise wait for its other end.
	f, err := os.OpenFile(o.path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, o.changed("it is not there any more")
	}
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil {
		err = o.check(info)
	}
	var d *descriptor
	if err == nil {
		d, err = newDescriptor(f, info)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return d, nil
}

// check compares the file with what was scanned.
func (o *origin) check(info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return o.changed("it is no regular file")
	}
	now := source.Identity{Size: info.Size(), Modified: info.ModTime()}
	if err := o.id.Check(now); err != nil {
		return fmt.Errorf("%s: %w", o.path, err)
	}
	return nil
}

func (o *origin) changed(how string) error {
	return fmt.Errorf("%s: %w: %s", o.path, source.ErrChanged, how)
}

// serveFile answers with a part of the source's file: done is false where nothing was sent
// and the store has to read it.
func (o *origin) serveFile(w http.ResponseWriter, r *http.Request, loc *store.Location) (done bool, err error) {
	d, err := o.take()
	if d == nil || err != nil {
		return false, err
	}
	defer d.leave()
	if loc.Offset < 0 || o.id.Size < loc.Size || loc.Offset > o.id.Size-loc.Size {
		return false, nil // a store that knows the whole path to these bytes says it better
	}
	if loc.Size < minSendfile {
		return o.serveRead(w, r, d, loc)
	}
	if !d.isCurrent(o.path) {
		return false, o.renew(d)
	}
	part, ok := begin(w, r, o.etag(loc.Offset, loc.Size), loc.Size)
	if !ok {
		return true, nil
	}
	expectFile(r)
	if err := o.send(w, &filePart{d, span{loc.Offset + part.from, part.length}}); err != nil {
		abort(w, err)
	}
	return true, nil
}

// minSendfile is the size from which it is cheaper to have the system send a part of a file
// than to read and write it.
const minSendfile = 32 << 10

var readBuffers = sync.Pool{New: func() any { return new([minSendfile]byte) }}

// serveRead answers with a part of a file that is read first. That the file still is the same
// is seen afterwards, so that all that was read was of it.
func (o *origin) serveRead(w http.ResponseWriter, r *http.Request, d *descriptor, loc *store.Location) (done bool, err error) {
	buffer := readBuffers.Get().(*[minSendfile]byte)
	defer readBuffers.Put(buffer)
	data := buffer[:loc.Size]
	_, err = d.ReadAt(data, loc.Offset)
	if err != nil || !d.isCurrent(o.path) {
		return false, o.renew(d)
	}
	serveBytes(w, r, body{data, o.etag(loc.Offset, loc.Size)})
	return true, nil
}

// minHeld is the size from which sending takes long enough for a file to change meanwhile.
const minHeld = 1 << 20

// send copies a part of the file to the client. The last byte of a large one goes only once
// the file is known to be the same after all others went, so that the client does not take
// for whole what is not.
func (o *origin) send(w http.ResponseWriter, part *filePart) error {
	if part.length < minHeld {
		return o.copy(w, part)
	}
	first := *part
	first.length--
	if err := o.copy(w, &first); err != nil {
		return err
	}
	if !part.file.isCurrent(o.path) {
		return o.changed("while it was sent")
	}
	return o.copy(w, &filePart{part.file, span{part.from + part.length - 1, 1}})
}

func (o *origin) copy(w http.ResponseWriter, part *filePart) error {
	n := part.length
	sent, err := io.Copy(w, part)
	if errors.Is(err, io.ErrUnexpectedEOF) || err == nil && sent < n {
		err = o.changed("it was cut off")
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
