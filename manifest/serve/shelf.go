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

// Every snapshot has its own address: the address of the manifest, "@" and the ID. Nodes with such a name are not
// served.
//
//	/@8c2f…/zarr.json            as long as the manifest contains the snapshot
//	/@newest                     redirects to the address of the current snapshot
const (
	ownPrefix  = "@"
	newestName = ownPrefix + "newest"
)

// own returns the path of a snapshot's own address.
func (p *mount) own(id string) string { return p.base + ownPrefix + id + "/" }

// snapshotOf returns the snapshot id in the first path element of a snapshot's address.
func snapshotOf(name string) (id string, ok bool) {
	if id, ok = strings.CutPrefix(name, ownPrefix); !ok {
		return "", false
	}
	sum, err := hex.DecodeString(id)
	return id, err == nil && len(sum) == 32 && strings.ToLower(id) == id
}

// isAddress reports whether a name is reserved for addresses of snapshots.
func isAddress(name string) bool {
	_, ok := snapshotOf(name)
	return ok || name == newestName
}

func goneError(id string) error {
	return &fault{Status: http.StatusGone, Kind: "no such snapshot",
		Reason: "the manifest does not contain snapshot " + id + " (it may have been removed by varve gc); the newest is at " + newestName}
}

// serveNewest redirects to the current snapshot. Keys below @newest do not exist, so a client that follows
// the redirect stays with one snapshot.
func (h *Handler) serveNewest(w http.ResponseWriter, r *http.Request, p *mount) {
	w.Header().Set("Cache-Control", "no-store")
	http.Redirect(w, r, p.own(p.outlook.Load().newest), http.StatusTemporaryRedirect)
}

// shelf caches open snapshots that are read at their own addresses: at most shelfRoom, each until it is idle.
type shelf struct {
	open func(context.Context, *mount, store.Options) (*site, error)
	opts store.Options
	log  *slog.Logger
	life context.Context
	idle time.Duration

	stop     context.CancelFunc
	sweeping sync.WaitGroup

	mu    sync.Mutex
	books map[book]*shelved
}

// book is the cache key of a snapshot.
type book struct {
	of *mount
	id string
}

// shelved is a snapshot that is open or being opened.
type shelved struct {
	ready chan struct{} // closed when site or err is set
	site  *site
	err   error
	used  time.Time
}

const (
	// shelfRoom limits the number of snapshots that are open in addition to the ones at plain addresses.
	shelfRoom = 4
	// shelfIdle is how long such a snapshot stays open without readers.
	shelfIdle = time.Minute
	// shelfPatience limits the time to open such a snapshot.
	shelfPatience = time.Minute
)

var errFullShelf = &fault{Status: http.StatusServiceUnavailable, Kind: "busy", Reason: "too many snapshots are being read", Retry: 1}

func newShelf(ctx context.Context, o Options, open func(context.Context, *mount, store.Options) (*site, error)) *shelf {
	f := &shelf{open: open, opts: o.Store, log: o.Log, idle: o.idle, books: map[book]*shelved{}}
	// All snapshots on the shelf together cache as many bytes of chunks as one snapshot at a plain address.
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

// enter returns an open snapshot. The caller calls leave.
func (f *shelf) enter(ctx context.Context, p *mount, id string) (*site, error) {
	// A snapshot at the plain address is already open.
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
		// The snapshot may have been evicted since it became ready; then open it again.
		if b.site.enter() {
			return b.site, nil
		}
	}
}

// take returns the cache entry of a snapshot, and starts opening it if it is new.
func (f *shelf) take(p *mount, id string) (*shelved, error) {
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
		// Open it in another goroutine: the caller may give up while others wait for the same snapshot.
		f.sweeping.Go(func() { f.fetch(at, b) })
	}
	b.used = time.Now()
	return b, nil
}

// fetch opens a snapshot. A failure is not cached, so the next request tries again.
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
		err = fmt.Errorf("%s: snapshot %s was opened instead of %s", at.of.dir, s.data.Snapshot().ID, at.id)
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

// clearOne evicts the idle snapshot that was used least recently; false if none is idle.
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

// isIdle reports whether only the shelf uses the snapshot.
func (b *shelved) isIdle() bool { return b.site != nil && b.site.users.Load() == 1 }

func (f *shelf) putAway(at book) {
	b := f.books[at]
	delete(f.books, at)
	b.site.leave(f.log)
}

// sweep evicts idle snapshots until the shelf is closed.
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

// close closes all snapshots, each after its last request.
func (f *shelf) close() {
	f.mu.Lock()
	f.stop() // no snapshot is opened after this
	f.mu.Unlock()
	f.sweeping.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	for at := range f.books {
		f.putAway(at)
	}
}
