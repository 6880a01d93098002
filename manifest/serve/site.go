package serve

import (
	"log/slog"
	"net/http"
	"strings"
	"sync"
)

// site is one snapshot of a manifest, ready to be served. It is closed when nobody holds it any
// more: neither an address that leads to it nor a request that found it there.
type site struct {
	name    string // of the manifest; empty for the only one
	data    dataset
	nodes   []node
	v3      *view
	cut     map[string]bool // what is left of keys in URLs that a # in a name ends
	v2      func() (*view, error)
	regular func() (*view, error)
	origins origins
	*limits

	users users // requests, addresses, and whoever opened it
}

func newSite(name string, data dataset, l *limits, log *slog.Logger) (*site, error) {
	nodes, left := withoutKeys(nodesOf(data.Groups(), data.Members()))
	for _, why := range left {
		log.Warn("not served", "why", why)
	}
	for _, n := range nodes {
		if n.unlisted != nil {
			log.Warn("not listed in groups", "why", n.unlisted)
		}
	}
	tag := data.Snapshot().ID
	v3, err := newV3(nodes, tag)
	if err != nil {
		return nil, err
	}
	s := &site{name: name, data: data, nodes: nodes, v3: v3, cut: cutKeys(nodes), origins: newOrigins(), limits: l}
	s.v2 = sync.OnceValues(func() (*view, error) { return newV2(nodes, tag) })
	s.regular = sync.OnceValues(func() (*view, error) { return newRegular(nodes, tag, data.Once) })
	s.users.Store(1)
	return s, nil
}

// enter reports whether the site is open, and keeps it so until leave.
func (s *site) enter() bool { return s.users.enter() }

func (s *site) leave(log *slog.Logger) {
	if s.users.Add(-1) > 0 {
		return
	}
	s.origins.close()
	if err := s.data.Close(); err != nil {
		log.Warn("closing a manifest", "name", s.name, "error", err)
	}
}

// hierarchy is one of the views that a snapshot is served as.
type hierarchy int

const (
	inFull    hierarchy = iota // format 3
	inV2                       // format 2
	inRegular                  // format 3, regular grids only
	hierarchies
)

// prefix is what the keys of a hierarchy begin with.
func (k hierarchy) prefix() string { return [hierarchies]string{"", "v2/", "regular/"}[k] }

// hierarchyOf returns the hierarchy that a key is of, and the key within it.
func hierarchyOf(key string) (k hierarchy, below string) {
	for k := inV2; k < hierarchies; k++ {
		if below, ok := strings.CutPrefix(key, k.prefix()); ok {
			return k, below
		}
	}
	return inFull, key
}

// ask returns a hierarchy for a client, and logs what is not in it when the first one asks.
func (s *site) ask(k hierarchy, log *slog.Logger) (*view, error) {
	v, err := s.view(k)
	if err == nil && !v.asked.Swap(true) {
		for _, why := range v.left {
			log.Info("not in the view", "view", strings.Trim(k.prefix(), "/"), "why", why)
		}
	}
	return v, err
}

// view returns a hierarchy, which is made when it is first needed.
func (s *site) view(k hierarchy) (*view, error) {
	switch k {
	case inV2:
		return s.v2()
	case inRegular:
		return s.regular()
	}
	return s.v3, nil
}

// fail answers with what is to be told of an error. Where the snapshot was removed meanwhile that
// is why tables are missing, and not that they are damaged.
func (s *site) fail(w http.ResponseWriter, r *http.Request, err error) {
	if isGone(err) {
		if kept, failed := s.data.IsKept(r.Context()); !kept && failed == nil {
			err = goneError(s.data.Snapshot().ID)
		}
	}
	fail(w, r, err)
}

// cutKeys are what a server sees of the keys below nodes whose names have a #, where clients do
// not escape it: in a URL it ends the path.
func cutKeys(nodes []node) map[string]bool {
	cut := map[string]bool{}
	for _, n := range nodes {
		if left, _, found := strings.Cut(n.path, "#"); found {
			cut[left], cut[unescaped(left)] = true, true
		}
	}
	return cut
}
