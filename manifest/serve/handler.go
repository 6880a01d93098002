package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"varve/manifest/conventions"
	"varve/manifest/netcdffile"
	"varve/manifest/store"
	"varve/readers/source"
)

// Options configure a Handler. Zero values select the defaults; nil is the same as the zero Options.
type Options struct {
	// Base is the path at which the Handler is mounted, such as /archive, or empty for the root. Request
	// paths must still contain it, as http.ServeMux passes them; links in pages contain it too.
	Base string
	// Store configures how manifests are opened. If Store.Snapshot is set, the address without a snapshot
	// always serves that one.
	Store store.Options
	// Reload is the interval at which the server looks for new snapshots: 0 means one second, negative means
	// never.
	Reload time.Duration
	// FollowAlways serves each new snapshot at the plain address. By default it must extend the one before it, because clients that
	// are open would read wrong chunks of any other.
	FollowAlways bool
	// Reencodes limits the number of chunks and plots that are created concurrently; 0 means 4 per core.
	Reencodes int
	// WorkBytes limits the memory in which chunks and plots are created; 0 means 256 MiB. One that needs more is
	// created alone.
	WorkBytes int64
	// AnswerBytes limits the memory for answers that clients are still receiving; 0 means 256 MiB. Data that
	// goes directly from a file to the socket does not count.
	AnswerBytes int64
	// DiskCache is a folder in which chunks are kept that were downloaded or re-encoded, empty for none. Only one server
	// may use it.
	DiskCache string
	// DiskCacheBytes limits the size of the files there; 0 means 10 GiB.
	DiskCacheBytes int64
	// Version is the version of the program: DiskCache keeps the chunks of different versions apart.
	Version string
	// Patience is how long a request waits when one of these limits is reached; 0 means 30 s.
	Patience time.Duration
	// Body is how long a client may take to receive 4 MiB, or a smaller answer; 0 means one minute.
	Body time.Duration
	// SubChunks says which arrays are served with smaller chunks than the stored ones.
	SubChunks SubChunks
	// Conventions are the conventions of Zarr by which the views in format 3 describe arrays and groups.
	Conventions conventions.Set
	// NetCDF says what the netCDF files of datasets may contain.
	NetCDF netcdffile.Options
	// MaxAnswer limits the bytes of an answer of OPeNDAP, and of a subset; 0 means 2 GiB.
	MaxAnswer int64
	// Tokens are the users who may read; nil admits everyone. /healthz needs no token.
	Tokens *Tokens
	// PerClient limits the requests of one client that are answered at once; 0 means no limit. More requests wait. A
	// client is a user, or the name in a certificate, or an address.
	PerClient int
	// Proxied is set if a proxy in front of the server sets the headers X-Forwarded-For, -Proto and -Host.
	Proxied bool
	// STAC writes the STAC collection of a dataset that is read at href, for /stac.json and /catalog.json; nil serves
	// neither.
	STAC func(ctx context.Context, w io.Writer, s *store.Store, id, href string) error
	// Log receives warnings and errors; nil discards them.
	Log *slog.Logger
	// Access receives one record per request; nil discards them.
	Access *slog.Logger

	open func(ctx context.Context, dir string, opts *store.Options) (dataset, error)
	idle time.Duration // how long a snapshot at its own address stays open without readers
}

// The defaults of limits of memory.
const (
	defaultWorkBytes   = 256 << 20
	defaultAnswerBytes = 256 << 20
	defaultDiskBytes   = 10 << 30
)

