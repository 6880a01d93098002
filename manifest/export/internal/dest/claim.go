package dest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync/atomic"
	"time"

	"varve/manifest/repo"
	"varve/readers/source"
)

// Folder is where a prefix keeps what is no part of an export, and ClaimKey the claim in it.
const (
	Folder   = ".varve"
	ClaimKey = Folder + "/claim"
)

// A claim is renewed again and again, and counts for as long as it is young by the store's own
// clock. Long before that, one that cannot renew it stops.
const (
	claimLife  = time.Minute
	claimTrust = claimLife / 2
	claimRenew = claimLife / 6
	// claimRest is how long the store may take to do what it was asked by an export that failed,
	// and did not wait for the answer.
	claimRest = 5 * time.Second
)

// Claim is an object that says that somebody exports to a prefix. Nobody else writes there as
// long as it is held. An exporter that was killed leaves it, and it grows old; one that failed
// leaves it empty, which says that what is there is the rest of an export.
type Claim struct {
	prefix *Prefix
	text   string
	ctx    context.Context
	cancel context.CancelCauseFunc
	over   chan struct{}
	until  atomic.Pointer[time.Time] // when it is not to be trusted any more
	dirty  atomic.Bool
}

// errLost is why a claim is not held any more.
var errLost = fmt.Errorf("%w: this export stood still, or did not reach the store, for so long that others may go on: export again", repo.ErrBusy)

// Claim takes the prefix, or is repo.ErrBusy. It sees to it that the store heeds conditions.
// What is written goes by the context that is returned, which ends when the claim is lost; from
// then on the prefix stores and removes nothing.
func (p *Prefix) Claim(ctx context.Context) (*Claim, context.Context, error) {
	c := &Claim{prefix: p, text: rand.Text(), over: make(chan struct{})}
	began := time.Now()
	err := p.Check(ctx, ClaimKey, c.text)
	if errors.Is(err, source.ErrConflict) {
		began = time.Now()
		err = c.takeOver(ctx)
	}
	if err != nil {
		c.remove(ctx)
		return nil, nil, err
	}
	c.trust(began)
	c.ctx, c.cancel = context.WithCancelCause(ctx)
	p.claim.Store(c)
	go c.renew()
	return c, c.ctx, nil
}

// trust notes that the claim was stored after a moment.
func (c *Claim) trust(began time.Time) {
	until := began.Add(claimTrust)
	c.until.Store(&until)
}

// check loses the claim if it is not to be trusted any more, as when this process or the whole
// machine stood still, which no timer has noticed yet: others may have taken it.
func (c *Claim) check() error {
	until, now := *c.until.Load(), time.Now()
	if now.After(until) || now.Round(0).After(until.Round(0)) { // which goes on while a machine sleeps
		c.cancel(errLost)
	}
	if c.IsLost() {
		return fmt.Errorf("%s: %w", c.prefix.Name(""), errLost)
	}
	return nil
}

// takeOver takes a claim that nobody holds: it is empty, or old.
func (c *Claim) takeOver(ctx context.Context) error {
	p := c.prefix
	text, version, err := p.ReadVersion(ctx, ClaimKey, maxClaim)
	var age time.Duration
	if err == nil {
		age, err = c.age(ctx)
	}
	switch {
	case err != nil:
	case len(text) == 0:
		err = wait(ctx, claimRest-age)
	case age < claimLife:
		err = source.ErrConflict
	}
	if err == nil {
		c.Dirty() // somebody was, and it still says so
		err = p.PutIf(ctx, ClaimKey, []byte(c.text), version)
	}
	if errors.Is(err, source.ErrConflict) || errors.Is(err, fs.ErrNotExist) { // somebody has it, or had it until now
		err = fmt.Errorf("%s: %w there, or was killed less than %s ago (%s): wait, or export to another place", p.Name(""), repo.ErrBusy, claimLife, p.Name(ClaimKey))
	}
	return err
}

func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// maxClaim bounds what a claim holds.
const maxClaim = 4 << 10

// age is how much older the claim that is there is than an object that is stored now.
func (c *Claim) age(ctx context.Context) (time.Duration, error) {
	p := c.prefix
	id, err := p.Stat(ctx, ClaimKey)
	if err != nil {
		return 0, err
	}
	clock := Folder + "/clock-" + c.text
	defer c.removing(ctx, clock)
	if err := p.Store(ctx, clock, []byte(c.text)); err != nil {
		return 0, err
	}
	now, err := p.Stat(ctx, clock)
	return now.Modified.Sub(id.Modified), err
}

// renew stores the claim again and again, until it is given back or lost.
func (c *Claim) renew() {
	defer close(c.over)
	tick := time.NewTicker(claimRenew)
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-c.ctx.Done():
			return
		case <-tick.C:
		}
		began := time.Now()
		ctx, cancel := context.WithDeadline(c.ctx, *c.until.Load())
		lost, err := c.store(ctx, n)
		cancel()
		if err == nil {
			c.trust(began)
		}
		if lost {
			c.cancel(errLost)
		}
		if c.check() != nil {
			return
		}
	}
}

// store stores the claim if it is still this one.
func (c *Claim) store(ctx context.Context, n int) (lost bool, err error) {
	now, version, err := c.prefix.ReadVersion(ctx, ClaimKey, maxClaim)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !strings.HasPrefix(string(now), c.text) {
		return true, errLost
	}
	if err == nil {
		err = c.prefix.PutIf(ctx, ClaimKey, fmt.Appendf(nil, "%s %d", c.text, n), version)
	}
	return errors.Is(err, source.ErrConflict), err
}

// Dirty notes that something is about to be written.
func (c *Claim) Dirty() { c.dirty.Store(true) }

// IsLost reports whether somebody else may hold the place by now.
func (c *Claim) IsLost() bool { return errors.Is(context.Cause(c.ctx), errLost) }

// Release gives the claim back, and returns what became of an export that ended with an error:
// that the claim was lost, if it was.
func (c *Claim) Release(err error) error {
	c.cancel(nil) // which is no cause if there is one
	<-c.over
	c.prefix.claim.CompareAndSwap(c, nil)
	switch {
	case c.IsLost():
		return fmt.Errorf("%s: %w", c.prefix.Name(""), errLost)
	case err != nil && c.dirty.Load():
		c.empty()
	default:
		c.remove(c.ctx)
	}
	return err
}

// patience is how long cleaning up may take. A claim that cannot be given back grows old.
const patience = 10 * time.Second

// mine returns the version of the claim, if it is this one.
func (c *Claim) mine(ctx context.Context) (version string, ok bool) {
	text, version, err := c.prefix.ReadVersion(ctx, ClaimKey, maxClaim)
	return version, err == nil && strings.HasPrefix(string(text), c.text)
}

func (c *Claim) empty() {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.ctx), patience)
	defer cancel()
	if version, ok := c.mine(ctx); ok {
		_ = c.prefix.PutIf(ctx, ClaimKey, nil, version)
	}
}

func (c *Claim) remove(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	if _, ok := c.mine(ctx); ok {
		_ = c.prefix.Place.Remove(ctx, ClaimKey)
	}
}

// removing removes an object that is no more than looked at.
func (c *Claim) removing(ctx context.Context, key string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	_ = c.prefix.Remove(ctx, key)
}
