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

// refresh looks for a snapshot that was published since, and has the hierarchies at the plain
// address be of it where it extends what they are of. Requests under way finish with the one
// that they found. What cannot be opened is tried again, and the old one goes on.
func (h *Handler) refresh(ctx context.Context, p *standing) {
	log := h.opts.Log.With("manifest", p.dir)
	id, err := currentID(ctx, p.dir, p.plain[inFull].Load())
	if err != nil {
		if ctx.Err() == nil {
			log.Warn("looking for a new snapshot", "error", err)
		}
		return
	}
	if id == p.outlook.Load().newest {
		return
	}
	next, err := h.load(ctx, p, h.opts.Store)
	if err != nil {
		log.Warn("opening a new snapshot", "snapshot", id, "error", err)
		return
	}
	defer next.leave(log)
	found, err := p.compare(ctx, next)
	if err != nil {
		if ctx.Err() == nil {
			log.Warn("comparing a new snapshot with the one that is served", "snapshot", id, "error", err)
		}
		return
	}
	for k, why := range found.held {
		if why == "" {
			p.lead(hierarchy(k), next, log)
			continue
		}
		log.Warn("the new snapshot does not extend the one that is served here, which goes on: open clients anew at the address of the new one, or restart the server",
			"path", p.base+hierarchy(k).prefix(), "why", why, "served", p.own(p.plain[k].Load().data.Snapshot().ID), "new", p.own(found.newest))
	}
	if next.users.Load() > 1 {
		log.Info("new snapshot", "snapshot", found.newest)
	}
	h.told(p, found)
}

// compare finds out which hierarchies may be of a new snapshot.
func (p *standing) compare(ctx context.Context, next *site) (*outlook, error) {
	found := &outlook{newest: next.data.Snapshot().ID}
	compared := map[*site]*extension{}
	for k := range hierarchies {
		old := p.plain[k].Load()
		if old.data.Snapshot().ID == found.newest {
			continue
		}
		x := compared[old]
		if x == nil {
			x = newExtension(old, next)
			compared[old] = x
		}
		var err error
		if found.held[k], err = x.check(ctx, k); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// told has all who ask be told of what was found.
func (h *Handler) told(p *standing, found *outlook) {
	p.outlook.Store(found)
	h.metrics.arrays.WithLabelValues(p.dir).Set(float64(len(p.plain[inFull].Load().v3.arrays)))
	for k, why := range found.held {
		held := 0.0
		if why != "" {
			held = 1
		}
		h.metrics.held.WithLabelValues(p.dir, p.base+hierarchy(k).prefix()).Set(held)
	}
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
