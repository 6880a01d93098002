package hdf5

import (
	"context"
	"runtime"
	"slices"
	"sync"
)

// readAhead reads objects that a walk will visit next on all cores, while the walk visits others.
type readAhead struct {
	of      map[uint64]*pendingObject // objects that were requested and not visited yet, by address
	rest    int                       // number of objects to visit before looking for more
	workers sync.WaitGroup
}

// pendingObject is an object that is being read.
type pendingObject struct {
	addr uint64
	read chan struct{} // closed when the object was read; the objects of one part share it
	*openedObject
}

// take waits for the object at an address and returns it, or nil if it was not requested.
func (a *readAhead) take(addr uint64) *openedObject {
	c := a.of[addr]
	if c == nil {
		return nil
	}
	delete(a.of, addr)
	<-c.read
	return c.openedObject
}

// members returns the links of a group if it was read already, and nil otherwise. It does not wait.
func (a *readAhead) members(addr uint64) []link {
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

// Limits of reading ahead.
const (
	openedAtOnce       = 256 // objects that are read at the same time
	fewObjects         = 16  // up to this many, reading ahead does not pay
	visitsBetweenLooks = 32  // visits between two searches for more objects, which may find none
)

// openAhead starts to read the objects that are visited next. It does nothing if these are few, or
// if the source is remote: there, requests that cover several objects are better (see prefetch.go).
func (w *walk) openAhead(ctx context.Context, todo []pendingLink) {
	w.ahead.rest--
	if len(todo) < fewObjects || w.f.src.Far() {
		return
	}
	// Look for more only now and then, but at once if the next object was not requested: the walk
	// would otherwise read it on one core.
	enough := w.ahead.rest > 0 || len(w.ahead.of) > openedAtOnce/2
	if enough && !w.isNew(&todo[len(todo)-1].link) {
		return
	}
	w.ahead.rest = visitsBetweenLooks
	next := w.nextObjects(todo)
	parts := make(chan []*pendingObject, (len(next)+objectsPerTurn-1)/objectsPerTurn)
	for part := range slices.Chunk(next, objectsPerTurn) {
		read := make(chan struct{})
		for _, c := range part {
			// All objects of a part share one channel: a channel per object costs more than reading
			// a small header.
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
					c.openedObject = w.f.openSafely(ctx, c.addr, &h)
				}
				close(part[0].read)
			}
		})
	}
}

// nextObjects lists the objects to visit next: the targets of the hard links in todo that were not read
// yet, and the members of groups in todo that were read already.
func (w *walk) nextObjects(todo []pendingLink) []*pendingObject {
	var next []*pendingObject
	add := func(l *link) {
		if w.isNew(l) && len(next) < openedAtOnce {
			c := &pendingObject{addr: l.addr}
			w.ahead.of[l.addr] = c
			next = append(next, c)
		}
	}
	const far = 2 * openedAtOnce // look further than openedAtOnce, because some may be read already
	// The walk takes links from the end of todo.
	for i := len(todo) - 1; i >= max(len(todo)-far, 0) && len(next) < openedAtOnce; i-- {
		l := &todo[i].link
		// The members of a group that was read follow it in the walk.
		if add(l); l.kind == linkHard {
			members := w.ahead.members(l.addr)
			for k := range members[:min(len(members), openedAtOnce)] {
				add(&members[k])
			}
		}
	}
	return next
}

// isNew reports whether a link leads to an object that was neither visited nor requested.
func (w *walk) isNew(l *link) bool {
	return l.kind == linkHard && w.byAddr[l.addr] == nil && w.ahead.of[l.addr] == nil
}

// openSafely is openObject, but stores a panic, so that it is raised in the goroutine that takes
// the object.
func (f *File) openSafely(ctx context.Context, addr uint64, h *header) (x *openedObject) {
	defer func() {
		if p := recover(); p != nil {
			x = &openedObject{panicked: p}
		}
	}()
	return f.openObject(ctx, addr, h)
}
