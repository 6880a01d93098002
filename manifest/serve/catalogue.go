package serve

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"

	"varve/manifest/internal/cf"
	"varve/manifest/report"
)

// card describes a manifest in the catalogue, which is at the address above several manifests.
type card struct {
	Name       string    `json:"name"`
	Address    string    `json:"address"` // the path
	Title      string    `json:"title,omitempty"`
	Snapshot   string    `json:"snapshot"`
	Created    time.Time `json:"created"`
	Sources    int64     `json:"sources"`
	Arrays     int       `json:"arrays"`
	Bytes      int64     `json:"bytes"` // of all elements
	Dimensions []extent  `json:"dimensions"`
	Picture    string    `json:"picture,omitempty"` // the path of a plot
}

// extent is the length of a dimension, and what its coordinate is at both ends.
type extent struct {
	Name   string `json:"name"`
	Length int64  `json:"length"`
	First  string `json:"first,omitempty"`
	Last   string `json:"last,omitempty"`
}

// serveCatalogue answers with the list of all manifests: a page, or JSON.
func (h *Handler) serveCatalogue(w http.ResponseWriter, r *http.Request) {
	cards := []card{}
	for _, at := range h.places {
		s := at.current(inFull)
		if s == nil {
			refuse(w, r, errClosing)
			return
		}
		cards = append(cards, s.card(r.Context(), at.base))
		s.leave(h.opts.Log)
	}
	w.Header().Set("Vary", "Accept")
	if wantsPage(r) {
		note(w, kindPage)
		servePageData(w, r, &page{Title: "varve", Base: escapePath(h.base), Cards: cards})
		return
	}
	text, err := json.Marshal(map[string][]card{"manifests": cards})
	if err != nil {
		panic(err) // it has only texts and numbers
	}
	h.serveJSON(w, r, append(text, '\n'))
}

// card summarises a snapshot. Of dimensions that several groups have it shows the first.
func (s *site) card(ctx context.Context, base string) card {
	snap := s.data.Snapshot()
	c := card{Name: s.name, Address: base, Snapshot: snap.ID, Created: snap.Created, Sources: snap.Sources, Dimensions: []extent{}}
	known := map[string]bool{}
	var drawn array
	for _, n := range s.nodes {
		if n.array == nil {
			if n.path == "" {
				c.Title = cf.TextIn(n.group, "title")
			}
			continue
		}
		shape := n.array.Grid().Shape()
		elements := int64(1)
		for axis, name := range n.array.Schema().Dims() {
			elements *= shape[axis]
			if known[name] || len(c.Dimensions) >= maxDims {
				continue
			}
			known[name] = true
			e := extent{Name: name, Length: shape[axis]}
			if at := s.coordinate(n.array, name); at != nil && len(c.Dimensions) < maxPreviews {
				e.First, e.Last = s.ends(ctx, at)
			}
			c.Dimensions = append(c.Dimensions, e)
		}
		c.Arrays++
		c.Bytes += elements * int64(n.array.Schema().DataType.Type().Size)
		// The picture is of the array with the most dimensions, and of the first one if there are several.
		if drawn == nil || len(shape) > len(drawn.Grid().Shape()) {
			if _, err := parseSlice(n.array, url.Values{}); err == nil && len(shape) > 1 {
				drawn = n.array
			}
		}
	}
	if drawn != nil {
		c.Picture = base + escapePath(relative(drawn.Path())) + "?as=svg"
	}
	return c
}

// ends returns the first and last value of a coordinate in the manifest, or nothing.
func (s *site) ends(ctx context.Context, a array) (first, last string) {
	spec, n := s.spec(a), a.Grid().Shape()[0]
	if spec == nil || len(spec.Pieces) == 0 || n == 0 {
		return "", ""
	}
	if texts := s.written(ctx, a, 0, n-1); texts != nil {
		return texts[0], texts[1]
	}
	return "", ""
}

// Extent returns the dimensions of a card in words.
func (c card) Extent() (out []fact) {
	for _, d := range c.Dimensions {
		value := report.Thousands(d.Length)
		if d.First != "" {
			value += ": " + strings.TrimSuffix(d.First+" to "+d.Last, " to "+d.First)
		}
		out = append(out, fact{d.Name, value})
	}
	return out
}
