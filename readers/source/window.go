package source

import "context"

// Window reads what is needed once and mostly in order, such as the nodes of a large index,
// past the cache. It reads ahead as long as most of that is needed: from 4 KiB up to 256 KiB, and
// from there on the next so many while what is there is being looked at:
//
//	┌──────── buf ────────┐
//	node node node node no┆de node node …
//	                   └──────── next ───────┘   begins where a node may that buf has not all of
//
// A Window is for one goroutine, which closes it at last. The zero value reads no source.
type Window struct {
	Source *Source

	buf   []byte // what the source has from off on
	off   int64
	used  int // bytes of buf that were needed
	ahead int
	next  chan fetched // nil: nothing is being read
	spare []byte
}

// fetched is what was read ahead.
type fetched struct {
	buf []byte
	off int64
	err error
}

const (
	leastAhead = 4 << 10
	maxAhead   = 256 << 10
	wasted     = 8 // times as much read as needed is too much
)

// View returns n bytes from offset off, which are valid until the next call.
func (w *Window) View(ctx context.Context, off int64, n int) ([]byte, error) {
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

// move goes on to where n bytes from off are.
func (w *Window) move(ctx context.Context, off int64, n int) error {
	if err := w.Source.within(off, int64(n)); err != nil {
		return err
	}
	if off >= w.off && off-w.off <= int64(len(w.buf)+maxAhead) && w.used >= len(w.buf)/wasted {
		w.ahead = min(max(2*w.ahead, leastAhead), maxAhead)
	} else {
		w.ahead = 0
	}
	if w.take(); !w.has(off, n) {
		if err := w.read(ctx, off, max(n, w.ahead)); err != nil {
			return err
		}
	}
	w.used = 0
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

// fetch begins to read ahead.
func (w *Window) fetch(ctx context.Context, off int64) {
	size := int(min(maxAhead, w.Source.size-off))
	if cap(w.spare) < size {
		w.spare = make([]byte, maxAhead)
	}
	buf := w.spare[:size]
	next := make(chan fetched, 1)
	w.next, w.spare = next, nil
	go func() {
		_, err := w.Source.ReadAt(ctx, buf, off)
		next <- fetched{buf, off, err}
	}()
}

// take waits for what is read ahead and looks at it from now on. What could not be read is read
// again by whoever needs it.
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

// Close waits for what is being read.
func (w *Window) Close() { w.take() }