func (o Options) withDefaults() Options {
	if o.Reload == 0 {
		o.Reload = time.Second
	}
	if o.Reencodes <= 0 {
		o.Reencodes = 4 * runtime.GOMAXPROCS(0)
	}
	if o.WorkBytes <= 0 {
		o.WorkBytes = defaultWorkBytes
	}
	if o.AnswerBytes <= 0 {
		o.AnswerBytes = defaultAnswerBytes
	}
	if o.DiskCacheBytes <= 0 {
		o.DiskCacheBytes = defaultDiskBytes
	}
	if o.MaxAnswer <= 0 {
		o.MaxAnswer = defaultMaxAnswer
	}
	if o.Patience <= 0 {
		o.Patience = 30 * time.Second
	}
	if o.Body <= 0 {
		o.Body = time.Minute
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.idle <= 0 {
		o.idle = shelfIdle
	}
	if o.open == nil {
		o.open = openStore
	}
	return o
}

func openStore(ctx context.Context, dir string, opts *store.Options) (dataset, error) {
	s, err := store.Open(ctx, dir, opts)
	if err != nil {
		return nil, err
	}
	if !source.IsObject(dir) {
		// Open tables stay readable after "varve gc" has removed them, so that the next snapshot can be
		// compared with this one. An error here is reported to the request that needs the table.
		_ = s.Tables().OpenAll(ctx)
	}
	return storeDataset{s}, nil
}

// Handler serves manifests. It is an http.Handler.
type Handler struct {
	opts    Options
	base    string // the path of the Handler, with a final slash
	places  []*mount
	byName  map[string]*mount
	metrics *metrics
	limits  *limits
	guard   *guard
	shelf   *shelf
	watch   http.Handler // serves /metrics

	stop     context.CancelFunc
	watching sync.WaitGroup
	draining atomic.Bool
}

// New opens manifests for serving: one at the root, several below the names of their folders without
// extension. The caller closes the Handler. If ctx ends, opening stops; later requests do not depend on it.
func New(ctx context.Context, dirs []string, opts *Options) (*Handler, error) {
	if opts == nil {
		opts = &Options{}
	}
	if len(dirs) == 0 {
		return nil, errors.New("no manifest to serve")
	}
	h := &Handler{opts: opts.withDefaults(), byName: map[string]*mount{}, metrics: newMetrics(), base: "/"}
	if base := strings.Trim(h.opts.Base, "/"); base != "" {
		h.base = "/" + base + "/"
	}
	disk, err := newDiskCache(&h.opts, h.metrics)
	if err != nil {
		return nil, err
	}
	h.limits = &limits{
		disk:      disk,
		reencodes: newTurns(int64(h.opts.Reencodes), h.opts.Patience),
		work:      newTurns(h.opts.WorkBytes, h.opts.Patience),
		answers:   newTurns(h.opts.AnswerBytes, h.opts.Patience),
	}
	h.guard = &guard{tokens: h.opts.Tokens, most: int64(h.opts.PerClient), proxied: h.opts.Proxied, opts: &h.opts, clients: map[string]*client{}}
	h.watch = h.metrics.handler()
	h.shelf = newShelf(ctx, h.opts, h.load)
	for _, dir := range dirs {
		if err := h.add(ctx, dir, len(dirs) > 1); err != nil {
			return nil, errors.Join(err, h.Close())
		}
	}
	if err := h.opts.SubChunks.checkNames(h.places); err != nil {
		return nil, errors.Join(err, h.Close())
	}
	if h.opts.Reload > 0 && h.opts.Store.Snapshot == "" {
		watch, cancel := context.WithCancel(context.WithoutCancel(ctx))
		h.stop = cancel
		h.watching.Go(func() { h.reload(watch) })
	}
	return h, nil
}

func (h *Handler) add(ctx context.Context, dir string, hasName bool) error {
	p := &mount{dir: dir, base: escapePath(h.base)}
	if hasName {
		absolute, err := filepath.Abs(dir)
		if err != nil {
			return err
		}
		base := filepath.Base(absolute)
		p.name = strings.TrimSuffix(base, filepath.Ext(base))
		p.base += escape(p.name) + "/"
	}
	if other := h.byName[p.name]; other != nil {
		return fmt.Errorf("%s and %s would both be served at %s: give one of them another name", other.dir, dir, p.base)
	}
	s, err := h.load(ctx, p, h.opts.Store)
	if err != nil {
		return err
	}
	for k := range hierarchies {
		p.setPlain(k, s, h.opts.Log)
	}
	s.leave(h.opts.Log)
	h.setOutlook(p, &outlook{newest: s.data.Snapshot().ID})
	h.byName[p.name] = p
	h.places = append(h.places, p)
	return nil
}

// load opens a snapshot of a manifest. The caller is its first user and calls leave.
func (h *Handler) load(ctx context.Context, p *mount, opts store.Options) (*site, error) {
	// Cancelling ctx must stop the opening, but later requests must not depend on ctx.
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	defer context.AfterFunc(ctx, end)()
	data, err := h.opts.open(life, p.dir, &opts)
	if err != nil {
		h.metrics.loads.WithLabelValues("failed").Inc()
		return nil, err
	}
	described, err := h.describe(life, p, data)
	var s *site
	if err == nil {
		s, err = newSite(life, p.name, data, h.opts.SubChunks, described, h.limits, h.opts.Log)
	}
	if err != nil {
		// There is no site: close the data here, because nothing else refers to it.
		h.metrics.loads.WithLabelValues("failed").Inc()
		return nil, errors.Join(fmt.Errorf("%s: %w", p.dir, err), data.Close())
	}
	s.dap = h.dapOf(p, data)
	s.logTaken(h.opts.Log, p.dir)
	if s.denied = data.CheckAccess(life); s.denied != nil {
		h.opts.Log.Warn("sources of the manifest cannot be read, so their chunks are refused", "manifest", p.dir, "error", s.denied)
	}
	h.metrics.loads.WithLabelValues("done").Inc()
	return s, nil
}

// describe returns the attributes of Options.Conventions, and logs what they do not describe.
func (h *Handler) describe(ctx context.Context, p *mount, data dataset) (*conventions.Description, error) {
	st, ok := data.(storeDataset)
	if !ok || len(h.opts.Conventions) == 0 {
		return &conventions.Description{}, nil
	}
	d, err := conventions.Describe(ctx, st.Store, h.opts.Conventions)
	if err != nil {
		return nil, fmt.Errorf("conventions %s: %w", h.opts.Conventions, err)
	}
	for _, o := range d.Omitted {
		h.opts.Log.Info("not described", "manifest", p.dir, "convention", o.Convention, "path", o.Path, "why", o.Why)
	}
	return d, nil
}

// Snapshots returns, for each manifest, its folder and the path of the current snapshot's own address.
func (h *Handler) Snapshots() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for _, p := range h.places {
			s := p.current(inFull)
			if s == nil {
				return
			}
			path := p.own(s.data.Snapshot().ID)
			s.leave(h.opts.Log)
			if !yield(p.dir, path) {
				return
			}
		}
	}
}

