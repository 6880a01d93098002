package source

import (
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"path"
	"slices"
	"sync"
	"time"
)

var errClosed = fmt.Errorf("reading: %w", fs.ErrClosed)

// maxHeaderBytes is the maximum size of an answer's headers.
const maxHeaderBytes = 256 << 10

// newTransport returns a transport that keeps idle connections open, and never decompresses. It connects only to allowed
// addresses.
func newTransport(a *addresses) *http.Transport {
	return &http.Transport{
		Proxy:                  a.proxy,
		DialContext:            a.dial,
		ForceAttemptHTTP2:      true,
		TLSHandshakeTimeout:    15 * time.Second,
		MaxIdleConns:           256,
		MaxIdleConnsPerHost:    MaxPerHost,
		IdleConnTimeout:        time.Minute,
		DisableCompression:     true,
		MaxResponseHeaderBytes: maxHeaderBytes,
	}
}

// redirectError is the error of a redirect that is not followed.
type redirectError struct {
	to  string
	err error
}

func (e *redirectError) Error() string {
	return fmt.Sprintf("the server redirects to %s: %v", e.to, e.err)
}

func (e *redirectError) Unwrap() error { return e.err }

// redirects are the places to which servers redirected requests.
type redirects struct {
	mu     sync.Mutex
	places map[string]bool
}

// maxRedirects limits the number of places that are remembered. A server may redirect every request to another one.
const maxRedirects = 4096

func (r *redirects) add(to *url.URL) {
	place := (&url.URL{Scheme: to.Scheme, Host: to.Host, Path: path.Dir(path.Clean("/" + to.Path))}).String()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.places == nil {
		r.places = map[string]bool{}
	}
	if len(r.places) < maxRedirects {
		r.places[place] = true
	}
}

// Redirects returns the places to which servers have redirected the requests for sources of o: URLs up to the last slash,
// sorted. Whoever reads the same sources later follows the same redirects.
func (o *Opener) Redirects() []string {
	o.followed.mu.Lock()
	defer o.followed.mu.Unlock()
	return slices.Sorted(maps.Keys(o.followed.places))
}

// checkRedirect returns an error if a redirect is not followed. Otherwise it removes headers that must not reach another
// host: credentials, and the Referer, because the redirecting address may be signed.
func (r *remote) checkRedirect(req *http.Request, via []*http.Request) error {
	if err := r.mayRedirect(req, via); err != nil {
		return &redirectError{req.URL.Scheme + "://" + req.URL.Host, err}
	}
	if r.credentials.isLoginHop(via[len(via)-1].URL, req.URL) {
		r.addresses.allow(req.URL.Hostname()) // the user named it in the access file
	} else {
		r.followed.add(req.URL)
	}
	req.Header.Del("Referer")
	// net/http removes only its own list of sensitive headers; Options.Header may have others.
	if !sameHost(req.URL, r.origin) {
		for key := range r.header {
			req.Header.Del(key)
		}
		req.Header.Set("User-Agent", "varve")
	}
	return nil
}

// mayRedirect returns an error if the request, after the requests via, may not be made.
func (r *remote) mayRedirect(req *http.Request, via []*http.Request) error {
	switch last := via[len(via)-1].URL; {
	case len(via) > r.opts.Redirects:
		return fmt.Errorf("more than %d redirects in a row", r.opts.Redirects)
	case req.URL.Scheme != "https" && req.URL.Scheme != "http":
		return fmt.Errorf("scheme %q, must be http or https", req.URL.Scheme)
	case last.Scheme == "https" && req.URL.Scheme == "http":
		return fmt.Errorf("a redirect from https must lead to https")
	}
	if r.credentials.isLoginHop(via[len(via)-1].URL, req.URL) {
		return nil
	}
	return r.opts.check(req.URL.String())
}
