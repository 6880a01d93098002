package serve

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// health is the answer of /healthz. A degraded server still serves all that it can, so its status is 200.
type health struct {
	Status  string    `json:"status"` // ok or degraded
	Reasons []problem `json:"reasons"`
}

// problem is a reason why a server is degraded.
type problem struct {
	Address string `json:"address"` // below which something is wrong
	Kind    string `json:"kind"`    // stale, forbidden or tokens
	Reason  string `json:"reason"`
	Served  string `json:"served,omitempty"` // the snapshot at the address
	Newest  string `json:"newest,omitempty"` // the current snapshot, if the address does not serve it
}

// serveHealth answers whether the server is degraded, and tells those who may read the server also why.
func (h *Handler) serveHealth(w http.ResponseWriter, r *http.Request, why bool) {
	if h.draining.Load() {
		refuse(w, r, &fault{Status: http.StatusServiceUnavailable, Kind: "closing", Reason: "the server is shutting down"})
		return
	}
	now := health{"ok", []problem{}}
	for _, p := range h.places {
		now.Reasons = append(now.Reasons, p.problems()...)
	}
	if t := h.opts.Tokens; t != nil && t.Err() != nil {
		now.Reasons = append(now.Reasons, problem{Address: h.base, Kind: "tokens", Reason: fmt.Sprintf("the file of tokens cannot be used, and its older version stays valid: %v", t.Err())})
	}
	if len(now.Reasons) > 0 {
		now.Status = "degraded"
	}
	if !why {
		now.Reasons = []problem{}
	}
	text, err := json.Marshal(now)
	if err != nil {
		panic(err) // it has only texts
	}
	h.serveJSON(w, r, append(text, '\n'))
}

// problems lists the problems of a manifest: hierarchies that keep an older snapshot, and sources without permission.
func (p *mount) problems() (found []problem) {
	o := p.outlook.Load()
	for k, why := range o.held {
		s := p.plain[k].Load()
		if why != "" && s != nil {
			found = append(found, problem{p.base + hierarchy(k).prefix(), "stale", why, s.data.Snapshot().ID, o.newest})
		}
	}
	if s := p.plain[inFull].Load(); s != nil && s.denied != nil {
		found = append(found, problem{Address: p.base, Kind: "forbidden", Reason: s.denied.Error()})
	}
	return found
}