// Drain makes /healthz answer 503, so that load balancers send no more requests.
func (h *Handler) Drain() { h.draining.Store(true) }

// Close closes all manifests, each after its last request.
func (h *Handler) Close() error {
	if h.stop != nil {
		h.stop()
	}
	h.watching.Wait()
	h.shelf.close()
	for _, p := range h.places {
		for k := range hierarchies {
			p.setPlain(k, nil, h.opts.Log)
		}
	}
	return nil
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	rec := &recorder{ResponseWriter: w, limit: h.opts.Body, base: escapePath(h.base)}
	h.metrics.busy.Inc()
	defer func() {
		h.metrics.busy.Dec()
		// No status was written: the client disconnected before the answer.
		if rec.status == 0 {
			rec.status = statusGone
		}
		took := time.Since(began)
		h.metrics.observe(rec, took)
		h.log(r, rec, took)
	}()
	h.serve(rec, r)
}

// statusGone is logged for a request whose client disconnected before the answer, as nginx does.
const statusGone = 499

func (h *Handler) serve(w *recorder, r *http.Request) {
	allowOrigins(w.Header())
	switch r.Method {
	case http.MethodGet, http.MethodHead:
	case http.MethodOptions:
		servePreflight(w)
		return
	default:
		w.Header().Set("Allow", "GET, HEAD, OPTIONS")
		refuse(w, r, &fault{Status: http.StatusMethodNotAllowed, Kind: "read-only", Reason: "the server is read-only: use GET, HEAD or OPTIONS"})
		return
	}
	k, ok := h.below(r)
	name, forbidden := h.guard.identify(r)
	if w.user = name; ok && k.path == "healthz" {
		h.serveHealth(w, r, forbidden == nil) // also if the client has many requests
		return
	}
	if forbidden != nil {
		w.Header()["Www-Authenticate"] = challenges
		refuse(w, r, forbidden)
		return
	}
	leave, admitted := h.guard.enter(r.Context(), name)
	if !admitted {
		refuse(w, r, errManyRequests)
		return
	}
	defer leave()
	switch {
	case !ok:
		refuse(w, r, errNoKey)
	case k.path == "metrics":
		h.watch.ServeHTTP(w, r)
	default:
		h.servePath(w, r, k)
	}
}

