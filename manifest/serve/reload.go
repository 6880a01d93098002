package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"varve/manifest/repo"
	"varve/readers/source"
)

// reload looks for new snapshots until ctx is done.
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

// refresh looks for a new snapshot and serves it at the plain address, in the hierarchies in which it extends
// the old one, or in all with Options.FollowAlways. Running requests finish with the snapshot that they started with. If opening or comparing
// fails, the old snapshot stays and the next call tries again.
func (h *Handler) refresh(ctx context.Context, p *mount) {
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
		log.Warn("opening a new snapshot", "snapshot", short(id), "error", err)
		return
	}
	defer next.leave(log)
	found, err := p.compare(ctx, next)
	if err != nil {
		if ctx.Err() == nil {
			log.Warn("comparing a new snapshot with the one that is served", "snapshot", short(id), "error", err)
		}
		return
	}
	// Do not change a hierarchy that is not extended, unless asked: clients that have read documents of the old snapshot
	// would read wrong chunks.
	stale := staleWarning{follows: h.opts.FollowAlways}
	for k, why := range found.held {
		if why != "" {
			stale.add(p.base+hierarchy(k).prefix(), why, p.plain[k].Load().data.Snapshot().ID)
		}
		if why == "" || h.opts.FollowAlways {
			p.setPlain(hierarchy(k), next, log)
			found.held[k] = ""
		}
	}
	p.warned = stale.log(log, p.warned, found.newest, p.own(found.newest))
	// next has users besides this function only if a hierarchy now serves it.
	if next.users.Load() > 1 {
		log.Info("new snapshot", "snapshot", short(found.newest))
	}
	h.setOutlook(p, found)
}

// staleWarning collects the addresses whose snapshot the new one does not extend, so that an append logs one warning,
// and not one for each view of the manifest.
type staleWarning struct {
	follows     bool // they serve the new snapshot anyway
	paths       []string
	why, served string
}

func (w *staleWarning) add(path, why, served string) {
	w.paths, w.why, w.served = append(w.paths, path), why, served
}

// log warns about the addresses, unless the warning before was about the same ones. It returns them.
func (w *staleWarning) log(log *slog.Logger, warned, newest, address string) string {
	paths := strings.Join(w.paths, ", ")
	switch {
	case paths == "" && w.follows:
		return warned
	case paths == "" || paths == warned:
		return paths
	}
	verb := "serves"
	if len(w.paths) > 1 {
		verb = "serve"
	}
	if w.follows {
		log.Warn(fmt.Sprintf("STALE: clients that opened %s read wrong chunks, because it %s %s now, which is no extension of %s: %s; later changes are not logged",
			paths, verb, short(newest), short(w.served), w.why), "new", address)
	} else {
		log.Warn(fmt.Sprintf("STALE: %s still %s %s because %s; restart to serve %s; later snapshots are not logged",
			paths, verb, short(w.served), w.why, short(newest)), "new", address)
	}
	return paths
}

// compare returns, for each hierarchy, why it cannot serve the new snapshot.
func (p *mount) compare(ctx context.Context, next *site) (*outlook, error) {
	found := &outlook{newest: next.data.Snapshot().ID}
	// Hierarchies that serve the same old snapshot share a comparison.
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

// setOutlook makes the result of a comparison visible to pages, redirects and metrics.
func (h *Handler) setOutlook(p *mount, found *outlook) {
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

// currentID returns the id of the current snapshot. A folder is opened again, because it may have been
// replaced by another one. For an object store the open connection is reused.
func currentID(ctx context.Context, dir string, old *site) (id string, err error) {
	if open, ok := old.data.(interface {
		Current(context.Context) (string, error)
	}); ok && source.IsObject(dir) {
		return open.Current(ctx)
	}
	repository, err := repo.Open(ctx, dir)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, repository.Close()) }()
	return repository.Current(ctx)
}
