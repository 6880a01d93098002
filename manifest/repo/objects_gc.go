package repo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"varve/manifest"
	"varve/manifest/internal/lease"
)

// In object stores two mechanisms keep writers and GC apart. The first is the file current (see objects): it
// alone makes GC safe. The second is leases (package lease), which prevent that a GC makes the work of a
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
	lockFolder  = "locks"
	writerLease = "writer-"
	sweepLease  = "gc-"
)

func (o *objects) lease(ctx context.Context, kind string) (*lease.Lease, error) {
	return lease.Show(ctx, o.place, lockFolder+"/"+kind)
}

func (o *objects) holdOffGC(ctx context.Context) (func() error, error) {
	l, err := o.lease(ctx, writerLease)
	if err != nil {
		return nil, err
	}
	release := func() error { return l.Release(false) }
	if _, err := o.waitForGCUsing(ctx, l.Clock); err != nil {
		return nil, errors.Join(err, release())
	}
	return release, nil
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
		now, err := o.readCurrent(ctx)
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
			return now, fmt.Errorf("%s: waiting for gc to end: %w", o.path(""), ctx.Err())
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
	marked, err := o.place.Stat(ctx, currentName)
	if err != nil {
		return false, err
	}
	now, err := clock(ctx)
	return now.Sub(marked.Modified) < sweepLife, err
}

// sweep is the mark with which a GC may remove files.
type sweep struct {
	mark  pointer
	since lease.Since // a moment before the mark was made or renewed
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
	now, err := o.readCurrent(ctx)
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
		return nil, &manifest.DamageError{Name: o.path(currentName), Damage: manifest.FileCorrupt, Detail: err.Error()}
	}
	if err := o.mark(ctx, p, now.version); err != nil {
		return nil, err
	}
	if err := o.findWriters(ctx, l); err != nil {
		return nil, errors.Join(err, o.unmark())
	}
	return o.unmark, nil
}

// findWriters returns ErrBusy if a writer has a lease that counts. It removes leases that have not counted
// for some time.
func (o *objects) findWriters(ctx context.Context, own *lease.Lease) error {
	// Renew our own lease: its time in the listing is the store's present time.
	if _, err := own.Clock(ctx); err != nil {
		return err
	}
	entries, err := o.list(ctx, lockFolder)
	if err != nil {
		return err
	}
	var now time.Time
	for _, e := range entries {
		if lockFolder+"/"+e.name == own.Key() {
			now = e.modified
		}
	}
	if now.IsZero() {
		return fmt.Errorf("%s: the store's listing lacks this object, which was just stored, or its time, so gc cannot see whether anybody writes", o.path(own.Key()))
	}
	for _, e := range entries {
		age := now.Sub(e.modified)
		switch {
		case age > 2*lease.Life:
			if _, err := o.remove(ctx, lockFolder+"/"+e.name); err != nil {
				return err
			}
		case strings.HasPrefix(e.name, writerLease) && age <= lease.Life:
			return fmt.Errorf("%w, or did so less than %s ago (%s)", ErrBusy, lease.Life, o.path(lockFolder+"/"+e.name))
		}
	}
	return nil
}

// mark announces in current that files are being removed from now on.
func (o *objects) mark(ctx context.Context, p pointer, version string) error {
	// Take the time before the request: the mark must not seem younger than it is.
	since := lease.Now()
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
func (o *objects) keep(ctx context.Context, old, new []byte) error {
	var p pointer
	if err := json.Unmarshal(new, &p); err != nil {
		return err
	}
	return o.renew(ctx, p)
}

// renew makes the mark again, with the other fields of p.
func (o *objects) renew(ctx context.Context, p pointer) error {
	o.mu.Lock()
	s := o.sweep
	o.mu.Unlock()
	now, err := o.readCurrent(ctx)
	if err != nil {
		return err
	}
	if marked, _ := isMarked(now.data); marked.Write != s.mark.Write {
		return fmt.Errorf("%w: gc was suspended for so long that writers continued", ErrBusy)
	}
	return o.mark(ctx, p, now.version)
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
func (o *objects) unmark() error {
	o.mu.Lock()
	s := o.sweep
	o.sweep = nil
	o.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(o.life), unmarkPatience)
	defer cancel()
	now, err := o.readCurrent(ctx)
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
