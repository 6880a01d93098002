package source

import "context"

// Window reads what is needed once and mostly in order, such as the nodes of a large index,
// past the cache. It reads ahead as long as that pays: from 4 KiB up to 128 KiB. A Window is
// for one goroutine.
type Window struct {
	Source *Source

	buf   []byte // what the source has from off on
	off   int64
	ahead int
}

const maxAhead = 128 << 10

// View returns n bytes from offset off, which are valid until the next call.
func (w *Window) View(ctx context.Context, off int64, n int) ([]byte, error) {
	if w.Source.Far() {
		return w.Source.View(ctx, off, n)
	}
	if at := off - w.off; at >= 0 && n >= 0 && int64(n) <= int64(len(w.buf))-at {
		return w.buf[at : at+int64(n)], nil
	}
	if err := w.Source.within(off, int64(n)); err != nil {
		return nil, err
	}
	if off >= w.off && off-w.off <= int64(len(w.buf))+maxAhead {
		w.ahead = min(max(2*w.ahead, 4<<10), maxAhead)
	} else {
		w.ahead = 0
	}
	size := int(min(int64(max(n, w.ahead)), w.Source.size-off))
	if cap(w.buf) < size {
		w.buf = make([]byte, size)
	}
	w.buf, w.off = w.buf[:size], off
	if _, err := w.Source.ReadAt(ctx, w.buf, off); err != nil {
		w.buf = w.buf[:0]
		return nil, err
	}
	return w.buf[:n], nil
}
