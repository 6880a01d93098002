package serve

import (
	"net/http"
	"net/url"
)

func (h *Handler) serveIndex(w http.ResponseWriter, r *http.Request) bool       { return false }
func (s *site) servePage(w http.ResponseWriter, r *http.Request, p string) bool { return false }

// escape returns a name as a segment of a path.
func escape(name string) string { return url.PathEscape(name) }
