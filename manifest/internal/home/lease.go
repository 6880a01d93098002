package home

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"sync/atomic"
	"time"

	"varve/readers/source"
)

// The times of leases.
const (
	Life  = time.Minute
	Trust = Life / 2
	Renew = Life / 6
	// rest is the time for the store to complete requests of a failed holder that did not wait for the
	// answers.
	rest = 5 * time.Second
)

// ErrHeld is returned by Take if somebody else has the lease, or had it less than Life ago.
var ErrHeld = errors.New("somebody else has the lease")

// Since is a moment. Its Age is right even if the machine slept, when only the wall clock advances.
type Since time.Time

// Now returns the present moment.
func Now() Since { return Since(time.Now()) }

// Age returns the time since the moment.
func (s Since) Age() time.Duration {
	now, then := time.Now(), time.Time(s)
	return max(now.Sub(then), now.Round(0).Sub(then.Round(0)))
}

// Lease says in an object store who is active. Object stores have no locks that end with the process that holds them. A lease
// is an object that its holder stores again and again, and that counts only if it was stored a short time ago by the clock of
// the store:
//
//	l, err := home.Take(ctx, place, ".varve/claim", errLost)   // excludes others: ErrHeld if they have it
//	l, err := home.Show(ctx, place, "locks/writer-")           // excludes nobody
//	defer l.Release(false)
//
// Times, for an object stored at 0:
//
//	0 ────── Renew ── Renew ── Trust ──────────── Life ───▶
//	                           │                  └ others ignore it, or take it
//	                           └ its holder stops, because it could not renew it
//
// Trust is measured with the clocks of the holder, Life with the clock of the store. So no clocks have to
// agree, and a holder that was suspended finds out before it does anything else.
//
// The content of the object is a random text and the number of the renewal:
//
//	"Q3RCKZ…"      when it was taken
//	"Q3RCKZ… 7"    after 7 renewals
//	""             its holder failed, and left changes behind
type Lease struct {
	place    *source.Place
	key      string
	text     string
	isShared bool
	tookOver bool
	lost     error // the cause of the context's end when another process may have the lease

	ctx    context.Context
	cancel context.CancelCauseFunc
	over   chan struct{} // closed when it is no longer renewed
	since  atomic.Pointer[Since]

	renewals atomic.Int64
}

// Take takes the lease of a key, which only one process holds at a time. It takes over a lease that expired
// or whose holder failed. It also checks that the store respects conditions. The lease's Context ends with
// the cause lost when another process may have the lease.
func Take(ctx context.Context, place *source.Place, key string, lost error) (*Lease, error) {
	l := &Lease{place: place, key: key, lost: lost}
	return l, l.take(ctx)
}

// Show stores an object with a name that starts with prefix. It shows that this process is active, also after
// the end of ctx. It also checks that the store respects conditions.
func Show(ctx context.Context, place *source.Place, prefix string) (*Lease, error) {
	l := &Lease{place: place, key: prefix + rand.Text(), isShared: true}
	return l, l.take(context.WithoutCancel(ctx))
}

func (l *Lease) take(ctx context.Context) error {
	l.text, l.over = rand.Text(), make(chan struct{})
	began := Now()
	err := l.place.Check(ctx, l.key, l.text)
	if errors.Is(err, source.ErrConflict) && !l.isShared {
		began = Now()
		err = l.takeOver(ctx)
	}
	if err != nil {
		l.remove(ctx)
		return err
	}
	l.Renewed(began)
	l.ctx, l.cancel = context.WithCancelCause(ctx)
	go l.renewing()
	return nil
}

// Key returns the key of the object.
func (l *Lease) Key() string { return l.key }

// Context returns a context that ends when the lease is lost or released.
func (l *Lease) Context() context.Context { return l.ctx }

// TookOver reports whether Take found the lease of a process that did not release it.
func (l *Lease) TookOver() bool { return l.tookOver }

// takeOver takes a lease that is empty or expired.
func (l *Lease) takeOver(ctx context.Context) error {
	text, version, err := l.place.ReadVersion(ctx, l.key, maxText)
	var age time.Duration
	if err == nil {
		age, err = l.age(ctx)
	}
	switch {
	case err != nil:
	case len(text) == 0:
		err = wait(ctx, rest-age)
	case age < Life:
		err = source.ErrConflict
	}
	if err == nil {
		l.tookOver = true
		err = l.place.PutIf(ctx, l.key, []byte(l.text), version)
	}
	// Another process has the lease, or had it until now.
	if errors.Is(err, source.ErrConflict) || errors.Is(err, fs.ErrNotExist) {
		return ErrHeld
	}
	return err
}

