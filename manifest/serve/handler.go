package serve

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"varve/manifest/store"
	"varve/readers/source"
)

// Options say how manifests are served. What is zero is as the field says; nil options are all
// zero.
type Options struct {
	// Base is the path that the Handler is mounted at, such as /archive, empty for the root. Requests
	// have it in their paths, as a http.ServeMux hands them on, and so do the links of pages.
	Base string
	// Store is how manifests are opened. Its Snapshot keeps the plain address at one.
	Store store.Options
	// Reload is how often to look for new snapshots; 0 stands for a second, less for never.
	Reload time.Duration
	// Rebuilds bounds how many chunks and plots are made at a time; 0 stands for 4 a core.
	Reencodes int
	// AnswerBytes bounds what is kept in memory for answers that clients are still receiving;
	// 0 stands for 256 MiB. What goes from a file to the socket does not count.
	AnswerBytes int64
	// Patience is how long a request waits for its turn among these; 0 stands for 30 s.
	Patience time.Duration
	// Body is how long a client may take to receive 4 MiB, or an answer that is smaller; 0
	// stands for a minute.
	Body time.Duration
	// Log takes what goes wrong; nil for nowhere.
	Log *slog.Logger
	// Access takes every request; nil for nowhere.
	Access *slog.Logger

	open func(ctx context.Context, dir string, opts *store.Options) (dataset, error)
	idle time.Duration // how long snapshots stay open that nobody reads at their own addresses
}

func (o Options) withDefaults() Options {
	if o.Reload == 0 {
		o.Reload = time.Second
	}
	if o.Reencodes <= 0 {
		o.Reencodes = 4 * runtime.GOMAXPROCS(0)
	}
	if o.AnswerBytes <= 0 {
		o.AnswerBytes = 256 << 20
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
		// Tables that are open can be read after "varve gc" has removed them, be it to compare the
		// next snapshot with this one. What cannot be opened is told to whoever needs it.
		_ = s.Tables().OpenAll(ctx)
	}
	return opened{s}, nil
}

// Handler serves manifests. It is an http.Handler.
type Handler struct {
	opts    Options
	base    string // the path of everything, with a slash at its end
	places  []*standing
	byName  map[string]*standing
	metrics *metrics
	limits  *limits
	shelf   *shelf
	watch   http.Handler // of the metrics

	stop     context.CancelFunc
	watching sync.WaitGroup
	draining atomic.Bool
}

// New opens manifests to be served: one at the root, several below their folders' names
// without the extension. The Handler has to be closed. It outlives ctx, which ends the opening only.
func New(ctx context.Context, dirs []string, opts *Options) (*Handler, error) {
	if opts == nil {
		opts = &Options{}
	}
	if len(dirs) == 0 {
		return nil, errors.New("no manifest to serve")
	}
	h := &Handler{opts: opts.withDefaults(), byName: map[string]*standing{}, metrics: newMetrics(), base: "/"}
	if base := strings.Trim(h.opts.Base, "/"); base != "" {
		h.base = "/" + base + "/"
	}
	h.limits = &limits{newTurns(int64(h.opts.Reencodes), h.opts.Patience), newTurns(h.opts.AnswerBytes, h.opts.Patience)}
	h.watch = h.metrics.handler()
	h.shelf = newShelf(ctx, h.opts, h.load)
	for _, dir := range dirs {
		if err := h.add(ctx, dir, len(dirs) > 1); err != nil {
			return nil, errors.Join(err, h.Close())
		}
	}
	if h.opts.Reload > 0 && h.opts.Store.Snapshot == "" {
		watch, cancel := context.WithCancel(context.WithoutCancel(ctx))
		h.stop = cancel
		h.watching.Go(func() { h.reload(watch) })
	}
	return h, nil
}

func (h *Handler) add(ctx context.Context, dir string, named bool) error {
	p := &standing{dir: dir, base: escapePath(h.base)}
	if named {
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
		p.lead(k, s, h.opts.Log)
	}
	s.leave(h.opts.Log)
	h.told(p, &outlook{newest: s.data.Snapshot().ID})
	h.byName[p.name] = p
	h.places = append(h.places, p)
	return nil
}

