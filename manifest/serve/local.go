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

// origin is a source whose chunks are being served.
type origin struct {
	data    dataset
	row     int64
	version string // identifies the version of the source
	path    string // of a local file; otherwise empty
	size    int64

	file atomic.Pointer[descriptor] // the open file, or nil
	gone atomic.Bool                // after close: keep no file open
}

// origins is a cache of recently used sources with their open files. A manifest may have a million sources, so
// several rows share an entry, which has the one that was used last.
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

// close closes the open files, each after its last reader.
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

// etag returns the entity tag of a byte range of the source.
func (o *origin) etag(offset, size int64) string {
	b := make([]byte, 0, 64)
	b = append(append(b, '"'), o.version...)
	b = strconv.AppendInt(append(b, '-'), offset, 36)
	b = strconv.AppendInt(append(b, '-'), size, 36)
	return string(append(b, '"'))
}

// take returns the open file of the source, or nil if only the store can read it. The caller calls leave.
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
	// One user for the cache in o.file, one for the caller.
	d.users.Add(1)
	if !o.file.CompareAndSwap(nil, d) {
		d.leave()
		// If close ran between open and CompareAndSwap, it did not see this file.
	} else if o.gone.Load() {
		o.forget(d)
	}
	return d, nil
}

// forget removes a file from the cache. It is closed after its last reader.
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

// renew closes an open file that has changed on disk, and returns an error if the file that is now at the path is not
// the scanned version. It may be that version, if it was copied back or has other permissions.
func (o *origin) renew(ctx context.Context, d *descriptor) error {
	o.forget(d)
	now, err := o.open(ctx)
	if err != nil {
		return err
	}
	now.leave()
	return nil
}

// open opens the file if reading it is allowed and it is still the scanned version.
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

// serveFile answers with a part of the local file. done is false if nothing was sent and the store has to
// read it.
func (o *origin) serveFile(w http.ResponseWriter, r *http.Request, loc *manifest.Location) (done bool, err error) {
	d, err := o.take(r.Context())
	if d == nil || err != nil {
		return false, err
	}
	defer d.leave()
	if loc.Offset < 0 || o.size < loc.Size || loc.Offset > o.size-loc.Size {
		return false, nil // the store returns an error that names the array, chunk and file
	}
	if loc.Size < minSendfile {
		return o.serveRead(w, r, d, loc)
	}
	if loc.Checksum != 0 && !loc.Compacted {
		return false, nil // the store verifies the bytes, which sendfile never shows
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

// minSendfile is the size in bytes from which sendfile is faster than reading and writing.
const minSendfile = 32 << 10

var readBuffers = sync.Pool{New: func() any { return new([minSendfile]byte) }}

// serveRead reads a small part of a file and sends it. It checks the file after reading, so all bytes are
// from the scanned version.
func (o *origin) serveRead(w http.ResponseWriter, r *http.Request, d *descriptor, loc *manifest.Location) (done bool, err error) {
	buffer := readBuffers.Get().(*[minSendfile]byte)
	defer readBuffers.Put(buffer)
	data := buffer[:loc.Size]
	_, err = d.ReadAt(data, loc.Offset)
	if err != nil || !d.isCurrent(o.path) {
		return false, o.renew(r.Context(), d)
	}
	if loc.Checksum != 0 && store.CheckScanned(data, loc.Offset, loc.Checksum) != nil {
		return false, nil // the store's error names the array, chunk and file
	}
	serveBytes(w, r, body{data, o.etag(loc.Offset, loc.Size)})
	return true, nil
}

// minChecked is the number of bytes from which send checks the file again before the last byte, because the file may
// change while it is sent.
const minChecked = 1 << 20

// send copies a part of the file to the client. For large parts the last byte waits until the file is checked
// again: if it changed, the client gets an incomplete answer, which it does not mistake for a complete one.
func (o *origin) send(w http.ResponseWriter, part *filePart) error {
	if part.length < minChecked {
		return o.copy(w, part)
	}
	first := *part
	first.length--
	if err := o.copy(w, &first); err != nil {
		return err
	}
	if !part.file.isCurrent(o.path) {
		return part.file.Changed("during sending")
	}
	return o.copy(w, &filePart{part.file, span{part.from + part.length - 1, 1}})
}

func (o *origin) copy(w http.ResponseWriter, part *filePart) error {
	n := part.length
	sent, err := io.Copy(w, part)
	if errors.Is(err, io.ErrUnexpectedEOF) || err == nil && sent < n {
		err = part.file.Changed("it was truncated")
	}
	return err
}

// abort breaks the connection: after the header is sent, this is the only way to report an error. net/http
// recognises the panic value and does not log it.
func abort(w http.ResponseWriter, err error) {
	if rec, ok := w.(*recorder); ok {
		rec.err = err
	}
	panic(http.ErrAbortHandler)
}
