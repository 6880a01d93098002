package serve

import (
	"context"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"varve/manifest/store"
)

// Every snapshot has an address of its own: that of the manifest, an @ and the id. No node of a
// hierarchy is served that is called so.
//
//	/@8c2f…/zarr.json            as long as the manifest has the snapshot
//	/@newest                     leads to the address of the one that is current
const (
	ownPrefix  = "@"
	newestName = ownPrefix + "newest"
)

// own is the path of a snapshot's own address.
func (p *standing) own(id string) string { return p.base + ownPrefix + id + "/" }

// snapshotOf returns the id of the snapshot whose address a name begins.
func snapshotOf(name string) (id string, ok bool) {
	if id, ok = strings.CutPrefix(name, ownPrefix); !ok {
		return "", false
	}
	sum, err := hex.DecodeString(id)
	return id, err == nil && len(sum) == 32 && strings.ToLower(id) == id
}

// isAddress reports whether a name means something else than a node.
func isAddress(name string) bool {
	_, ok := snapshotOf(name)
	return ok || name == newestName
}

func goneError(id string) error {
	return &fault{Status: http.StatusGone, Kind: "no such snapshot",
		Reason: "the manifest has no snapshot " + id + ", or no longer: it was removed (varve gc); the newest is at " + newestName}
}

// serveNewest leads to the snapshot that is current. Only the address does, and no key below it,
// so that whoever follows it stays with that one.
func (h *Handler) serveNewest(w http.ResponseWriter, r *http.Request, p *standing) {
	w.Header().Set("Cache-Control", "no-store")
	http.Redirect(w, r, p.own(p.outlook.Load().newest), http.StatusTemporaryRedirect)
}

// shelf keeps snapshots open that are read at their own addresses: a few at a time, each for a
// while after it was read last.
type shelf struct {
	open func(context.Context, *standing, store.Options) (*site, error)
	opts store.Options
	log  *slog.Logger
	life context.Context
	idle time.Duration

	stop     context.CancelFunc
	sweeping sync.WaitGroup

	mu    sync.Mutex
	books map[book]*shelved
}

// book is one snapshot.
type book struct {
	of *standing
	id string
}

// shelved is a snapshot that is open, or about to be.
type shelved struct {
	ready chan struct{} // closed once site or err is there
	site  *site
	err   error
	used  time.Time
}

const (
	// shelfRoom is how many snapshots are open at a time besides those at plain addresses.
	shelfRoom = 4
	// shelfIdle is how long one of them stays open that nobody reads.
	shelfIdle = time.Minute
	// shelfPatience bounds how long it may take to open one.
	shelfPatience = time.Minute
)

var errFullShelf = &fault{Status: http.StatusServiceUnavailable, Kind: "busy", Reason: "too many snapshots are being read", Retry: 1}

func newShelf(ctx context.Context, o Options, open func(context.Context, *standing, store.Options) (*site, error)) *shelf {
	f := &shelf{open: open, opts: o.Store, log: o.Log, idle: o.idle, books: map[book]*shelved{}}
	// Together they keep as many chunks as one that is at a plain address.
	if f.opts.CacheBytes == 0 {
		f.opts.CacheBytes = store.DefaultCacheBytes
	}
	if f.opts.CacheBytes > 0 {
		f.opts.CacheBytes = max(f.opts.CacheBytes/shelfRoom, 1)
	}
	f.life, f.stop = context.WithCancel(context.WithoutCancel(ctx))
	f.sweeping.Go(f.sweep)
	return f
}

// enter returns a snapshot, kept open until it is left.
func (f *shelf) enter(ctx context.Context, p *standing, id string) (*site, error) {
	for k := range hierarchies {
		if s := p.current(k); s != nil {
			if s.data.Snapshot().ID == id {
				return s, nil
			}
			s.leave(f.log)
		}
	}
	for {
		b, err := f.take(p, id)
		if err != nil {
			return nil, err
		}
		select {
		case <-b.ready:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if b.err != nil {
			return nil, b.err
		}
		if b.site.enter() {
			return b.site, nil
		}
	}
}

// take finds a snapshot on the shelf, or has it opened.
func (f *shelf) take(p *standing, id string) (*shelved, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.life.Err() != nil {
		return nil, errClosing
	}
	at := book{p, id}
	b := f.books[at]
	if b == nil {
		if len(f.books) >= shelfRoom && !f.clearOne() {
			return nil, errFullShelf
		}
		b = &shelved{ready: make(chan struct{})}
		f.books[at] = b
		f.sweeping.Go(func() { f.fetch(at, b) })
	}
	b.used = time.Now()
	return b, nil
}

// fetch opens a snapshot. One that cannot be opened is not kept, so that it is tried again.
func (f *shelf) fetch(at book, b *shelved) {
	ctx, cancel := context.WithTimeout(f.life, shelfPatience)
	defer cancel()
	opts := f.opts
	opts.Snapshot = at.id
	s, err := f.open(ctx, at.of, opts)
	if isGone(err) {
		err = goneError(at.id)
	}
	if err == nil && s.data.Snapshot().ID != at.id {
		err = fmt.Errorf("%s: snapshot %s was asked for, %s was opened", at.of.dir, at.id, s.data.Snapshot().ID)
		s.leave(f.log)
	}
	f.mu.Lock()
	if b.site, b.err = s, err; err != nil {
		b.site = nil
		delete(f.books, at)
	}
	b.used = time.Now()
	f.mu.Unlock()
	close(b.ready)
}

// clearOne puts away the snapshot that was not read for longest, if nobody reads it.
func (f *shelf) clearOne() bool {
	var oldest *book
	for at, b := range f.books {
		if b.isIdle() && (oldest == nil || b.used.Before(f.books[*oldest].used)) {
			oldest = &at
		}
	}
	if oldest == nil {
		return false
	}
	f.putAway(*oldest)
	return true
}

// isIdle reports whether nobody but the shelf holds a snapshot.
func (b *shelved) isIdle() bool { return b.site != nil && b.site.users.Load() == 1 }

func (f *shelf) putAway(at book) {
	b := f.books[at]
	delete(f.books, at)
	b.site.leave(f.log)
}

// sweep puts away what nobody reads any more, until the shelf is closed.
func (f *shelf) sweep() {
	tick := time.NewTicker(f.idle / 4)
	defer tick.Stop()
	for {
		select {
		case <-f.life.Done():
			return
		case <-tick.C:
		}
		f.mu.Lock()
		for at, b := range f.books {
			if b.isIdle() && time.Since(b.used) > f.idle {
				f.putAway(at)
			}
		}
		f.mu.Unlock()
	}
}

// close closes all snapshots, each as soon as no request needs it any more.
func (f *shelf) close() {
	f.mu.Lock()
	f.stop() // nothing is opened any more
	f.mu.Unlock()
	f.sweeping.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	for at := range f.books {
		f.putAway(at)
	}
}
