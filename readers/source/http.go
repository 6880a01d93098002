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

// remote is a file on an HTTP server. It requests byte ranges:
//
//	GET /ocean.nc                        206 Partial Content
//	Range: bytes=65536-131071            Content-Range: bytes 65536-131071/52428800
//	If-Match: "5f1-61e8"                 ETag: "5f1-61e8"
//	Accept-Encoding: identity            Content-Length: 65536
//
// The first request returns the size and the version of the file, and its first bytes. Later requests are conditional on
// that version. Not every server evaluates conditions, so their answers are also compared with it.
type remote struct {
	name   string // for messages: without secrets
	origin *url.URL
	header http.Header // sent only to the origin's host
	opts   *Options
	single *oneByOne
	client *http.Client
	slots  chan struct{} // holds one element per request in progress
	host   *hostLimit
	hint   func(refused *url.URL) string // returns advice for a request that was denied; may be nil
	// credentials are of a server that is no object store; else nil.
	credentials *credentials

	id      Identity
	head    []byte // the bytes of the first request, until Prefetched returns them
	content *content
	// target is the address to which redirects led, so that later requests can skip the redirects.
	target   atomic.Pointer[url.URL]
	followed *redirects
	// addresses decides to which addresses the requests may go.
	addresses *addresses

	closing  context.Context
	shut     context.CancelFunc
	requests atomic.Int64
	bytes    atomic.Int64
	all      *totals
}

func newRemote(o *Opener, u *url.URL) *remote {
	r := &remote{opts: &o.opts, single: &o.single, followed: &o.followed, addresses: &o.addresses, header: http.Header{}, slots: make(chan struct{}, o.opts.Parallel)}
	for key, values := range o.opts.Header {
		r.header[http.CanonicalHeaderKey(key)] = values
	}
	if user := u.User; user != nil {
		password, _ := user.Password()
		r.header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+password)))
	}
	origin := *u
	origin.User, origin.Fragment = nil, ""
	r.host, r.all = o.hosts.of(origin.Host), &o.totals
	r.addresses.opened(origin.Hostname())
	r.origin, r.name = &origin, withoutSecrets(u, nil).String()
	r.client = &http.Client{Transport: &counting{o.transport, r}, CheckRedirect: r.checkRedirect}
	r.closing, r.shut = context.WithCancel(context.Background())
	return r
}

func (r *remote) Identity() Identity { return r.id }

// The size of blocks (16 KiB), and of a single read that was not announced. A block is large enough for most announced
// reads: a header, a node of an index.
const (
	remoteBlockBits = 14
	leastBytes      = 64 << 10
)

// BlockBits returns the binary logarithm of the size of blocks.
func (r *remote) BlockBits() int { return remoteBlockBits }

// Tuning returns the tuning of the Opener's options.
func (r *remote) Tuning() Tuning {
	o := r.opts
	return Tuning{Least: leastBytes, Ahead: o.AheadBytes, Tail: o.TailBytes, Gap: o.GapBytes, Joined: o.JoinedBytes, Parallel: o.Parallel}
}

// Prefetched returns the bytes of the first request.
func (r *remote) Prefetched() []byte {
	head := r.head
	r.head = nil
	return head
}

// Stats returns the number of requests, including redirects and repeated ones, and of bytes in bodies.
func (r *remote) Stats() Stats { return Stats{Requests: r.requests.Load(), Bytes: r.bytes.Load()} }

// Close ends requests in progress.
func (r *remote) Close() error {
	r.shut()
	if r.content != nil {
		return r.content.Close()
	}
	return nil
}

// discover requests the beginning of the file. It sets the identity of the file from the answer. If the server sends
// only whole files, it downloads the file, if Options.Download is set.
func (r *remote) discover(ctx context.Context) error {
	want := Range{Length: r.opts.HeadBytes}
	err := r.persist(ctx, want.Length, func(ctx context.Context) error {
		return r.ask(ctx, []Range{want}, r.learn)
	})
	var whole *NoRangesError
	if !errors.As(err, &whole) || !r.opts.Download {
		return err
	}
	return r.persist(ctx, whole.allowance(), func(ctx context.Context) error {
		return r.ask(ctx, nil, r.download)
	})
}

