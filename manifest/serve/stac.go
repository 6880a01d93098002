package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"path"
	"strings"
)

const (
	catalogName    = "catalog.json" // lists the collections of several manifests
	collectionName = "stac.json"    // describes a manifest
)

// serveCatalog answers with a STAC catalog of all manifests.
func (h *Handler) serveCatalog(w http.ResponseWriter, r *http.Request) {
	type stacLink struct {
		Rel   string `json:"rel"`
		Href  string `json:"href"`
		Type  string `json:"type"`
		Title string `json:"title,omitempty"`
	}
	root := h.origin(r) + escapePath(h.base) + catalogName
	links := []stacLink{{"self", root, "application/json", ""}, {"root", root, "application/json", ""}}
	for _, at := range h.places {
		links = append(links, stacLink{"child", h.origin(r) + at.base + collectionName, "application/json", at.name})
	}
	text, err := json.Marshal(map[string]any{
		"type": "Catalog", "stac_version": "1.1.0", "id": "varve", "description": "Datasets that varve serves as Zarr", "links": links,
	})
	if err != nil {
		panic(err) // it has only texts
	}
	h.serveJSON(w, r, text)
}

// serveCollection answers with a STAC collection of a manifest; false if that is not supported.
func (h *Handler) serveCollection(w http.ResponseWriter, r *http.Request, at *address, s *site) bool {
	data, ok := s.data.(storeDataset)
	if h.opts.STAC == nil || !ok {
		return false
	}
	address := h.origin(r) + at.base
	id := s.name
	if id == "" {
		id = strings.TrimSuffix(path.Base(strings.TrimRight(strings.ReplaceAll(at.dir, `\`, "/"), "/")), ".varve")
	}
	// It reads coordinates, so only one is made at a time of each snapshot.
	text, err := s.collection(r.Context(), func(ctx context.Context) ([]byte, error) {
		var b bytes.Buffer
		err := h.opts.STAC(ctx, &b, data.Store, id, collectionAddress)
		return b.Bytes(), err
	})
	if err != nil {
		s.fail(w, r, err)
		return true
	}
	quoted, err := json.Marshal(address)
	if err != nil {
		panic(err) // it is a text
	}
	h.serveJSON(w, r, bytes.ReplaceAll(text, []byte(`"`+collectionAddress+`"`), quoted))
	return true
}

// collectionAddress stands for the address in the collection of a site, because a server has several addresses.
const collectionAddress = "varve:address"

// collection makes the collection once. A failure is not kept.
func (s *site) collection(ctx context.Context, create func(context.Context) ([]byte, error)) ([]byte, error) {
	s.stac.Lock()
	defer s.stac.Unlock()
	if s.stacText == nil {
		text, err := create(ctx)
		if err != nil {
			return nil, err
		}
		s.stacText = text
	}
	return s.stacText, nil
}

func (h *Handler) serveJSON(w http.ResponseWriter, r *http.Request, text []byte) {
	note(w, kindOther)
	w.Header().Set("Content-Type", "application/json")
	serveBytes(w, r, body{text, tagOf("json", text)})
}
