package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"varve/manifest/store"
	"varve/readers/source"
)

// maxOpen limits the number of stores that are open at a time. A client may have many more datasets: the
// engine opens a closed store again, at the same snapshot, when the client reads a dataset of it.
const maxOpen = 32

// datasets are the datasets that clients have opened, by handle. Equal datasets share a store.
type datasets struct {
	allow []string
	trace source.TraceFunc

	mu      sync.Mutex
	last    uint32
	handles map[uint32]*shelf
	shelves map[string]*shelf
	clock   int64 // the number of uses so far
}

// shelf is a store that is open, or can be opened again.
type shelf struct {
	key     string
	name    string
	opts    store.Options // with the snapshot
	handles int
	uses    int   // number of requests that use it now
	used    int64 // the value of clock at its last use

	opening   sync.Mutex
	store     *store.Store // nil while it is closed
	hierarchy *hierarchy   // of the store; nil until the first request for a key
}

// keys returns the hierarchy of the store, which must be open.
func (at *shelf) keys() (*hierarchy, error) {
	at.opening.Lock()
	defer at.opening.Unlock()
	var err error
	if at.hierarchy == nil {
		at.hierarchy, err = newHierarchy(at.store)
	}
	return at.hierarchy, err
}

func newDatasets(allow []string, trace source.TraceFunc) datasets {
	return datasets{allow: allow, trace: trace, handles: map[uint32]*shelf{}, shelves: map[string]*shelf{}}
}

// openRequest is what a client asks to open.
type openRequest struct {
	Manifest string   `json:"manifest"` // a folder, or a prefix in an object store
	Snapshot string   `json:"snapshot"` // the beginning of its ID; empty for the current snapshot
	Allow    []string `json:"allow"`    // prefixes of sources that may be read
	Download bool     `json:"download"` // download whole files from servers that send no ranges
}

// open opens a manifest. The caller must call release with the shelf.
func (d *datasets) open(ctx context.Context, ask *openRequest) (handle uint32, at *shelf, err error) {
	opts := store.Options{Snapshot: ask.Snapshot, Allow: slices.Concat(d.allow, ask.Allow), Download: ask.Download, Trace: d.trace, CacheBytes: 64 << 20, OpenFiles: source.ShareOfOpen(256, 2*maxOpen)}
	if err := findSnapshot(ctx, ask.Manifest, &opts); err != nil {
		return 0, nil, err
	}
	key := strings.Join(slices.Concat([]string{ask.Manifest, opts.Snapshot, fmt.Sprint(ask.Download)}, opts.Allow), "\x00")
	d.mu.Lock()
	at, ok := d.shelves[key]
	if !ok {
		at = &shelf{key: key, name: ask.Manifest, opts: opts}
		d.shelves[key] = at
	}
	d.last++
	handle = d.last
	d.handles[handle] = at
	at.handles++
	d.use(at)
	d.mu.Unlock()
	if err := d.ready(ctx, at); err != nil {
		d.release(at)
		d.drop(handle)
		return 0, nil, err
	}
	return handle, at, nil
}

// get returns the shelf of a handle with its store open. The caller must call release with it.
func (d *datasets) get(ctx context.Context, handle uint32) (*shelf, error) {
	d.mu.Lock()
	at := d.handles[handle]
	if at == nil {
		d.mu.Unlock()
		return nil, errNoDataset
	}
	d.use(at)
	d.mu.Unlock()
	if err := d.ready(ctx, at); err != nil {
		d.release(at)
		return nil, err
	}
	return at, nil
}

func (d *datasets) use(at *shelf) {
	d.clock++
	at.used = d.clock
	at.uses++
}

// ready opens the store of a shelf in use, and closes others if there are too many.
func (d *datasets) ready(ctx context.Context, at *shelf) error {
	at.opening.Lock()
	defer at.opening.Unlock()
	if at.store != nil {
		return nil
	}
	if err := d.spare(maxOpen - 1); err != nil {
		return err
	}
	// The store outlives the request. In an object store, reads would end with the request's context.
	opened, err := store.Open(context.WithoutCancel(ctx), at.name, &at.opts)
	if err != nil {
		return err
	}
	d.mu.Lock()
	at.store = opened
	d.mu.Unlock()
	return nil
}

// spare closes the least recently used stores that no request uses, if more than most are open.
func (d *datasets) spare(most int) error {
	var closing []*store.Store
	d.mu.Lock()
	var open []*shelf
	for _, at := range d.shelves {
		if at.store != nil {
			open = append(open, at)
		}
	}
	slices.SortFunc(open, func(a, b *shelf) int { return int(a.used - b.used) })
	for _, at := range open[:max(len(open)-most, 0)] {
		if at.uses == 0 {
			closing = append(closing, at.store)
			at.store, at.hierarchy = nil, nil
		}
	}
	d.mu.Unlock()
	return closeAll(closing)
}

func closeAll(stores []*store.Store) (err error) {
	for _, s := range stores {
		err = errors.Join(err, s.Close())
	}
	return err
}

// release ends the use of a shelf by a request.
func (d *datasets) release(at *shelf) {
	d.mu.Lock()
	at.uses--
	d.forget(at)
	d.mu.Unlock()
}

// drop ends a handle.
func (d *datasets) drop(handle uint32) {
	d.mu.Lock()
	if at := d.handles[handle]; at != nil {
		delete(d.handles, handle)
		at.handles--
		d.forget(at)
	}
	d.mu.Unlock()
}

// forget closes all stores without handles and requests, except the store of this shelf: a program that
// opens and closes one dataset repeatedly finds it open.
func (d *datasets) forget(at *shelf) {
	if at.handles > 0 || at.uses > 0 {
		return
	}
	for _, other := range d.shelves {
		if other.handles == 0 && other.uses == 0 && (other != at || at.store == nil) {
			delete(d.shelves, other.key)
			if other.store != nil {
				_ = other.store.Close() // nothing was written
			}
		}
	}
}

// close closes all stores.
func (d *datasets) close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	var open []*store.Store
	for _, at := range d.shelves {
		if at.store != nil {
			open = append(open, at.store)
		}
	}
	clear(d.shelves)
	return closeAll(open)
}