// maxText bounds the size of the object.
const maxText = 4 << 10

// age returns the age of the stored object by the store's clock: the time from it to an object that age
// stores.
func (l *Lease) age(ctx context.Context) (time.Duration, error) {
	id, err := l.place.Stat(ctx, l.key)
	if err != nil {
		return 0, err
	}
	clock := path.Dir(l.key) + "/clock-" + l.text
	defer l.removing(ctx, clock)
	if err := l.put(ctx, clock, l.text); err != nil {
		return 0, err
	}
	now, err := l.place.Stat(ctx, clock)
	return now.Modified.Sub(id.Modified), err
}

func (l *Lease) put(ctx context.Context, key, text string) error {
	return l.place.Put(ctx, key, strings.NewReader(text), int64(len(text)))
}

// Clock returns the present time of the store's clock: the time at which it stores a shared lease again.
func (l *Lease) Clock(ctx context.Context) (time.Time, error) {
	if err := l.put(ctx, l.key, l.text); err != nil {
		return time.Time{}, err
	}
	id, err := l.place.Stat(ctx, l.key)
	return id.Modified, err
}

// renewing renews the lease every Renew until it is released or lost.
func (l *Lease) renewing() {
	defer close(l.over)
	tick := time.NewTicker(Renew)
	defer tick.Stop()
	for l.Held() == nil {
		select {
		case <-l.ctx.Done():
			return
		case <-tick.C:
		}
		left := Trust
		if !l.isShared {
			left -= l.since.Load().Age()
		}
		ctx, cancel := context.WithTimeout(l.ctx, left)
		_ = l.Renew(ctx) // a later attempt may succeed
		cancel()
	}
}

// Renew stores the object again. It returns the error lost if another process has taken the lease.
func (l *Lease) Renew(ctx context.Context) error {
	began := Now()
	text := fmt.Sprintf("%s %d", l.text, l.renewals.Add(1))
	if l.isShared {
		return l.put(ctx, l.key, text)
	}
	now, version, err := l.place.ReadVersion(ctx, l.key, maxText)
	isTaken := errors.Is(err, fs.ErrNotExist) || err == nil && !strings.HasPrefix(string(now), l.text)
	if err == nil && !isTaken {
		err = l.place.PutIf(ctx, l.key, []byte(text), version)
		isTaken = errors.Is(err, source.ErrConflict)
	}
	if isTaken {
		l.cancel(l.lost)
		return l.lost
	}
	if err == nil {
		l.Renewed(began)
	}
	return err
}

// Renewed notes that the object was stored by a request that began at a moment.
func (l *Lease) Renewed(began Since) { l.since.Store(&began) }

// Held returns the error lost if another process may have the lease. It also ends a lease that was not
// renewed in time, for example because the process or the machine was suspended and no timer has fired yet.
// Nobody takes a shared lease.
func (l *Lease) Held() error {
	if l.isShared {
		return nil
	}
	if l.since.Load().Age() > Trust {
		l.cancel(l.lost)
	}
	if errors.Is(context.Cause(l.ctx), l.lost) {
		return l.lost
	}
	return nil
}

// Release ends the lease: it removes the object. If failed is set, the holder failed and left changes behind:
// then an empty object stays. Release returns the error lost if the lease was lost, and then changes nothing.
// It ignores failures, because the lease soon becomes too old to count.
func (l *Lease) Release(failed bool) error {
	l.cancel(nil) // keeps an earlier cause
	<-l.over
	if !l.isShared && errors.Is(context.Cause(l.ctx), l.lost) {
		return l.lost
	}
	if failed {
		l.empty()
	} else {
		l.remove(l.ctx)
	}
	return nil
}

// mine returns the version of the stored object, and whether it is this lease.
func (l *Lease) mine(ctx context.Context) (version string, ok bool) {
	text, version, err := l.place.ReadVersion(ctx, l.key, maxText)
	return version, err == nil && strings.HasPrefix(string(text), l.text)
}

func (l *Lease) empty() {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(l.ctx), patience)
	defer cancel()
	if version, ok := l.mine(ctx); ok {
		_ = l.place.PutIf(ctx, l.key, nil, version)
	}
}

func (l *Lease) remove(ctx context.Context) {
	// No other process has the name of a shared lease.
	if l.isShared {
		l.removing(ctx, l.key)
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	if _, ok := l.mine(ctx); ok {
		_ = l.place.Remove(ctx, l.key)
	}
}

func (l *Lease) removing(ctx context.Context, key string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	_ = l.place.Remove(ctx, key)
}
