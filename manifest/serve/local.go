package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"varve/manifest"
	"varve/manifest/store"
	"varve/readers/source"
)

// origin is a source as chunks of it are served.
type origin struct {
	data    dataset
	row     int64
	version string // tells the version of the source
	path    string // of a local file; empty for all else
	size    int64

	file atomic.Pointer[descriptor] // kept open, or nil
	gone atomic.Bool                // nothing is to be kept open any more
}

// origins keep what was asked for last of the sources of a manifest, which may have a million
// of them, and their files open.
type origins []atomic.Pointer[origin]

func newOrigins() origins { return make(origins, source.ShareOfOpen(512, 8)) }

func (o origins) get(ctx context.Context, data dataset, row int64) (*origin, error) {
	slot := &o[uint64(row)%uint64(len(o))]
	if known := slot.Load(); known != nil && known.row == row {
		return known, nil
	}
	src, err := data.Source(ctx, row)
	if err != nil {
		return nil, err
	}
	found := newOrigin(data, row, src)
	if old := slot.Swap(found); old != nil {
		old.close()
	}
	return found, nil
}

// close closes the files that are kept open, each as soon as nobody reads it.
func (o origins) close() {
	for i := range o {
		if known := o[i].Load(); known != nil {
			known.close()
		}
	}
}

func newOrigin(data dataset, row int64, src manifest.Source) *origin {
	version := fmt.Appendf(nil, "%s\x00%d\x00%d\x00%s", src.URL, src.Size, src.Modified.UnixNano(), src.ETag)
	o := &origin{data: data, row: row, size: src.Size, version: strings.Trim(tagOf("stored", version), `"`)}
	if path, ok := store.LocalPath(src); ok {
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
// can read it.
func (o *origin) take(ctx context.Context) (*descriptor, error) {
	if o.path == "" {
		return nil, nil
	}
	if d := o.file.Load(); d != nil && d.enter() {
		return d, nil
	}
	d, err := o.open(ctx)
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
// version, copied back or with other permissions.
func (o *origin) renew(ctx context.Context, d *descriptor) error {
	o.forget(d)
	now, err := o.open(ctx)
	if err != nil {
		return err
	}
	now.leave()
	return nil
}

// open opens the file of a source, if it may be read and is the one that was scanned.
func (o *origin) open(ctx context.Context) (*descriptor, error) {
	f, err := o.data.OpenLocal(ctx, o.row)
	if err != nil {
		return nil, err
	}
	d, err := newDescriptor(f)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return d, nil
}

// serveFile answers with a part of the source's file: done is false where nothing was sent
// and the store has to read it.
func (o *origin) serveFile(w http.ResponseWriter, r *http.Request, loc *store.Location) (done bool, err error) {
	d, err := o.take(r.Context())
	if d == nil || err != nil {
		return false, err
	}
	defer d.leave()
	if loc.Offset < 0 || o.size < loc.Size || loc.Offset > o.size-loc.Size {
		return false, nil // a store that knows the whole path to these bytes says it better
	}
	if loc.Size < minSendfile {
		return o.serveRead(w, r, d, loc)
	}
	if !d.isCurrent(o.path) {
		return false, o.renew(r.Context(), d)
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
		return false, o.renew(r.Context(), d)
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
		return part.file.Changed("while it was sent")
	}
	return o.copy(w, &filePart{part.file, span{part.from + part.length - 1, 1}})
}

func (o *origin) copy(w http.ResponseWriter, part *filePart) error {
	n := part.length
	sent, err := io.Copy(w, part)
	if errors.Is(err, io.ErrUnexpectedEOF) || err == nil && sent < n {
		err = part.file.Changed("it was cut off")
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
