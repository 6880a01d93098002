package serve

import (
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
)

// site is one snapshot of a manifest, ready to be served. It is closed when the last request
// that found it is answered.
type site struct {
	name     string // below which it stands; empty for the root
	data     dataset
	nodes    []node
	v3       *view
	cut      map[string]bool // what is left of keys in URLs that a # in a name ends
	v2       func() (*view, error)
	regular  func() (*view, error)
	origins  origins
	rebuilds *turns

	users atomic.Int64 // requests, and 1 until there is a newer snapshot
}

func newSite(name string, data dataset, rebuilds *turns, log *slog.Logger) (*site, error) {
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
	s := &site{name: name, data: data, nodes: nodes, v3: v3, cut: cutKeys(nodes), rebuilds: rebuilds}
	s.v2 = sync.OnceValues(func() (*view, error) { return logged(log, "v2", newV2, nodes, tag) })
	s.regular = sync.OnceValues(func() (*view, error) {
		return logged(log, "regular", func(nodes []node, tag string) (*view, error) { return newRegular(nodes, tag, data.Once) }, nodes, tag)
	})
	s.users.Store(1)
	return s, nil
}

// logged makes a view and says what is not in it.
func logged(log *slog.Logger, name string, make func([]node, string) (*view, error), nodes []node, tag string) (*view, error) {
	v, err := make(nodes, tag)
	if err != nil {
		return nil, err
	}
	for _, why := range v.left {
		log.Info("not in the view", "view", name, "why", why)
	}
	return v, nil
}

// enter reports whether the site is open, and keeps it so until leave.
func (s *site) enter() bool {
	for {
		n := s.users.Load()
		if n == 0 {
			return false
		}
		if s.users.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

func (s *site) leave(log *slog.Logger) {
	if s.users.Add(-1) > 0 {
		return
	}
	s.origins.close()
	if err := s.data.Close(); err != nil {
		log.Warn("closing a manifest", "name", s.name, "error", err)
	}
}

// serve answers for a path below the site's own, without the first slash.
func (s *site) serve(w http.ResponseWriter, r *http.Request, p string) {
	if s.serveKey(w, r, p) {
		return
	}
	// A client that does not escape a percent sign in a name means the path as it stands.
	if raw := s.rawPath(r); raw != p && s.serveKey(w, r, raw) {
		return
	}
	asked := p
	if r.URL.RawQuery != "" {
		// Nor does it escape a question mark.
		asked += "?" + query(r)
		if s.serveKey(w, r, asked) {
			return
		}
	}
	if s.servePage(w, r, p) {
		return
	}
	note(w, kindOther)
	if first, below, _ := strings.Cut(asked, "/"); s.cut[asked] || (first == "v2" || first == "regular") && s.cut[below] {
		refuse(w, r, errCut)
		return
	}
	refuse(w, r, errNoKey)
}

// query is what stands behind the question mark, as text.
func query(r *http.Request) string {
	if text, err := url.PathUnescape(r.URL.RawQuery); err == nil {
		return text
	}
	return r.URL.RawQuery
}

// cutKeys are what a server sees of the keys below nodes whose names have a #, where clients do
// not escape it: in a URL it ends the path.
func cutKeys(nodes []node) map[string]bool {
	cut := map[string]bool{}
	for _, n := range nodes {
		if left, _, found := strings.Cut(n.path, "#"); found {
			cut[left] = true
		}
	}
	return cut
}

// rawPath is the path below the site's own as the client wrote it.
func (s *site) rawPath(r *http.Request) string {
	p := strings.TrimPrefix(r.URL.EscapedPath(), "/")
	if s.name == "" {
		return p
	}
	_, below, _ := strings.Cut(p, "/")
	return below
}

// serveKey answers for a key of one of the views. What the manifest has itself goes before
// views that happen to be called the same.
func (s *site) serveKey(w http.ResponseWriter, r *http.Request, key string) bool {
	if s.serveView(w, r, s.v3, key) {
		return true
	}
	first, below, _ := strings.Cut(key, "/")
	var open func() (*view, error)
	switch first {
	case "v2":
		open = s.v2
	case "regular":
		open = s.regular
	default:
		return false
	}
	v, err := open()
	if err != nil {
		fail(w, r, err)
		return true
	}
	return s.serveView(w, r, v, below)
}
