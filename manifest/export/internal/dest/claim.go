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

// Folder contains objects of varve that are no part of an export. ClaimKey is the key of the claim.
const (
	Folder   = ".varve"
	ClaimKey = Folder + "/claim"
)

// The owner renews a claim every claimRenew. Others respect it until it is older than claimLife by the store's clock. An
// owner that cannot renew it stops after claimTrust, long before others take the claim.
const (
	claimLife  = time.Minute
	claimTrust = claimLife / 2
	claimRenew = claimLife / 6
	// claimRest is the time for the store to complete requests of a failed export that did not wait for the answers.
	claimRest = 5 * time.Second
)

// Claim is an object that reserves a prefix for one export. If the exporter is killed, the claim stays and expires after
// claimLife. If an export fails after it changed the prefix, the claim stays as an empty object: the other objects are
// the rest of that export.
type Claim struct {
	prefix *Prefix
	text   string
	ctx    context.Context
	cancel context.CancelCauseFunc
	over   chan struct{}
	until  atomic.Pointer[time.Time] // the claim must not be trusted after this time
	dirty  atomic.Bool
}

// errLost is the error of a claim that expired or that another process took.
var errLost = fmt.Errorf("%w: this export was suspended, or did not reach the store, for so long that another export may have begun: export again", repo.ErrBusy)

// Claim reserves the prefix, or returns repo.ErrBusy. It checks that the store respects conditions. Write with the returned
// context: it is cancelled when the claim is lost. After that, the prefix stores and removes nothing.
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

// trust extends the claim after it was stored by a request that began at a time.
func (c *Claim) trust(began time.Time) {
	until := began.Add(claimTrust)
	c.until.Store(&until)
}

// check returns an error if the claim is lost. It also ends a claim that is too old, for example because the process or the
// machine was suspended and no timer has fired yet: another process may have taken the claim.
func (c *Claim) check() error {
	until, now := *c.until.Load(), time.Now()
	if now.After(until) || now.Round(0).After(until.Round(0)) { // the wall clock runs while a machine sleeps
		c.cancel(errLost)
	}
	if c.IsLost() {
		return fmt.Errorf("%s: %w", c.prefix.Name(""), errLost)
	}
	return nil
}

// takeOver takes a claim that is empty or expired.
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
		c.Dirty() // the prefix has the rest of another export
		err = p.PutIf(ctx, ClaimKey, []byte(c.text), version)
	}
	if errors.Is(err, source.ErrConflict) || errors.Is(err, fs.ErrNotExist) { // another process has the claim, or had it until now
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

// maxClaim bounds the size of a claim.
const maxClaim = 4 << 10

// age returns the age of the stored claim by the store's clock: the time from the claim to an object that age stores.
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

// renew stores the claim every claimRenew until it is released or lost.
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

// store renews the claim in the store, unless another process has taken it.
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

// Dirty notes that the export is about to change the prefix.
func (c *Claim) Dirty() { c.dirty.Store(true) }

// IsLost reports whether another process may have the prefix by now.
func (c *Claim) IsLost() bool { return errors.Is(context.Cause(c.ctx), errLost) }

// Release releases the claim at the end of an export. err is the error of the export. Release returns it, or the reason if
// the claim was lost.
func (c *Claim) Release(err error) error {
	c.cancel(nil) // keeps an earlier cause
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

// patience is the time limit for cleaning up. A claim that cannot be removed expires.
const patience = 10 * time.Second

// mine returns the version of the stored claim, and whether it is this one.
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

// removing removes a temporary object. It ignores errors.
func (c *Claim) removing(ctx context.Context, key string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	_ = c.prefix.Remove(ctx, key)
}