// load opens a snapshot of a manifest, which stays open until it is left.
func (h *Handler) load(ctx context.Context, p *standing, opts store.Options) (*site, error) {
	// Who gives up loading it ends that, and not the requests that are under way later.
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	defer context.AfterFunc(ctx, end)()
	data, err := h.opts.open(life, p.dir, &opts)
	if err != nil {
		h.metrics.loads.WithLabelValues("failed").Inc()
		return nil, err
	}
	s, err := newSite(p.name, data, h.limits, h.opts.Log)
	if err != nil {
		h.metrics.loads.WithLabelValues("failed").Inc()
		return nil, errors.Join(fmt.Errorf("%s: %w", p.dir, err), data.Close())
	}
	h.metrics.loads.WithLabelValues("done").Inc()
	return s, nil
}

// Snapshots returns the paths of the addresses of the snapshots that are served, by manifest.
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

// Drain has /healthz answer that no more requests should be sent here.
func (h *Handler) Drain() { h.draining.Store(true) }

// Close closes all manifests, each as soon as no request needs it any more.
func (h *Handler) Close() error {
	if h.stop != nil {
		h.stop()
	}
	h.watching.Wait()
	h.shelf.close()
	for _, p := range h.places {
		for k := range hierarchies {
			p.lead(k, nil, h.opts.Log)
		}
	}
	return nil
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	rec := &recorder{ResponseWriter: w, limit: h.opts.Body}
	h.metrics.busy.Inc()
	defer func() {
		h.metrics.busy.Dec()
		if rec.status == 0 {
			rec.status = statusGone
		}
		took := time.Since(began)
		h.metrics.observe(rec, took)
		h.log(r, rec, took)
	}()
	h.serve(rec, r)
}

// statusGone is noted of a request whose client did not wait.
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
		refuse(w, r, &fault{Status: http.StatusMethodNotAllowed, Kind: "read-only", Reason: "only GET, HEAD and OPTIONS are known here"})
		return
	}
	k, ok := h.below(r)
	switch {
	case !ok:
		refuse(w, r, errNoKey)
	case k.path == "healthz":
		h.serveHealth(w, r)
	case k.path == "metrics":
		h.watch.ServeHTTP(w, r)
	default:
		h.servePath(w, r, k)
	}
}

// below is what a request asks for of what is mounted here, if it does.
func (h *Handler) below(r *http.Request) (k key, ok bool) {
	if k.path, ok = strings.CutPrefix(r.URL.Path, h.base); !ok {
		return key{}, r.URL.Path+"/" == h.base
	}
	if k.raw, ok = strings.CutPrefix(r.URL.EscapedPath(), escapePath(h.base)); !ok {
		k.raw = k.path // the client escapes the path up to here in another way
	}
	return k, true
}

func (h *Handler) servePath(w *recorder, r *http.Request, k key) {
	at, whole := h.byName[""], k.path
	if at == nil {
		name, slash := k.cut()
		if at = h.byName[name]; at == nil {
			if whole != "" || !h.serveIndex(w, r) {
				refuse(w, r, errNoKey)
			}
			return
		}
		if !slash {
			http.Redirect(w, r, at.base, http.StatusMovedPermanently)
			return
		}
	}
	h.serveAt(w, r, at, k)
}

func (h *Handler) serveHealth(w http.ResponseWriter, r *http.Request) {
	if h.draining.Load() {
		refuse(w, r, &fault{Status: http.StatusServiceUnavailable, Kind: "closing", Reason: "the server is going down"})
		return
	}
	w.Header().Set("Content-Type", "application/json")
	serveBytes(w, r, body{[]byte("{\"status\":\"ok\"}\n"), `"ok"`})
}

// allowOrigins lets pages of any origin read: nothing here depends on who asks.
func allowOrigins(h http.Header) {
	h["Access-Control-Allow-Origin"] = originAny
	h["Access-Control-Expose-Headers"] = exposed
	h["X-Content-Type-Options"] = noSniff
}

// servePreflight tells a browser what a page of another origin may ask for.
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
	wanted    = []string{"Range, If-Range, If-Match, If-None-Match, If-Modified-Since, Cache-Control, Content-Type"}
	exposed   = []string{"ETag, Content-Length, Content-Range, Content-Encoding, Accept-Ranges, Retry-After"}
	aDay      = []string{"86400"}
	noSniff   = []string{"nosniff"}
)

// log writes the line of a request, and one more of what went wrong on this side.
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
		slog.String("from", r.RemoteAddr), slog.String("agent", r.UserAgent()))
}