// learn sets the identity and the first bytes of the file from the first answer.
func (r *remote) learn(a *answer) error {
	if err := a.plain(); err != nil {
		return err
	}
	r.noteStore(a)
	switch a.StatusCode {
	case http.StatusOK:
		return r.learnSmall(a)
	case http.StatusRequestedRangeNotSatisfiable:
		// A range of an empty file is never satisfiable, so status 416 is the normal answer.
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

// ReadAt requests a range. If the connection breaks, it requests the rest.
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

// take reads the bytes of the range want from an answer. It returns the number of bytes read.
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
		// Some servers answer 200 if the range is the whole file.
		if a.ContentLength == want.Length && want.Offset == 0 {
			return a.fill(p)
		}
		return 0, wrongf("requested bytes %s: %w", show(want), &NoRangesError{Size: a.ContentLength})
	case http.StatusRequestedRangeNotSatisfiable:
		// The range was valid for the opened version, so the file must have shrunk.
		if size, ok := a.unsatisfied(); ok && size != r.id.Size {
			return 0, fmt.Errorf("%w: it had %d bytes, now %d", ErrChanged, r.id.Size, size)
		}
	}
	return 0, a.failure()
}

// ask makes one request, for ranges or for the whole file if want is empty, and calls use with the answer. The answer is
// valid until use returns.
func (r *remote) ask(ctx context.Context, want []Range, use func(*answer) error) error {
	ctx, watch := watched(ctx, r.opts.Stall)
	defer watch.stop()
	target := r.target.Load()
	req, err := r.request(ctx, target, want)
	if err != nil {
		return err
	}
	began := time.Now()
	resp, err := r.client.Do(req)
	if err == nil && resp.StatusCode < http.StatusInternalServerError && resp.StatusCode != http.StatusTooManyRequests {
		r.host.answered(time.Since(began))
	}
	if err != nil {
		r.target.CompareAndSwap(target, nil)
		return causeOf(ctx, err)
	}
	defer resp.Body.Close()
	a := &answer{Response: resp, body: io.TeeReader(resp.Body, watch)}
	err = r.credentials.checkLogin(a)
	if err == nil {
		err = use(a)
	}
	if err != nil {
		r.target.CompareAndSwap(target, nil)
		switch {
		case target != nil && a.StatusCode/100 == 4:
			err = &expired{err} // the target of a redirect is often signed and expires; try the origin again
		case a.StatusCode == http.StatusUnauthorized && r.endSession():
			err = &expired{err} // so do cookies of a login; try without
		case r.hint != nil && errors.Is(err, fs.ErrPermission):
			err = fmt.Errorf("%w (%s)", err, refusalHint(err, func() string { return r.hint(a.Request.URL) }))
		}
		return causeOf(ctx, err)
	}
	if last := resp.Request.URL; *last != *req.URL {
		r.target.Store(last)
	}
	return nil
}

// endSession forgets the cookies of the source's host, and reports whether there were any.
func (r *remote) endSession() bool { return r.credentials != nil && r.credentials.cookie.end(r.origin) }

// request returns a request for ranges, or for the whole file. target is the last target of redirects, or nil.
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

// sameHost reports whether credentials for b may be sent to a: the same host, with the same scheme or https.
func sameHost(a, b *url.URL) bool {
	return strings.EqualFold(a.Host, b.Host) && (a.Scheme == b.Scheme || a.Scheme == "https")
}

// counting counts the requests of one source, including redirected ones.
type counting struct {
	http.RoundTripper
	remote *remote
}

// RoundTrip makes one request.
func (m *counting) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := m.remote.addresses.checkNumber(req.URL); err != nil {
		return nil, err
	}
	m.remote.requests.Add(1)
	m.remote.all.requests.Add(1)
	resp, err := m.RoundTripper.RoundTrip(req)
	if err == nil {
		resp.Body = &countedBody{resp.Body, m.remote}
	}
	return resp, err
}

type countedBody struct {
	io.ReadCloser
	remote *remote
}

func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.remote.bytes.Add(int64(n))
	b.remote.all.bytes.Add(int64(n))
	return n, err
}

// stallBytes is the minimum number of bytes that a request must transfer per Options.Stall.
const stallBytes = 4 << 10

// watch ends a request that transfers too few bytes.
type watch struct {
	every time.Duration
	timer *time.Timer
	since atomic.Int64
	end   context.CancelCauseFunc
}

// watched returns a context that ends when fewer than stallBytes bytes were transferred in the time `every`. The caller
// writes transferred bytes to the watch.
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
