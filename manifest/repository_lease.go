package manifest

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// In object stores there are no locks that end with the process that holds them. What keeps
// writers and those who remove files apart is, first, current, which see objects; that alone
// makes it safe. Second, so that nobody's work is lost for it, writers hold leases: objects
// that they store again and again, and that count for as long as they are young.
//
//	locks/writer-…   a writer is at work
//	locks/gc-…       somebody looks whether there are writers
//
// A writer first takes a lease and then looks at current; whoever removes files first marks
// current and then looks for leases. So one sees the other. The age of a lease is told by the
// store's own clock: how much older it is than one that was taken just now.
const (
	leaseLife  = time.Minute
	leaseRenew = leaseLife / 4
	// sweepLife is how long the mark counts of one who removes files, and does not renew it.
	// Long before that he removes nothing any more.
	sweepLife  = 3 * time.Minute
	sweepTrust = sweepLife / 3
	sweepRenew = sweepTrust / 3
)

const (
	lockFolder  = "locks"
	writerLease = "writer-"
	sweepLease  = "gc-"
)

// lease is an object that says that somebody is at work.
type lease struct {
	home *objects
	name string // in the folder of locks
	text string
	stop context.CancelFunc
	over chan struct{}
}

// lease takes a lease, and sees to it that the store heeds conditions.
func (o *objects) lease(ctx context.Context, kind string) (*lease, error) {
	l := &lease{home: o, name: kind + rand.Text(), text: rand.Text(), over: make(chan struct{})}
	if err := o.place.Check(ctx, l.key(), l.text); err != nil {
		l.remove()
		return nil, err
	}
	within, stop := context.WithCancel(context.WithoutCancel(ctx))
	l.stop = stop
	go l.renew(within)
	return l, nil
}

func (l *lease) key() string { return lockFolder + "/" + l.name }

// renew stores the lease again and again. That it fails now and then does no harm.
func (l *lease) renew(ctx context.Context) {
	defer close(l.over)
	tick := time.NewTicker(leaseRenew)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			_ = l.store(ctx)
		}
	}
}

func (l *lease) store(ctx context.Context) error {
	return l.home.place.Put(ctx, l.key(), strings.NewReader(l.text), int64(len(l.text)))
}

// release gives the lease back. One that cannot be removed grows old.
func (l *lease) release() error {
	l.stop()
	<-l.over
	l.remove()
	return nil
}

const leasePatience = 10 * time.Second

func (l *lease) remove() {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(l.home.life), leasePatience)
	defer cancel()
	_ = l.home.place.Remove(ctx, l.key())
}

// clock tells the time by the store's clock.
func (l *lease) clock(ctx context.Context) (time.Time, error) {
	if err := l.store(ctx); err != nil {
		return time.Time{}, err
	}
	id, err := l.home.place.Stat(ctx, l.key())
	return id.Modified, err
}

func (o *objects) share(ctx context.Context) (func() error, error) {
	l, err := o.lease(ctx, writerLease)
	if err != nil {
		return nil, err
	}
	if _, err := o.settleBy(ctx, l.clock); err != nil {
		return nil, errors.Join(err, l.release())
	}
	return l.release, nil
}

// settle waits until current has no mark, or one that does not count any more, which is then
// removed: who made it finds out and removes nothing.
func (o *objects) settle(ctx context.Context) (settled, error) {
	return o.settleBy(ctx, func(ctx context.Context) (time.Time, error) {
		l, err := o.lease(ctx, sweepLease)
		if err != nil {
			return time.Time{}, err
		}
		now, err := l.clock(ctx)
		return now, errors.Join(err, l.release())
	})
}

// sweepPause is the time between two looks at a mark.
const sweepPause = time.Second

func (o *objects) settleBy(ctx context.Context, clock func(context.Context) (time.Time, error)) (settled, error) {
	for {
		now, err := o.now(ctx)
		if err != nil {
			return now, err
		}
		p, marked := isMarked(now.data)
		if !marked {
			return now, nil
		}
		counts, err := o.counts(ctx, clock)
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
		select {
		case <-ctx.Done():
			return now, fmt.Errorf("%s: waiting for gc to end: %w", o.path(""), ctx.Err())
		case <-time.After(sweepPause):
		}
	}
}

// isMarked reports whether somebody removes files, or did so when he was last heard of.
func isMarked(data []byte) (p pointer, marked bool) {
	if len(data) == 0 {
		return p, false
	}
	err := json.Unmarshal(data, &p) // what is no pointer, Current complains of
	return p, err == nil && p.Sweeping
}

