package serve

import (
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
)

// mount is a manifest and the address where it is served.
type mount struct {
	name, dir string
	base      string // the path of its plain address, with a final slash
	// The plain address is the address without a snapshot. plain has the snapshots that the hierarchies at
	// that address serve. They differ if a newer snapshot extends the old one only in some hierarchies.
	plain   [hierarchies]atomic.Pointer[site]
	outlook atomic.Pointer[outlook]
	warned  string // the addresses of the last STALE warning; only refresh uses it
}

// outlook describes the newest snapshot, compared with the snapshots at the plain address.
type outlook struct {
	newest string              // the id of the current snapshot
	held   [hierarchies]string // why a hierarchy does not serve it; empty if it does
}

// setPlain replaces the snapshot that a hierarchy at the plain address serves; nil removes it.
func (p *mount) setPlain(k hierarchy, s *site, log *slog.Logger) {
	if s != nil {
		s.users.Add(1) // the caller keeps it open during the call
	}
	if old := p.plain[k].Swap(s); old != nil {
		old.leave(log)
	}
}

// current returns the snapshot that a hierarchy at the plain address serves, or nil if the server is shutting
// down. The caller calls leave.
func (p *mount) current(k hierarchy) *site {
	for {
		s := p.plain[k].Load()
		// enter fails if the snapshot was replaced and closed since Load; the next Load finds the new one.
		if s == nil || s.enter() {
			return s
		}
	}
}

// key is the rest of a request path, unescaped (path) and as the client wrote it (raw).
type key struct{ path, raw string }

// cut removes the first path element and reports whether a slash followed it.
func (k *key) cut() (name string, slash bool) {
	name, k.path, slash = strings.Cut(k.path, "/")
	_, k.raw, _ = strings.Cut(k.raw, "/")
	return name, slash
}

// address is an address of a manifest: the plain one, or one of a snapshot.
type address struct {
	*mount
	base  string                  // its path, with a final slash
	enter func(k hierarchy) *site // returns an open site, or nil if the server is shutting down; the caller calls leave
}

// serveAt answers a request for a path below a manifest.
func (h *Handler) serveAt(w *recorder, r *http.Request, p *mount, k key) {
	below := k
	name, _ := below.cut()
	if name == newestName && below.path == "" {
		h.serveNewest(w, r, p)
		return
	}
	id, ok := snapshotOf(name)
	if !ok {
		h.serveAddress(w, r, &address{p, p.base, p.current}, k)
		return
	}
	s, err := h.shelf.enter(r.Context(), p, id)
	if err != nil {
		fail(w, r, err)
		return
	}
	defer s.leave(h.opts.Log)
	same := func(hierarchy) *site {
		s.users.Add(1)
		return s
	}
	h.serveAddress(w, r, &address{p, p.own(id), same}, below)
}

// serveAddress answers a request for a path below an address.
func (h *Handler) serveAddress(w http.ResponseWriter, r *http.Request, at *address, k key) {
	s := at.enter(inFull)
	if s == nil {
		refuse(w, r, errClosing)
		return
	}
	defer s.leave(h.opts.Log)
	// Some clients send a percent sign in a name without escaping it; for them the raw path is the name.
	if h.serveKey(w, r, at, s, k.path) || k.raw != k.path && h.serveKey(w, r, at, s, k.raw) {
		return
	}
	asked := k.path
	if r.URL.RawQuery != "" {
		// Such clients do not escape a question mark either, so the query may be part of the name.
		asked += "?" + query(r)
		if h.serveKey(w, r, at, s, asked) {
			return
		}
	}
	if h.serveNetCDF(w, r, at, s, k.path) || h.serveDAP(w, r, at, s, k.path) {
		return
	}
	if _, isNode := s.node(k.path); k.path == threddsName && at.name == "" && !isNode {
		h.serveThredds(w, r)
		return
	}
	if k.path == collectionName && h.serveCollection(w, r, at, s) {
		return
	}
	if n, ok := s.node(strings.Trim(k.path, "/")); (ok || k.path == at.datasetName()) && isSubset(n, r.URL) {
		h.serveSubset(w, r, at, s, n)
		return
	}
	if s.servePage(w, r, at, h.origin(r), k.path) {
		return
	}
	note(w, kindOther)
	if h.isCut(at, s, asked) {
		refuse(w, r, errCut)
		return
	}
	refuse(w, r, errNoKey)
}

// query returns the unescaped query of a request.
func query(r *http.Request) string {
	if text, err := url.PathUnescape(r.URL.RawQuery); err == nil {
		return text
	}
	return r.URL.RawQuery
}

// isCut reports whether the path may be the beginning of a key whose name contains a '#'.
func (h *Handler) isCut(at *address, s *site, path string) bool {
	if s.cut[path] {
		return true
	}
	k, below := hierarchyOf(path)
	if k == inFull {
		return false
	}
	of := at.enter(k)
	if of == nil {
		return false
	}
	defer of.leave(h.opts.Log)
	return of.cut[below]
}

// serveKey answers a request for a key of one of the hierarchies and reports whether the key exists. Nodes of
// the manifest take precedence over hierarchies of the same name.
func (h *Handler) serveKey(w http.ResponseWriter, r *http.Request, at *address, s *site, path string) bool {
	if s.serveView(w, r, s.v3, path) {
		return true
	}
	k, below := hierarchyOf(path)
	if k == inFull {
		return false
	}
	of := at.enter(k)
	if of == nil {
		refuse(w, r, errClosing)
		return true
	}
	defer of.leave(h.opts.Log)
	v, err := of.ask(k, h.opts.Log)
	if err != nil {
		of.fail(w, r, err)
		return true
	}
	return of.serveView(w, r, v, below)
}
