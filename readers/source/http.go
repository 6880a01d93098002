package source

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
)

// remote is a file on a server, of which ranges are asked for:
//
//	GET /ocean.nc                        206 Partial Content
//	Range: bytes=65536-131071            Content-Range: bytes 65536-131071/52428800
//	If-Match: "5f1-61e8"                 ETag: "5f1-61e8"
//	Accept-Encoding: identity            Content-Length: 65536
//
// The first request finds out the size and the version of the file and brings its first
// bytes along. Every other one is on condition of that version, and its answer is compared
// with it all the same, since not every server heeds conditions.
type remote struct {
	name   string // to show: without secrets
	origin *url.URL
	header http.Header // for the origin's host only
	opts   *Options
	single *oneByOne
	client *http.Client
	slots  chan struct{} // one a request under way
	hint   func() string // what to do about a refusal, or nil

	id      Identity
	head    []byte // what came with the first request, until it is asked for
	content *content
	// target is where redirects led to, so that each request need not go all the way.
	target atomic.Pointer[url.URL]

	closing  context.Context
	shut     context.CancelFunc
	requests atomic.Int64
	bytes    atomic.Int64
}

func newRemote(o *Opener, u *url.URL) *remote {
	r := &remote{opts: &o.opts, single: &o.single, header: http.Header{}, slots: make(chan struct{}, o.opts.Parallel)}
	for key, values := range o.opts.Header {
		r.header[http.CanonicalHeaderKey(key)] = values
	}
	if user := u.User; user != nil {
		password, _ := user.Password()
		r.header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+password)))
	}
	origin := *u
	origin.User, origin.Fragment = nil, ""
	r.origin, r.name = &origin, withoutSecrets(u).String()
	r.client = &http.Client{Transport: &counting{o.transport, r}, CheckRedirect: r.checkRedirect}
	r.closing, r.shut = context.WithCancel(context.Background())
	return r
}

func (r *remote) Identity() Identity { return r.id }

// The sizes of blocks, and of what is read when nobody said what else will be. A block is
// enough for most of what is announced: a header, a node of an index.
const (
	remoteBlockBits = 14
	leastBytes      = 64 << 10
)

// BlockBits makes blocks of 16 KiB.
func (r *remote) BlockBits() int { return remoteBlockBits }

// Tuning is as the options say.
func (r *remote) Tuning() Tuning {
	o := r.opts
	return Tuning{Least: leastBytes, Ahead: o.AheadBytes, Tail: o.TailBytes, Gap: o.GapBytes, Joined: o.JoinedBytes, Parallel: o.Parallel}
}

// Prefetched returns what came with the first request.
func (r *remote) Prefetched() []byte {
	head := r.head
	r.head = nil
	return head
}

// Stats counts requests, redirects and repetitions included, and the bytes of bodies.
func (r *remote) Stats() Stats { return Stats{Requests: r.requests.Load(), Bytes: r.bytes.Load()} }

// Close ends requests that are under way.
func (r *remote) Close() error {
	r.shut()
	if r.content != nil {
		return r.content.Close()
	}
	return nil
}

// discover asks for the beginning of the file, and learns what the file is from the answer.
func (r *remote) discover(ctx context.Context) error {
	want := Range{Length: r.opts.HeadBytes}
	err := r.persist(ctx, want.Length, func(ctx context.Context) error {
		return r.ask(ctx, []Range{want}, r.learn)
	})
	var whole *onlyWhole
	if !errors.As(err, &whole) || !r.opts.Download {
		return err
	}
	return r.persist(ctx, whole.allowance(), func(ctx context.Context) error {
		return r.ask(ctx, nil, r.download)
	})
}

// learn takes the first answer.
func (r *remote) learn(a *answer) error {
	if err := a.plain(); err != nil {
		return err
	}
	r.noteStore(a)
	switch a.StatusCode {
	case http.StatusOK:
		return r.learnSmall(a)
	case http.StatusRequestedRangeNotSatisfiable:
		if a.empty() {
			r.id = a.identity(0)
			return nil
		}
	case http.StatusPartialContent:
		got, size, err := a.contentRange()
		if err != nil {
			return err
		}
		if want := min(r.opts.HeadBytes, size); got != (Range{Length: want}) {
			return wrongf("the server sent bytes %s, not 0-%d", show(got), want-1)
		}
		head := make([]byte, got.Length)
		if _, err := a.fill(head); err != nil {
			return err
		}
		r.id, r.head = a.identity(size), head
		return nil
	}
	return a.failure()
}

// ReadAt asks for a range. If the connection breaks, the rest is asked for.
func (r *remote) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	if r.content != nil {
		return r.content.readAt(ctx, p, off)
	}
	if len(p) == 0 {
		return 0, ctx.Err()
	}
	done := 0
	err := r.persist(ctx, int64(len(p)), func(ctx context.Context) error {
		rest := Range{Offset: off + int64(done), Length: int64(len(p) - done)}
		return r.ask(ctx, []Range{rest}, func(a *answer) error {
			n, err := r.take(a, p[done:], rest)
			done += n
			return err
		})
	})
	return done, err
}

