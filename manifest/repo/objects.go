package repo

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"varve/manifest"
	"varve/manifest/internal/home"
	"varve/readers/source"
)

// objects stores a repository below a prefix of an object store. Drafts are temporary local files,
// which Finish uploads. current is replaced by a conditional request that names its version, and no
// two states of it are equal:
//
//	{"varve":1,"snapshot":"ID","write":"…"}
//	{"varve":1,"snapshot":"ID","write":"…","sweeping":true}     a GC is removing files
//
// A writer reads current before it checks that the files it needs exist, and before it uploads its
// own. GC replaces current before it removes anything. So a writer whose files may have been removed
// can no longer replace current. That does not depend on any clock, or on how long the writer was
// suspended. Leases (home.Lease) only prevent that such a writer has worked for nothing.
type objects struct {
	*home.Prefix

	mu    sync.Mutex
	sweep *sweep // the mark of the GC that is running; nil if there is none
}

// In object stores two mechanisms keep writers and GC apart. The first is the file current (see objects): it
// alone makes GC safe. The second is leases (home.Lease), which prevent that a GC makes the work of a
// writer useless:
//
//	locks/writer-…   a writer is active
//	locks/gc-…       a GC is looking for writers
//
// A writer first takes a lease and then reads current. GC first marks current and then looks for leases. So at
// least one of them sees the other.
const (
	// sweepLife is how long the mark of a GC counts if it is not renewed. The GC itself stops removing
	// files after sweepTrust, long before that, so that no writer continues while files are removed.
	sweepLife  = 3 * time.Minute
	sweepTrust = sweepLife / 3
	sweepRenew = sweepTrust / 3
)

const (
	writerLease = "writer-"
	sweepLease  = "gc-"
)

func (*objects) needsLook() bool { return false }

func (o *objects) lease(ctx context.Context, kind string) (*home.Lease, error) {
	return home.Show(ctx, o.Place, lockFolder+"/"+kind)
}

func (o *objects) holdOffGC(ctx context.Context) (since pointerState, release func() error, err error) {
	l, err := o.lease(ctx, writerLease)
	if err != nil {
		return since, nil, err
	}
	release = func() error { return l.Release(false) }
	if since, err = o.waitForGCUsing(ctx, l.Clock); err != nil {
		return since, nil, errors.Join(err, release())
	}
	return since, release, nil
}

// waitForGC waits until current has no mark. It removes a mark that is too old to count: the GC that made
// it notices, and stops.
func (o *objects) waitForGC(ctx context.Context) (pointerState, error) {
	return o.waitForGCUsing(ctx, func(ctx context.Context) (time.Time, error) {
		l, err := o.lease(ctx, sweepLease)
		if err != nil {
			return time.Time{}, err
		}
		now, err := l.Clock(ctx)
		return now, errors.Join(err, l.Release(false))
	})
}

// sweepPause is the time between two looks at a mark.
const sweepPause = time.Second

// waitForGCUsing is waitForGC with a function that returns the time of the store's clock. It calls clock,
// which needs requests, only if there is a mark.
func (o *objects) waitForGCUsing(ctx context.Context, clock func(context.Context) (time.Time, error)) (pointerState, error) {
	for {
		now, err := readCurrent(ctx, o)
		if err != nil {
			return now, err
		}
		p, marked := isMarked(now.data)
		if !marked {
			return now, nil
		}
		counts, err := o.isMarkYoung(ctx, clock)
		if err != nil {
			return now, err
		}
		if !counts {
			p.Sweeping = false
			if err := o.replace(ctx, &p, now.version); err != nil && !errors.Is(err, ErrConflict) {
				return now, err
			}
			continue
		}
		// The mark counts: wait for GC to remove it.
		select {
		case <-ctx.Done():
			return now, fmt.Errorf("%s: waiting for gc to end: %w", o.Name(""), ctx.Err())
		case <-time.After(sweepPause):
		}
	}
}

// isMarked decodes the content of current, and reports whether it has the mark of a GC.
func isMarked(data []byte) (p pointer, marked bool) {
	if len(data) == 0 {
		return p, false
	}
	err := json.Unmarshal(data, &p) // Current reports a damaged pointer
	return p, err == nil && p.Sweeping
}

// isMarkYoung reports whether the mark on current is young enough to count.
func (o *objects) isMarkYoung(ctx context.Context, clock func(context.Context) (time.Time, error)) (bool, error) {
	marked, err := o.Stat(ctx, currentName)
	if err != nil {
		return false, err
	}
	now, err := clock(ctx)
	return now.Sub(marked.Modified) < sweepLife, err
}

// sweep is the mark with which a GC may remove files.
type sweep struct {
	mark  pointer
	since home.Since // a moment before the mark was made or renewed
}

func (o *objects) lockForGC(ctx context.Context) (release func() error, err error) {
	l, err := o.lease(ctx, sweepLease)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.Release(false)) }()
	// Look for writers before marking, so that a busy store is not disturbed, and again after it, for
	// writers that came in between.
	if err := o.findWriters(ctx, l); err != nil {
		return nil, err
	}
	now, err := readCurrent(ctx, o)
	if err != nil {
		return nil, err
	}
	if _, marked := isMarked(now.data); marked {
		counts, err := o.isMarkYoung(ctx, l.Clock)
		if err != nil {
			return nil, err
		}
		if counts {
			return nil, fmt.Errorf("%w: another gc started less than %s ago", ErrBusy, sweepLife)
		}
	}
	var p pointer
	if err := json.Unmarshal(now.data, &p); err != nil {
		return nil, &manifest.DamageError{Name: o.Name(currentName), Damage: manifest.FileCorrupt, Detail: err.Error()}
	}
	if err := o.mark(ctx, p, now.version); err != nil {
		return nil, err
	}
	if err := o.findWriters(ctx, l); err != nil {
		return nil, errors.Join(err, o.unmark(ctx))
	}
	return func() error { return o.unmark(ctx) }, nil
}

