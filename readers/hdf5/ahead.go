package hdf5

import (
	"context"
	"runtime"
	"slices"
	"sync"
)

// ahead reads the objects that a walk visits next by all cores, while it visits others.
type ahead struct {
	of      map[uint64]*coming // what is read and was not visited yet, by address
	rest    int                // objects that are visited before the next look for more
	workers sync.WaitGroup
}

// coming is an object that is being read.
type coming struct {
	addr uint64
	read chan struct{} // closed when it was; others have the same
	*opened
}

// take returns what was read at an address, or nil if nobody was to read it.
func (a *ahead) take(addr uint64) *opened {
	c := a.of[addr]
	if c == nil {
		return nil
	}
	delete(a.of, addr)
	<-c.read
	return c.opened
}

// members are the links of a group that was read.
func (a *ahead) members(addr uint64) []link {
	c := a.of[addr]
	if c == nil {
		return nil
	}
	select {
	case <-c.read:
		return c.links
	default:
		return nil
	}
}

// Of many objects that are to be visited so many are read at once, if there are more than a few.
const (
	openedAtOnce = 256
	fewObjects   = 16
	visitedAnew  = 32 // before a look for more, which may be in vain
)

// openAhead begins to read the objects that are visited next, unless they are few, or reading
// them one by one makes larger requests.
func (w *walk) openAhead(ctx context.Context, todo []pending) {
	w.ahead.rest--
	if len(todo) < fewObjects || w.f.src.Far() {
		return
	}
	enough := w.ahead.rest > 0 || len(w.ahead.of) > openedAtOnce/2
	if enough && !w.isNew(&todo[len(todo)-1].link) {
		return
	}
	w.ahead.rest = visitedAnew
	next := w.soon(todo)
	parts := make(chan []*coming, (len(next)+stretch-1)/stretch)
	for part := range slices.Chunk(next, stretch) {
		read := make(chan struct{})
		for _, c := range part {
			c.read = read
		}
		parts <- part
	}
	close(parts)
	for range min(runtime.GOMAXPROCS(0), cap(parts)) {
		w.ahead.workers.Go(func() {
			var h header
			for part := range parts {
				for _, c := range part {
					c.opened = w.f.openSafely(ctx, c.addr, &h)
				}
				close(part[0].read)
			}
		})
	}
}

// soon lists the objects that are visited next: those of links that are to be followed, and the
// members of groups among them that were read.
func (w *walk) soon(todo []pending) []*coming {
	var next []*coming
	add := func(l *link) {
		if w.isNew(l) && len(next) < openedAtOnce {
			c := &coming{addr: l.addr}
			w.ahead.of[l.addr] = c
			next = append(next, c)
		}
	}
	const far = 2 * openedAtOnce // half of these may be read already
	for i := len(todo) - 1; i >= max(len(todo)-far, 0) && len(next) < openedAtOnce; i-- {
		l := &todo[i].link
		if add(l); l.kind == linkHard {
			members := w.ahead.members(l.addr)
			for k := range members[:min(len(members), openedAtOnce)] {
				add(&members[k])
			}
		}
	}
	return next
}

// isNew reports whether a link leads to an object that nobody reads yet.
func (w *walk) isNew(l *link) bool {
	return l.kind == linkHard && w.byAddr[l.addr] == nil && w.ahead.of[l.addr] == nil
}

// openSafely keeps a panic for the goroutine that wants the object.
func (f *File) openSafely(ctx context.Context, addr uint64, h *header) (x *opened) {
	defer func() {
		if p := recover(); p != nil {
			x = &opened{panicked: p}
		}
	}()
	return f.openObject(ctx, addr, h)
}