// below returns the part of the request path below the path of the Handler. ok is false if there is none.
func (h *Handler) below(r *http.Request) (k key, ok bool) {
	if k.path, ok = strings.CutPrefix(r.URL.Path, h.base); !ok {
		return key{}, r.URL.Path+"/" == h.base
	}
	if k.raw, ok = strings.CutPrefix(r.URL.EscapedPath(), escapePath(h.base)); !ok {
		k.raw = k.path // the client escapes the path of the Handler in another way
	}
	return k, true
}

func (h *Handler) servePath(w *recorder, r *http.Request, k key) {
	at, whole := h.byName[""], k.path
	if at == nil {
		name, slash := k.cut()
		if at = h.byName[name]; at == nil {
			switch {
			case whole == "":
				h.serveCatalogue(w, r)
			case whole == catalogName && h.opts.STAC != nil:
				h.serveCatalog(w, r)
			case h.serveNamedNetCDF(w, r, whole):
			case whole == threddsName:
				h.serveThredds(w, r)
			case h.serveNamedDAP(w, r, whole):
			default:
				refuse(w, r, errNoKey)
			}
			return
		}
		if !slash && r.URL.RawQuery == "as=nc" && h.serveNamedNetCDF(w, r, name+netcdfExtension) {
			return
		}
		if !slash {
			to := at.base
			if r.URL.RawQuery != "" {
				to += "?" + r.URL.RawQuery
			}
			http.Redirect(w, r, to, http.StatusMovedPermanently)
			return
		}
	}
	h.serveAt(w, r, at, k)
}

// allowOrigins permits pages of any origin to read the answers. That is safe because answers do not depend on the
// user.
func allowOrigins(h http.Header) {
	h["Access-Control-Allow-Origin"] = originAny
	h["Access-Control-Expose-Headers"] = exposed
	h["X-Content-Type-Options"] = noSniff
}

// servePreflight answers the request by which a browser asks whether cross-origin requests are permitted.
func servePreflight(w http.ResponseWriter) {
	h := w.Header()
	h["Access-Control-Allow-Methods"] = methods
	h["Access-Control-Allow-Headers"] = wanted
	h["Access-Control-Max-Age"] = aDay
	w.WriteHeader(http.StatusNoContent)
}

var (
	originAny = []string{"*"}
	methods   = []string{"GET, HEAD, OPTIONS"}
	wanted    = []string{"Range, If-Range, If-Match, If-None-Match, If-Modified-Since, Cache-Control, Content-Type, Authorization"}
	exposed   = []string{"ETag, Content-Length, Content-Range, Content-Encoding, Accept-Ranges, Retry-After"}
	aDay      = []string{"86400"}
	noSniff   = []string{"nosniff"}
	// Browsers ask for a name and a password; the name may be anything.
	challenges = []string{`Bearer realm="varve"`, `Basic realm="varve", charset="UTF-8"`}
)

// log writes the access record of a request, and a warning if the server failed.
func (h *Handler) log(r *http.Request, rec *recorder, took time.Duration) {
	gone := errors.Is(r.Context().Err(), context.Canceled)
	if rec.err != nil && !gone {
		h.opts.Log.Warn("request failed", "path", r.URL.Path, "status", rec.status, "error", rec.err)
	}
	if h.opts.Access == nil {
		return
	}
	h.opts.Access.LogAttrs(r.Context(), slog.LevelInfo, "request",
		slog.String("method", r.Method), slog.String("path", r.URL.RequestURI()), slog.Int("status", rec.status),
		slog.Int64("bytes", rec.sent), slog.Duration("took", took), slog.String("kind", rec.kind.String()),
		slog.String("from", rec.user), slog.String("agent", r.UserAgent()))
}
