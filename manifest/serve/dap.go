package serve

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"sync"

	"varve/manifest/dap"
)

// OPeNDAP has addresses of its own, because a suffix says what is wanted:
//
//	/dap/NAME.dds                 NAME is that of a manifest
//	/dap.dds                      the same below the address of a manifest, or of a snapshot
//
// Keys and nodes of the dataset with these names take precedence.
const dapName = "dap"

// defaultMaxAnswer is the default of Options.MaxAnswer.
const defaultMaxAnswer = 2 << 30

// datasetName returns the name of a manifest: that of its folder, without its suffix.
func (p *mount) datasetName() string {
	if p.name != "" {
		return p.name
	}
	return strings.TrimSuffix(path.Base(strings.TrimRight(strings.ReplaceAll(p.dir, `\`, "/"), "/")), ".varve")
}

// dapOf returns a function that describes the dataset of a manifest for OPeNDAP, once. It logs what it omits.
func (h *Handler) dapOf(p *mount, data dataset) func() *dap.Dataset {
	of, ok := data.(storeDataset)
	if !ok {
		return nil
	}
	return sync.OnceValue(func() *dap.Dataset {
		return dap.New(of.Store, p.datasetName(), func(why string) { h.opts.Log.Info("not in OPeNDAP", "manifest", p.dir, "why", why) })
	})
}

// logTaken logs the nodes of a dataset whose addresses are those of OPeNDAP, too: the nodes win.
func (s *site) logTaken(log *slog.Logger, dir string) {
	for _, n := range s.nodes {
		if first, _, _ := strings.Cut(n.path, "/"); first == n.path && (first == dapName || strings.HasPrefix(first, dapName+".") || first == threddsName) {
			log.Info("an array or group has this address, so OPeNDAP or the THREDDS catalogue is not there", "manifest", dir, "address", "/"+first)
		}
	}
}

// serveNamedDAP answers a request for a path such as /dap/NAME.dds on a server of several manifests. It returns false if no
// manifest has this name.
func (h *Handler) serveNamedDAP(w *recorder, r *http.Request, p string) bool {
	below, ok := strings.CutPrefix(p, dapName+"/")
	var at *mount
	for _, one := range h.places { // of sst and sst.daily, the longer name is meant
		if rest, found := strings.CutPrefix(below, one.name); ok && found && (rest == "" || rest[0] == '.') && (at == nil || len(one.name) > len(at.name)) {
			at = one
		}
	}
	if at == nil {
		return false
	}
	suffix := dapName + strings.TrimPrefix(below, at.name)
	h.serveAddress(w, r, &address{at, at.base, at.current}, key{suffix, suffix})
	return true
}

// dapSuffix returns what follows the name of the dataset in a path below an address, such as .dds.
func dapSuffix(at *address, p string) (suffix string, ok bool) {
	suffix, ok = strings.CutPrefix(p, dapName)
	if below, found := strings.CutPrefix(suffix, "/"+at.datasetName()); found {
		suffix = below
	}
	return suffix, ok && (suffix == "" || suffix[0] == '.')
}

// serveDAP answers a request of OPeNDAP. It returns false if the path is none.
func (h *Handler) serveDAP(w http.ResponseWriter, r *http.Request, at *address, s *site, p string) bool {
	suffix, ok := dapSuffix(at, p)
	if _, isNode := s.node(p); !ok || isNode {
		return false
	}
	if s.dap == nil {
		return false
	}
	d := s.dap()
	note(w, kindData)
	a := &dapAnswer{h: h, site: s, dataset: d, w: w, r: r, query: r.URL.RawQuery}
	w.Header().Set("XDODS-Server", "varve")
	switch suffix {
	case "":
		http.Redirect(w, r, r.URL.EscapedPath()+".html", http.StatusSeeOther)
	case ".ver":
		a.text("text/plain", "dods-version", "Core version: DAP/2.0\nServer version: "+h.opts.Version+"\n")
	case ".html":
		a.form(at)
	case ".dds":
		a.document("text/plain", "dods-dds", func(ctx context.Context) (string, error) { return d.DDS(ctx, a.query) })
	case ".das":
		a.document("text/plain", "dods-das", d.DAS)
	case ".dods":
		a.data("application/octet-stream", "dods-data", d.DODS)
	case ".asc", ".ascii":
		a.data("text/plain", "dods-ascii", d.ASCII)
	case ".dmr", ".dmr.xml":
		a.is4 = true
		media := "application/vnd.opendap.dap4.dataset-metadata+xml"
		if suffix == ".dmr.xml" {
			media = "text/xml"
		}
		a.document(media, "", func(context.Context) (string, error) { return d.DMR(a.expression(), suffix == ".dmr.xml") })
	case ".dap":
		a.is4 = true
		checksums := r.URL.Query().Get("dap4.checksum") != "false"
		a.data("application/vnd.opendap.dap4.data", "", func(ctx context.Context, _ string, limit int64) (*dap.Answer, error) {
			return d.Data(ctx, a.expression(), checksums, limit)
		})
	default:
		return false
	}
	return true
}

// dapAnswer is an answer of OPeNDAP to a request.
type dapAnswer struct {
	h       *Handler
	site    *site
	dataset *dap.Dataset
	w       http.ResponseWriter
	r       *http.Request
	query   string
	is4     bool // DAP4, not DAP2
}

// expression returns the constraint expression of DAP4.
func (a *dapAnswer) expression() string {
	// url.Values would refuse the semicolons of expressions.
	for part := range strings.SplitSeq(a.query, "&") {
		if text, ok := strings.CutPrefix(part, "dap4.ce="); ok {
			if plain, err := url.PathUnescape(text); err == nil {
				return plain
			}
			return text
		}
	}
	return ""
}

// describe sets the headers of an answer. The entity tag depends on the snapshot and on the request.
func (a *dapAnswer) describe(media, description string) (etag string) {
	h := a.w.Header()
	h.Set("Content-Type", media)
	if description != "" {
		h.Set("Content-Description", description)
		h.Set("XDAP", "2.0")
	}
	return tagOf("dap", []byte(a.site.data.Snapshot().ID), []byte(path.Ext(a.r.URL.Path)), []byte(a.query), []byte(a.h.opts.Version))
}

// text answers with a short text.
func (a *dapAnswer) text(media, description, text string) {
	serveBytes(a.w, a.r, body{[]byte(text), a.describe(media, description)})
}

// document answers with a text that is made for the request.
func (a *dapAnswer) document(media, description string, of func(ctx context.Context) (string, error)) {
	text, err := of(a.r.Context())
	if err != nil {
		a.fail(err)
		return
	}
	a.text(media, description, text)
}

// data answers with values.
func (a *dapAnswer) data(media, description string, of func(ctx context.Context, query string, limit int64) (*dap.Answer, error)) {
	etag := a.describe(media, description)
	if answerConditional(a.w, a.r, etag) {
		return
	}
	ctx := a.r.Context()
	answer, err := of(ctx, a.query, a.h.opts.MaxAnswer)
	if err == nil {
		err = a.site.stream(a.w, a.r, etag, answer.Size, answer.Values, answer.Write)
	}
	if err != nil {
		a.fail(err)
	}
}

// fail answers with an error in the form of the protocol.
func (a *dapAnswer) fail(err error) {
	if rec, ok := a.w.(*recorder); ok {
		rec.err = err
	}
	if errors.Is(a.r.Context().Err(), context.Canceled) {
		return // the client has disconnected
	}
	f := dapFault(err)
	h := a.w.Header()
	for _, name := range []string{"ETag", "Content-Length", "Content-Description"} {
		h.Del(name)
	}
	text := dap.Error2(f.Status, f)
	h.Set("Content-Type", "text/plain")
	if a.is4 {
		text = dap.Error4(f.Status, f)
		h.Set("Content-Type", "application/vnd.opendap.dap4.error+xml")
	} else {
		h.Set("Content-Description", "dods-error")
	}
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Length", strconv.Itoa(len(text)))
	if f.Retry > 0 {
		h.Set("Retry-After", strconv.Itoa(f.Retry))
	}
	a.w.WriteHeader(f.Status)
	if a.r.Method == http.MethodHead {
		return
	}
	if _, err := a.w.Write(text); err != nil {
		return // the client has disconnected
	}
}

// dapFault returns the fault that describes an error of a request of values.
func dapFault(err error) *fault {
	var constraint *dap.ConstraintError
	var size *dap.SizeError
	switch {
	case errors.As(err, &constraint):
		return &fault{Status: http.StatusBadRequest, Kind: "constraint", Reason: err.Error()}
	case errors.As(err, &size):
		return &fault{Status: http.StatusRequestEntityTooLarge, Kind: "too large", Reason: err.Error()}
	}
	return faultOf(err)
}

// form answers with a page on which a person chooses variables. A request with the parameter "as" is redirected to the answer.
func (a *dapAnswer) form(at *address) {
	query := a.r.URL.Query()
	base := strings.TrimSuffix(a.r.URL.EscapedPath(), ".html")
	if suffix := query.Get("as"); suffix == "ascii" || suffix == "dods" || suffix == "dds" {
		http.Redirect(a.w, a.r, base+"."+suffix+"?"+strings.ReplaceAll(url.PathEscape(query.Get("constraint")), "%2C", ","), http.StatusSeeOther)
		return
	}
	dds, err := a.dataset.DDS(a.r.Context(), "")
	if err != nil {
		a.fail(err)
		return
	}
	das, err := a.dataset.DAS(a.r.Context())
	if err != nil {
		a.fail(err)
		return
	}
	page := &page{Title: a.dataset.Name() + " by OPeNDAP", Base: at.base, DAP: &dapPage{DDS: dds, DAS: das, Address: a.h.origin(a.r) + base, Omitted: a.dataset.Omitted()}}
	servePageData(a.w, a.r, page)
}

// dapPage is the part of a page that only forms of OPeNDAP have.
type dapPage struct {
	DDS, DAS string
	Address  string
	Omitted  []string
}
