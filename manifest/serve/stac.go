package serve

import (
	"bytes"
	"encoding/json"
	"net/http"
	"path"
	"strings"
)

const (
	catalogName    = "catalog.json" // lists the collections of several manifests
	collectionName = "stac.json"    // describes a manifest
)

// serveCatalog answers with a STAC catalog of all manifests. Its links are relative, because a server may be reached by
// several names.
func (h *Handler) serveCatalog(w http.ResponseWriter, r *http.Request) {
	type stacLink struct {
		Rel   string `json:"rel"`
		Href  string `json:"href"`
		Type  string `json:"type"`
		Title string `json:"title,omitempty"`
	}
	links := []stacLink{{"root", "./" + catalogName, "application/json", ""}}
	for _, at := range h.places {
		links = append(links, stacLink{"child", "./" + escape(at.name) + "/" + collectionName, "application/json", at.name})
	}
	text, err := json.Marshal(map[string]any{
		"type": "Catalog", "stac_version": "1.1.0", "id": "varve", "description": "Datasets that varve serves as Zarr", "links": links,
	})
	if err != nil {
		panic(err) // it has only texts
	}
	h.serveJSON(w, r, text)
}

// serveCollection answers with a STAC collection of a manifest, whose asset is the folder of the document. It returns false
// if that is not supported.
func (h *Handler) serveCollection(w http.ResponseWriter, r *http.Request, at *address, s *site) bool {
	data, ok := s.data.(storeDataset)
	if h.opts.STAC == nil || !ok {
		return false
	}
	id := s.name
	if id == "" {
		id = strings.TrimSuffix(path.Base(strings.TrimRight(strings.ReplaceAll(at.dir, `\`, "/"), "/")), ".varve")
	}
	text, err := data.Once(r.Context(), s, 0, func() ([]byte, error) {
		var b bytes.Buffer
		err := h.opts.STAC(r.Context(), &b, data.Store, id, "./")
		return b.Bytes(), err
	})
	if err != nil {
		s.fail(w, r, err)
		return true
	}
	h.serveJSON(w, r, text)
	return true
}

func (h *Handler) serveJSON(w http.ResponseWriter, r *http.Request, text []byte) {
	w.Header()["Content-Type"] = jsonType
	serveBytes(w, r, body{text, tagOf("json", text)})
}
