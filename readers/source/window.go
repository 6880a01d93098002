package source

import "context"

// Window reads bytes that are needed once and mostly in order, such as the nodes of a large index, without the cache. It reads
// ahead as long as most of the bytes are needed: 4 KiB at first, up to 256 KiB. From then on it reads the next 256 KiB while the
// caller processes the current ones:
//
//	┌──────── buf ────────┐
//	node node node node no┆de node node …
//	                   └──────── next ───────┘   begins early enough for a node that buf has only a part of
//
// Only one goroutine may use a Window. It must close it at the end. Source must be set.
type Window struct {
	Source *Source

	buf   []byte // bytes of the source from off on
	off   int64
	used  int            // bytes of buf that View has returned
	ahead int            // bytes to read at a time
	next  chan readAhead // nil: no read is in progress
	spare []byte
}

// readAhead is the result of reading ahead.
type readAhead struct {
	buf []byte
	off int64
	err error
}

const (
	leastAhead = 4 << 10
	maxAhead   = 256 << 10
	wasted     = 8 // reading ahead stops if less than 1/wasted of the bytes are used
)

// View returns n bytes from offset off. They are valid until the next call.
func (w *Window) View(ctx context.Context, off int64, n int) ([]byte, error) {
	// For remote sources, the cache already reads ahead.
	if w.Source.Far() {
		return w.Source.View(ctx, off, n)
	}
	if !w.has(off, n) {
		if err := w.move(ctx, off, n); err != nil {
			return nil, err
		}
	}
	w.used += n
	return w.buf[off-w.off:][:n], nil
}

// move moves the window so that it contains n bytes from off on.
func (w *Window) move(ctx context.Context, off int64, n int) error {
	if err := w.Source.within(off, int64(n)); err != nil {
		return err
	}
	if off >= w.off && off-w.off <= int64(len(w.buf)+maxAhead) && w.used >= len(w.buf)/wasted {
		w.ahead = min(max(2*w.ahead, leastAhead), maxAhead)
	} else {
		w.ahead = 0
	}
	// The read ahead often has the bytes already.
	if w.take(); !w.has(off, n) {
		if err := w.read(ctx, off, max(n, w.ahead)); err != nil {
			return err
		}
	}
	w.used = 0
	// A node larger than half of the window would leave too little of the next read.
	if w.ahead == maxAhead && n < maxAhead/2 {
		w.fetch(ctx, w.off+int64(len(w.buf)-n))
	}
	return nil
}

func (w *Window) has(off int64, n int) bool {
	at := off - w.off
	return at >= 0 && n >= 0 && int64(n) <= int64(len(w.buf))-at
}

func (w *Window) read(ctx context.Context, off int64, size int) error {
	size = int(min(int64(size), w.Source.size-off))
	if cap(w.buf) < size {
		w.buf = make([]byte, size)
	}
	w.buf, w.off = w.buf[:size], off
	_, err := w.Source.ReadAt(ctx, w.buf, off)
	if err != nil {
		w.buf = w.buf[:0]
	}
	return err
}

// fetch begins to read ahead from offset off.
func (w *Window) fetch(ctx context.Context, off int64) {
	size := int(min(maxAhead, w.Source.size-off))
	if cap(w.spare) < size {
		w.spare = make([]byte, maxAhead)
	}
	buf := w.spare[:size]
	next := make(chan readAhead, 1)
	w.next, w.spare = next, nil
	go func() {
		_, err := w.Source.ReadAt(ctx, buf, off)
		next <- readAhead{buf, off, err}
	}()
}

// take waits for the read ahead and makes its bytes the current ones. It ignores an error: if the bytes are needed, View reads
// them again and returns the error.
func (w *Window) take() {
	if w.next == nil {
		return
	}
	got := <-w.next
	w.next = nil
	if got.err != nil {
		w.spare = got.buf
		return
	}
	w.spare, w.buf, w.off = w.buf, got.buf, got.off
}

// Close waits for the end of a read ahead.
func (w *Window) Close() { w.take() }