// take reads the bytes of a range from the answer to asking for it.
func (r *remote) take(a *answer, p []byte, want Range) (int, error) {
	if err := a.plain(); err != nil {
		return 0, err
	}
	switch a.StatusCode {
	case http.StatusPartialContent:
		got, size, err := a.contentRange()
		if err != nil {
			return 0, err
		}
		if err := r.id.Check(a.identity(size)); err != nil {
			return 0, err
		}
		if got != want {
			return 0, wrongf("the server sent bytes %s, not %s", show(got), show(want))
		}
		return a.fill(p)
	case http.StatusOK:
		size := a.ContentLength
		if size < 0 {
			size = r.id.Size
		}
		if err := r.id.Check(a.identity(size)); err != nil {
			return 0, err
		}
		if a.ContentLength == want.Length && want.Offset == 0 {
			return a.fill(p)
		}
		return 0, wrongf("the server sent all of the file, not bytes %s; --download fetches it once: %w", show(want), errors.ErrUnsupported)
	case http.StatusRequestedRangeNotSatisfiable:
		if size, ok := a.unsatisfied(); ok && size != r.id.Size {
			return 0, fmt.Errorf("%w: it had %d bytes, now %d", ErrChanged, r.id.Size, size)
		}
	}
	return 0, a.failure()
}

// ask makes one request: for ranges, or for all of the file. It lasts as long as use does.
func (r *remote) ask(ctx context.Context, want []Range, use func(*answer) error) error {
	select {
	case r.slots <- struct{}{}:
		defer func() { <-r.slots }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	ctx, watch := watched(ctx, r.opts.Stall)
	defer watch.stop()
	target := r.target.Load()
	req, err := r.request(ctx, target, want)
	if err != nil {
		return err
	}
	resp, err := r.client.Do(req)
	if err != nil {
		r.target.CompareAndSwap(target, nil)
		return because(ctx, err)
	}
	defer resp.Body.Close()
	a := &answer{Response: resp, body: io.TeeReader(resp.Body, watch)}
	if err := use(a); err != nil {
		r.target.CompareAndSwap(target, nil)
		if target != nil && a.StatusCode/100 == 4 {
			err = &expired{err} // as addresses that are signed for a time do
		} else if r.hint != nil && errors.Is(err, fs.ErrPermission) {
			err = fmt.Errorf("%w (%s)", err, refusalHint(err, r.hint))
		}
		return because(ctx, err)
	}
	if last := resp.Request.URL; *last != *req.URL {
		r.target.Store(last)
	}
	return nil
}

func (r *remote) request(ctx context.Context, target *url.URL, want []Range) (*http.Request, error) {
	u := r.origin
	if target != nil {
		u = target
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	if sameHost(u, r.origin) {
		req.Header = r.header.Clone()
	}
	if len(want) > 0 {
		req.Header.Set("Range", "bytes="+showAll(want))
	}
	req.Header.Set("Accept-Encoding", "identity")
	if req.Header.Get("User-Agent") == "" {
		req.Header.Set("User-Agent", "varve")
	}
	switch {
	case r.id.strong():
		req.Header.Set("If-Match", r.id.ETag)
	case !r.id.Modified.IsZero():
		req.Header.Set("If-Unmodified-Since", r.id.Modified.UTC().Format(http.TimeFormat))
	}
	return req, nil
}

// sameHost reports whether what is meant for the host of b may go to a.
func sameHost(a, b *url.URL) bool {
	return strings.EqualFold(a.Host, b.Host) && (a.Scheme == b.Scheme || a.Scheme == "https")
}

// counting counts the requests of one source: each goes through it, redirected ones too.
type counting struct {
	http.RoundTripper
	remote *remote
}

// RoundTrip makes one request.
func (m *counting) RoundTrip(req *http.Request) (*http.Response, error) {
	m.remote.requests.Add(1)
	resp, err := m.RoundTripper.RoundTrip(req)
	if err == nil {
		resp.Body = &countedBody{resp.Body, &m.remote.bytes}
	}
	return resp, err
}

type countedBody struct {
	io.ReadCloser
	bytes *atomic.Int64
}

func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.bytes.Add(int64(n))
	return n, err
}

// stallBytes is what a request must bring to count as alive.
const stallBytes = 4 << 10

// watch gives up a request that brings too little.
type watch struct {
	every time.Duration
	timer *time.Timer
	since atomic.Int64
	end   context.CancelCauseFunc
}

// watched returns a context that ends when a request has not brought 4 KiB for as long as
// given. What the request brings, or takes, is to be written to the watch.
func watched(ctx context.Context, every time.Duration) (context.Context, *watch) {
	ctx, end := context.WithCancelCause(ctx)
	w := &watch{every: every, end: end}
	w.timer = time.AfterFunc(every, func() {
		end(&stalled{every})
	})
	return ctx, w
}

func (w *watch) Write(p []byte) (int, error) {
	if w.since.Add(int64(len(p))) >= stallBytes {
		w.since.Store(0)
		w.timer.Reset(w.every)
	}
	return len(p), nil
}

func (w *watch) stop() {
	w.timer.Stop()
	w.end(nil)
}
