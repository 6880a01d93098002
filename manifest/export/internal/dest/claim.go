package dest

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"varve/manifest/internal/lease"
	"varve/manifest/repo"
)

// Folder contains objects of varve that are no part of an export. ClaimKey is the key of the claim.
const (
	Folder   = ".varve"
	ClaimKey = Folder + "/claim"
)

// Claim reserves a prefix for one export. If the exporter is killed, the claim expires. If an export fails after it
// changed the prefix, the claim stays as an empty object: the other objects are the rest of that export.
type Claim struct {
	prefix *Prefix
	lease  *lease.Lease
	dirty  atomic.Bool
}

// errLost is the error of a claim that expired or that another process took.
var errLost = fmt.Errorf("%w: this export was suspended, or did not reach the store, for so long that another export may have begun: export again", repo.ErrBusy)

// Claim reserves the prefix, or returns repo.ErrBusy. It checks that the store respects conditions. Write with the returned
// context: it is cancelled when the claim is lost. After that, the prefix stores and removes nothing.
func (p *Prefix) Claim(ctx context.Context) (*Claim, context.Context, error) {
	l, err := lease.Take(ctx, p.Place, ClaimKey, errLost)
	if errors.Is(err, lease.ErrHeld) {
		err = fmt.Errorf("%s: %w there, or was killed less than %s ago (%s): wait, or export to another place", p.Name(""), repo.ErrBusy, lease.Life, p.Name(ClaimKey))
	}
	if err != nil {
		return nil, nil, err
	}
	c := &Claim{prefix: p, lease: l}
	c.dirty.Store(l.TookOver()) // the prefix has the rest of another export
	p.claim.Store(c)
	return c, l.Context(), nil
}

// check returns an error if the claim is lost.
func (c *Claim) check() error {
	if err := c.lease.Held(); err != nil {
		return fmt.Errorf("%s: %w", c.prefix.Name(""), err)
	}
	return nil
}

// Dirty notes that the export is about to change the prefix.
func (c *Claim) Dirty() { c.dirty.Store(true) }

// IsLost reports whether another process may have the prefix by now.
func (c *Claim) IsLost() bool { return c.lease.Held() != nil }

// Release releases the claim at the end of an export. err is the error of the export. Release returns it, or the reason if
// the claim was lost.
func (c *Claim) Release(err error) error {
	lost := c.lease.Release(err != nil && c.dirty.Load())
	c.prefix.claim.CompareAndSwap(c, nil)
	if lost != nil {
		return fmt.Errorf("%s: %w", c.prefix.Name(""), lost)
	}
	return err
}