// counts reports whether the mark is young enough.
func (o *objects) counts(ctx context.Context, clock func(context.Context) (time.Time, error)) (bool, error) {
	marked, err := o.place.Stat(ctx, currentName)
	if err != nil {
		return false, err
	}
	now, err := clock(ctx)
	return now.Sub(marked.Modified) < sweepLife, err
}

// sweep is the removal of files, under a mark.
type sweep struct {
	mark  pointer
	since time.Time // when it was made or renewed, at the latest
}

func (o *objects) exclude(ctx context.Context) (release func() error, err error) {
	l, err := o.lease(ctx, sweepLease)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.release()) }()
	if err := o.findWriters(ctx, l); err != nil {
		return nil, err
	}
	now, err := o.now(ctx)
	if err != nil {
		return nil, err
	}
	if _, marked := isMarked(now.data); marked {
		counts, err := o.counts(ctx, l.clock)
		if err != nil {
			return nil, err
		}
		if counts {
			return nil, fmt.Errorf("%w: another gc has been at work for less than %s", ErrBusy, sweepLife)
		}
	}
	var p pointer
	if err := json.Unmarshal(now.data, &p); err != nil {
		return nil, &DamageError{o.path(currentName), Altered, err.Error()}
	}
	if err := o.mark(ctx, p, now.version); err != nil {
		return nil, err
	}
	if err := o.findWriters(ctx, l); err != nil {
		return nil, errors.Join(err, o.unmark())
	}
	return o.unmark, nil
}

// findWriters is ErrBusy if there is a lease that counts. Those that have not for long are
// removed.
func (o *objects) findWriters(ctx context.Context, own *lease) error {
	if _, err := own.clock(ctx); err != nil {
		return err
	}
	entries, err := o.list(ctx, lockFolder)
	if err != nil {
		return err
	}
	var now time.Time
	for _, e := range entries {
		if e.name == own.name {
			now = e.modified
		}
	}
	if now.IsZero() {
		return fmt.Errorf("%s: the store does not list what was stored just now, or not when: gc cannot tell whether anybody writes", o.path(own.key()))
	}
	for _, e := range entries {
		age := now.Sub(e.modified)
		switch {
		case age > 2*leaseLife:
			if _, err := o.remove(ctx, lockFolder+"/"+e.name); err != nil {
				return err
			}
		case strings.HasPrefix(e.name, writerLease) && age <= leaseLife:
			return fmt.Errorf("%w, or was so less than %s ago (%s)", ErrBusy, leaseLife, o.path(lockFolder+"/"+e.name))
		}
	}
	return nil
}

// mark says that files are removed from now on.
func (o *objects) mark(ctx context.Context, p pointer, version string) error {
	since := time.Now()
	p.Sweeping = true
	if err := o.replace(ctx, &p, version); err != nil {
		if errors.Is(err, ErrConflict) {
			err = ErrBusy // somebody published, or removes files
		}
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.sweep = &sweep{p, since}
	return nil
}

// mayRemove renews the mark if it is time to, and ends when it is not to be trusted any more:
// a process that stood still may have been given up by all others.
func (o *objects) mayRemove(ctx context.Context) (context.Context, context.CancelFunc, error) {
	o.mu.Lock()
	s := o.sweep
	o.mu.Unlock()
	if s == nil { // what is removed is the caller's own
		return ctx, func() {}, nil
	}
	if s.age() > sweepRenew {
		now, err := o.now(ctx)
		if err != nil {
			return nil, nil, err
		}
		if p, _ := isMarked(now.data); p.Write != s.mark.Write {
			return nil, nil, fmt.Errorf("%w: gc stood still for so long that others went on", ErrBusy)
		}
		if err := o.mark(ctx, s.mark, now.version); err != nil {
			return nil, nil, err
		}
		return o.mayRemove(ctx)
	}
	within, cancel := context.WithTimeoutCause(ctx, sweepTrust-s.age(), fmt.Errorf("%w: gc takes too long", ErrBusy))
	return within, cancel, nil
}

// age is how long ago the mark was made, also if the machine slept meanwhile.
func (s *sweep) age() time.Duration {
	now := time.Now()
	return max(now.Sub(s.since), now.Round(0).Sub(s.since.Round(0)))
}

// unmark says that no files are removed any more, unless that has been said already.
func (o *objects) unmark() error {
	o.mu.Lock()
	s := o.sweep
	o.sweep = nil
	o.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(o.life), leasePatience)
	defer cancel()
	now, err := o.now(ctx)
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