// findWriters returns ErrBusy if a writer has a lease that counts. It removes leases that have not counted
// for some time.
func (o *objects) findWriters(ctx context.Context, own *home.Lease) error {
	// Renew our own lease: its time in the listing is the store's present time.
	if _, err := own.Clock(ctx); err != nil {
		return err
	}
	var entries []source.Entry
	var now time.Time
	for e, err := range o.List(ctx, lockFolder) {
		if err != nil {
			return err
		}
		if lockFolder+"/"+e.Name == own.Key() {
			now = e.Modified
		}
		entries = append(entries, e)
	}
	if now.IsZero() {
		return fmt.Errorf("%s: the store's listing lacks this object, which was just stored, or its time, so gc cannot see whether anybody writes", o.Name(own.Key()))
	}
	for _, e := range entries {
		age := now.Sub(e.Modified)
		switch {
		case age > 2*home.Life:
			if _, err := o.Remove(ctx, lockFolder+"/"+e.Name); err != nil {
				return err
			}
		case strings.HasPrefix(e.Name, writerLease) && age <= home.Life:
			return fmt.Errorf("%w, or did so less than %s ago (%s)", ErrBusy, home.Life, o.Name(lockFolder+"/"+e.Name))
		}
	}
	return nil
}

// mark announces in current that files are being removed from now on.
func (o *objects) mark(ctx context.Context, p pointer, version string) error {
	// Take the time before the request: the mark must not seem younger than it is.
	since := home.Now()
	p.Sweeping = true
	if err := o.replace(ctx, &p, version); err != nil {
		if errors.Is(err, ErrConflict) {
			err = ErrBusy // somebody published, or another GC removes files
		}
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.sweep = &sweep{p, since}
	return nil
}

// keep replaces current, and keeps its mark.
func (o *objects) keep(ctx context.Context, p *pointer) error { return o.renew(ctx, *p) }

// renew makes the mark again, with the other fields of p.
func (o *objects) renew(ctx context.Context, p pointer) error {
	o.mu.Lock()
	s := o.sweep
	o.mu.Unlock()
	now, err := readCurrent(ctx, o)
	if err != nil {
		return err
	}
	if marked, _ := isMarked(now.data); marked.Write != s.mark.Write {
		return fmt.Errorf("%w: gc was suspended for so long that writers continued", ErrBusy)
	}
	return o.mark(ctx, p, now.version)
}

// swapCurrent replaces the state of current that waitForGC or holdOffGC returned.
func (o *objects) swapCurrent(ctx context.Context, since pointerState, p *pointer) error {
	return o.replace(ctx, p, since.version)
}

// replace stores a new state of current, with a Write that no earlier state had.
func (o *objects) replace(ctx context.Context, p *pointer, version string) error {
	p.Write = rand.Text()
	return replaceCurrent(ctx, o, p, version)
}

// Remove removes files. A GC removes as many at a time as it can within the time of its mark.
func (o *objects) Remove(ctx context.Context, names ...string) (n int, err error) {
	for n < len(names) {
		removed, err := o.removeSome(ctx, names[n:min(len(names), n+removedAtOnce)])
		if n += removed; err != nil && removed == 0 { // otherwise the mark may have become too old, and is renewed
			return n, err
		}
	}
	return n, nil
}

// removedAtOnce is the number of files that a GC removes before it looks at the time again.
const removedAtOnce = 1000

func (o *objects) removeSome(ctx context.Context, names []string) (int, error) {
	ctx, cancel, err := o.mayRemove(ctx)
	if err != nil {
		return 0, err
	}
	defer cancel()
	return o.Prefix.Remove(ctx, names...)
}

// mayRemove renews the mark if it is old. It returns a context that ends before the mark is so old that
// writers ignore it, as they do if this process was suspended.
func (o *objects) mayRemove(ctx context.Context) (context.Context, context.CancelFunc, error) {
	o.mu.Lock()
	s := o.sweep
	o.mu.Unlock()
	if s == nil { // no GC: the caller removes its own files
		return ctx, func() {}, nil
	}
	if s.since.Age() > sweepRenew {
		if err := o.renew(ctx, s.mark); err != nil {
			return nil, nil, err
		}
		return o.mayRemove(ctx)
	}
	within, cancel := context.WithTimeoutCause(ctx, sweepTrust-s.since.Age(), fmt.Errorf("%w: gc did not finish in time", ErrBusy))
	return within, cancel, nil
}

// unmarkPatience is the time limit for removing a mark.
const unmarkPatience = 10 * time.Second

// unmark removes the mark from current, unless somebody else has done so.
func (o *objects) unmark(ctx context.Context) error {
	o.mu.Lock()
	s := o.sweep
	o.sweep = nil
	o.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), unmarkPatience)
	defer cancel()
	now, err := readCurrent(ctx, o)
	if err != nil {
		return err
	}
	p, marked := isMarked(now.data)
	if !marked || p.Write != s.mark.Write {
		return nil
	}
	p.Sweeping = false
	if err := o.replace(ctx, &p, now.version); !errors.Is(err, ErrConflict) {
		return err
	}
	return nil
}
