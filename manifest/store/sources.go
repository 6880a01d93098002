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

	"varve/readers/source"
)

// sources keeps sources open, those that were used last, up to a number of them.
type sources struct {
	limit int
	open  func(ctx context.Context, row int64) (*source.Source, error)

	mu     sync.Mutex
	all    map[int64]*handle
	idle   list.List     // of *handle, the one that was used last in front
	freed  chan struct{} // closed when a handle becomes idle or goes
	closed bool
}

// handle is a source that is open, or about to be.
type handle struct {
	*source.Source
	row   int64
	users int
	place *list.Element // among the idle ones, or nil
	ready chan struct{}
	err   error
	stale bool // not to be used again
}

func newSources(limit int, open func(context.Context, int64) (*source.Source, error)) *sources {
	return &sources{limit: limit, open: open, all: map[int64]*handle{}, freed: make(chan struct{})}
}

// acquire returns an open source. It has to be released.
func (p *sources) acquire(ctx context.Context, row int64) (*handle, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		h, fresh, evicted, wait := p.reserve(row)
		if evicted != nil {
			_ = evicted.Close() // it was only read from
		}
		if h == nil {
			if wait == nil {
				return nil, fmt.Errorf("the manifest: %w", fs.ErrClosed)
			}
			select {
			case <-wait:
			case <-ctx.Done():
			}
			continue
		}
		if fresh {
			h.Source, h.err = opening(ctx, p, func() (*source.Source, error) { return p.open(ctx, row) })
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
		if fresh || !isGone(h.err) {
			return nil, h.err
		}
	}
}

// opening opens a file. Where the process has too many of them open, a source that nobody uses is
// closed for it, or the next that nobody uses any more. Others that are about to be open, or closed,
// are waited for a moment.
func opening[T any](ctx context.Context, p *sources, open func() (T, error)) (T, error) {
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

// maxMoments is how often others are waited for that may not come.
const maxMoments = 20

// makeRoom closes the source that was not used for longest of those that nobody uses. It returns what
// to wait for then, and whether that comes: a source that somebody uses is free at some time.
func (p *sources) makeRoom() (wait <-chan struct{}, ok bool) {
	p.mu.Lock()
	old := p.evict()
	wait = p.freed
	for _, h := range p.all {
		ok = ok || h.opened()
	}
	p.mu.Unlock()
	if old == nil {
		return wait, ok
	}
	_ = old.Close() // it was only read from
	now := make(chan struct{})
	close(now)
	return now, true
}

// evict forgets the source that was not used for longest; nil if all are in use.
func (p *sources) evict() *source.Source {
	last := p.idle.Back()
	if last == nil {
		return nil
	}
	old := p.idle.Remove(last).(*handle)
	delete(p.all, old.row)
	return old.Source
}

// CheckSource opens a source anew, also one that the store has open, which is an error if it is not
// what was scanned, or may not be read. A server is asked for a byte. Of a folder nothing is known but that it is there: the
// files in it are sources of their own.
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
	opened, err := opening(ctx, s.sources, func() (*source.Source, error) { return s.OpenSource(ctx, row) })
	if err != nil {
		return err
	}
	if isFar(src.URL) && src.Size > 0 {
		_, err = opened.ReadAt(ctx, make([]byte, 1), 0)
	}
	return errors.Join(err, opened.Close())
}

// reserve finds or makes the handle of a source. Without a place for one it returns what to
// wait for, which is nil if nothing will come.
func (p *sources) reserve(row int64) (h *handle, fresh bool, evicted *source.Source, wait chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, false, nil, nil
	}
	if h := p.all[row]; h != nil {
		h.users++
		if h.place != nil {
			p.idle.Remove(h.place)
			h.place = nil
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

// failed reports whether a source was opened in vain. One that is still being opened has not
// failed yet, and who opens it uses it too.
func (h *handle) failed() bool { return h.isReady() && h.err != nil }

// opened reports whether a source is open.
func (h *handle) opened() bool { return h.isReady() && h.err == nil }

func (h *handle) isReady() bool {
	select {
	case <-h.ready:
		return true
	default:
		return false
	}
}

// release gives a source back, with the error of using it.
func (p *sources) release(h *handle, err error) {
	p.mu.Lock()
	if err != nil && !isGone(err) || h.failed() {
		h.stale = true // what is wrong may pass, but not for what is open
		if p.all[h.row] == h {
			delete(p.all, h.row)
		}
	}
	h.users--
	last := h.users == 0
	drop := last && (h.stale || p.closed)
	if last && !drop {
		h.place = p.idle.PushFront(h)
	}
	if last {
		close(p.freed)
		p.freed = make(chan struct{})
	}
	p.mu.Unlock()
	if drop && h.Source != nil {
		_ = h.Source.Close() // it was only read from
	}
}

// close closes what nobody uses, and the rest when it is released.
func (p *sources) close() (err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for e := p.idle.Front(); e != nil; e = p.idle.Front() {
		err = errors.Join(err, p.idle.Remove(e).(*handle).Close())
	}
	close(p.freed)
	p.freed = make(chan struct{})
	return err
}
