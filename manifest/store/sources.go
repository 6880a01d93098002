package store

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"

	"varve/manifest"
	"varve/readers/source"
)

// sources keeps the most recently used sources open, up to a number of them.
type sources struct {
	limit int
	open  func(ctx context.Context, row int64, src manifest.Source) (*source.Source, error)

	mu       sync.Mutex
	all      map[int64]*handle
	idle     list.List     // of *handle, the most recently used in front
	freed    chan struct{} // closed when a handle becomes idle or is removed
	isClosed bool
}

// handle is a source that is open or is being opened.
type handle struct {
	*source.Source
	row     int64
	users   int
	idle    *list.Element // in the list of idle handles, or nil
	ready   chan struct{}
	err     error
	isStale bool // there was an error, so it must not be used again
}

func newSources(limit int, open func(context.Context, int64, manifest.Source) (*source.Source, error)) *sources {
	return &sources{limit: limit, open: open, all: map[int64]*handle{}, freed: make(chan struct{})}
}

// acquire returns an open source by its row. src is its scanned version. The caller must call release.
func (p *sources) acquire(ctx context.Context, row int64, src manifest.Source) (*handle, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		h, fresh, evicted, wait := p.reserve(row)
		if evicted != nil {
			_ = evicted.Close() // closing a file that was only read loses nothing
		}
		if h == nil {
			if wait == nil {
				return nil, fmt.Errorf("the manifest is closed: %w", fs.ErrClosed)
			}
			select {
			case <-wait:
			case <-ctx.Done():
			}
			continue
		}
		if fresh {
			h.Source, h.err = openRetrying(ctx, p, func() (*source.Source, error) { return p.open(ctx, row, src) })
			close(h.ready)
		}
		select {
		case <-h.ready:
		case <-ctx.Done():
			p.release(h, nil)
			return nil, ctx.Err()
		}
		if h.err == nil {
			return h, nil
		}
		p.release(h, h.err)
		// If another goroutine's opening was cancelled, try again.
		if fresh || !isGone(h.err) {
			return nil, h.err
		}
	}
}

// openRetrying opens a file. If the process has too many open files, it closes an idle source, or waits until a
// source is idle, and tries again. If p has no open source, it tries again only for a short time, because other
// files of the process may never be closed.
func openRetrying[T any](ctx context.Context, p *sources, open func() (T, error)) (T, error) {
	for moments := 0; ; moments++ {
		file, err := open()
		if !source.IsExhausted(err) {
			return file, err
		}
		wait, ok := p.makeRoom()
		if !ok && moments == maxMoments {
			return file, err
		}
		var moment <-chan time.Time
		if !ok {
			moment = time.After(10 * time.Millisecond)
		}
		select {
		case <-wait:
		case <-moment:
		case <-ctx.Done():
			return file, err
		}
	}
}

// maxMoments is the number of attempts while no source of p is open.
const maxMoments = 20

// makeRoom closes the least recently used idle source. It returns a channel to wait for. ok says that the
// channel will certainly be closed, because a source is in use and becomes idle later.
func (p *sources) makeRoom() (wait <-chan struct{}, ok bool) {
	p.mu.Lock()
	old := p.evict()
	wait = p.freed
	for _, h := range p.all {
		ok = ok || h.isOpen()
	}
	p.mu.Unlock()
	if old == nil {
		return wait, ok
	}
	_ = old.Close() // closing a file that was only read loses nothing
	now := make(chan struct{})
	close(now)
	return now, true
}

// evict removes the least recently used idle source. It returns nil if all are in use.
func (p *sources) evict() *source.Source {
	last := p.idle.Back()
	if last == nil {
		return nil
	}
	old := p.idle.Remove(last).(*handle)
	delete(p.all, old.row)
	return old.Source
}

// CheckSource opens a source again, even if the store has it open. It returns an error if the source is not
// the version that was scanned, or may not be read. It reads one byte of a source on a server. For a folder it
// checks only that it exists, because the files in it are sources themselves.
func (s *Store) CheckSource(ctx context.Context, row int64) error {
	src, err := s.Source(ctx, row)
	if err != nil {
		return err
	}
	if path, err := source.LocalPath(src.URL); err == nil && src.Size <= 0 {
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			return s.access.checkFolder(src, path)
		}
	}
	opened, err := openRetrying(ctx, s.sources, func() (*source.Source, error) { return s.OpenSource(ctx, row) })
	if err != nil {
		return err
	}
	if isFar(src.URL) && src.Size > 0 {
		_, err = opened.ReadAt(ctx, make([]byte, 1), 0)
	}
	return errors.Join(err, opened.Close())
}

// reserve finds or makes the handle of a source. If the limit is reached it returns a channel to wait
// for, which is nil after close.
func (p *sources) reserve(row int64) (h *handle, fresh bool, evicted *source.Source, wait chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.isClosed {
		return nil, false, nil, nil
	}
	if h := p.all[row]; h != nil {
		h.users++
		if h.idle != nil {
			p.idle.Remove(h.idle)
			h.idle = nil
		}
		return h, false, nil, nil
	}
	if len(p.all) >= p.limit {
		if evicted = p.evict(); evicted == nil {
			return nil, false, nil, p.freed
		}
	}
	h = &handle{row: row, users: 1, ready: make(chan struct{})}
	p.all[row] = h
	return h, true, evicted, nil
}

// hasFailed reports whether opening the source failed. It is false while the source is being opened:
// the goroutine that opens it is a user too.
func (h *handle) hasFailed() bool { return h.isReady() && h.err != nil }

// isOpen reports whether the source is open.
func (h *handle) isOpen() bool { return h.isReady() && h.err == nil }

func (h *handle) isReady() bool {
	select {
	case <-h.ready:
		return true
	default:
		return false
	}
}

// release gives a source back, with the error of using it, if any.
func (p *sources) release(h *handle, err error) {
	p.mu.Lock()
	if err != nil && !isGone(err) || h.hasFailed() {
		h.isStale = true // open it again next time: then the error may be gone
		if p.all[h.row] == h {
			delete(p.all, h.row)
		}
	}
	h.users--
	last := h.users == 0
	drop := last && (h.isStale || p.isClosed)
	if last && !drop {
		h.idle = p.idle.PushFront(h)
	}
	if last {
		close(p.freed)
		p.freed = make(chan struct{})
	}
	p.mu.Unlock()
	if drop && h.Source != nil {
		_ = h.Source.Close() // closing a file that was only read loses nothing
	}
}

// close closes the idle sources. The others are closed when they are released.
func (p *sources) close() (err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.isClosed = true
	for e := p.idle.Front(); e != nil; e = p.idle.Front() {
		err = errors.Join(err, p.idle.Remove(e).(*handle).Close())
	}
	close(p.freed)
	p.freed = make(chan struct{})
	return err
}
