package serve

import (
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
)

// standing is where a manifest stands.
type standing struct {
	name, dir string
	base      string // the path of its plain address, with a slash at its end
	// plain are the snapshots that the hierarchies at the plain address are of: one, unless a
	// newer one extends what was there of some of them only.
	plain   [hierarchies]atomic.Pointer[site]
	outlook atomic.Pointer[outlook]
}

// outlook is what is known of newer snapshots than those at the plain address.
type outlook struct {
	newest string              // the id of the snapshot that is current
	held   [hierarchies]string // why a hierarchy is not of it; empty if it is
}

// lead has a hierarchy at the plain address be of a snapshot, or of none.
func (p *standing) lead(k hierarchy, s *site, log *slog.Logger) {
	if s != nil {
		s.users.Add(1) // its caller keeps it open
	}
	if old := p.plain[k].Swap(s); old != nil {
		old.leave(log)
	}
}

// current returns the snapshot that a hierarchy at the plain address is of, kept open until it
// is left; nil if the server is going down.
func (p *standing) current(k hierarchy) *site {
	for {
		s := p.plain[k].Load()
		if s == nil || s.enter() {
			return s
		}
	}
}

// key is what is left of the path of a request, as it is meant and as the client wrote it.
type key struct{ path, raw string }

// cut takes away the first name, and reports whether there is a slash behind it.
func (k *key) cut() (name string, slash bool) {
	name, k.path, slash = strings.Cut(k.path, "/")
	_, k.raw, _ = strings.Cut(k.raw, "/")
	return name, slash
}

// address is one that a manifest is served at: the plain one, or that of a snapshot.
type address struct {
	*standing
	base  string                  // its path, with a slash at its end
	enter func(k hierarchy) *site // kept open until it is left; nil if the server is going down
}

// serveAt answers for a path below that of a manifest.
func (h *Handler) serveAt(w *recorder, r *http.Request, p *standing, k key) {
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

// serveAddress answers for a path below that of an address.
func (h *Handler) serveAddress(w http.ResponseWriter, r *http.Request, at *address, k key) {
	s := at.enter(inFull)
	if s == nil {
		refuse(w, r, errClosing)
		return
	}
	defer s.leave(h.opts.Log)
	// A client that does not escape a percent sign in a name means the path as it stands.
	if h.serveKey(w, r, at, s, k.path) || k.raw != k.path && h.serveKey(w, r, at, s, k.raw) {
		return
	}
	asked := k.path
	if r.URL.RawQuery != "" {
		// Nor does it escape a question mark.
		asked += "?" + query(r)
		if h.serveKey(w, r, at, s, asked) {
			return
		}
	}
	if s.servePage(w, r, at, k.path) {
		return
	}
	note(w, kindOther)
	if h.isCut(at, s, asked) {
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

// isCut reports whether a path may be what is left of a key, of which a # ended it.
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

// serveKey answers for a key of one of the hierarchies, if it has it. What the manifest has itself
// goes before hierarchies that happen to be called the same.
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
