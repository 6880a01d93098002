package serve

import (
	"context"
	"errors"
	"time"

	"varve/manifest"
	"varve/readers/source"
)

// reload looks for new snapshots until it is stopped.
func (h *Handler) reload(ctx context.Context) {
	tick := time.NewTicker(h.opts.Reload)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for _, p := range h.places {
			h.refresh(ctx, p)
		}
	}
}

// refresh changes to a snapshot that was published since. Requests under way finish with the
// one that they found. What cannot be opened is tried again, and the old one goes on.
func (h *Handler) refresh(ctx context.Context, p *standing) {
	old := p.site.Load()
	if old == nil {
		return
	}
	id, err := currentID(ctx, p.dir, old)
	if err != nil || id == old.data.Snapshot().ID {
		if err != nil && ctx.Err() == nil {
			h.opts.Log.Warn("looking for a new snapshot", "manifest", p.dir, "error", err)
		}
		return
	}
	next, err := h.load(ctx, p)
	if err != nil {
		h.opts.Log.Warn("opening a new snapshot", "manifest", p.dir, "snapshot", id, "error", err)
		return
	}
	h.opts.Log.Info("new snapshot", "manifest", p.dir, "snapshot", id)
	p.site.Store(next)
	old.leave(h.opts.Log)
}

// currentID asks which snapshot is current. A folder may have been replaced by another, and is
// opened for it; of an object store the one that is open is asked, with its connections.
func currentID(ctx context.Context, dir string, old *site) (id string, err error) {
	if open, ok := old.data.(interface {
		Current(context.Context) (string, error)
	}); ok && source.IsObject(dir) {
		return open.Current(ctx)
	}
	repo, err := manifest.Open(ctx, dir)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, repo.Close()) }()
	return repo.Current(ctx)
}
