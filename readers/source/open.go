package source

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Options say how sources are opened and read. What is zero is as docs/reference/sources.md says.
type Options struct {
	// CacheBytes bounds the memory of the blocks of all sources of an Opener.
	CacheBytes int64

	// HeadBytes is how much of a file on a server comes with opening it. Files up to this
	// size are read even from servers that send no ranges.
	HeadBytes int64
	// TailBytes is how much is read at once when metadata is read this near the end.
	TailBytes int64
	// AheadBytes bounds what is read at once when reads of metadata walk forward.
	AheadBytes int64
	// GapBytes is the most that is read for nothing to have one request instead of two.
	GapBytes int64
	// JoinedBytes bounds a request that is made of several.
	JoinedBytes int64
	// PartBytes is the size of the parts in which larger objects are stored.
	PartBytes int64
	// Parallel bounds the requests that a source has under way at a time.
	Parallel int

	// Attempts bounds how often a request is made that fails in a way that may pass.
	Attempts int
	// Backoff is the longest pause after the first attempt; it doubles with each.
	Backoff time.Duration
	// Stall is how long a request may go without bringing 4 KiB, or all that it should.
	Stall time.Duration
	// Patience bounds all attempts of a read together, with pauses; each MiB that is read
	// adds 16 s.
	Patience time.Duration
	// Redirects bounds how many redirects are followed in a row.
	Redirects int

	// Download fetches files from servers that send no ranges: once, into a temporary file
	// that is deleted when the source is closed.
	Download bool
	// TempDir is where temporary files go.
	TempDir string
	// Header goes with every request, but never to another host that a server names.
	Header map[string][]string
	// Allow, if set, is asked before a name is opened and before a redirect is followed.
	// Its error should be an ErrForbidden.
	Allow func(name string) error
	// Transport makes the requests instead of one that keeps connections open.
	Transport http.RoundTripper
}

// The values of options that are zero.
const (
	defaultHead      = 256 << 10
	defaultTail      = 256 << 10
	defaultAhead     = 4 << 20
	defaultGap       = 256 << 10
	defaultJoined    = 8 << 20
	defaultPart      = 16 << 20
	defaultParallel  = 8
	defaultAttempts  = 5
	defaultBackoff   = 200 * time.Millisecond
	defaultStall     = 20 * time.Second
	defaultPatience  = time.Minute
	defaultRedirects = 10
)

// DefaultOptions returns the options that nil stands for.
func DefaultOptions() Options { return Options{}.withDefaults() }

func (o Options) withDefaults() Options {
	set(&o.CacheBytes, defaultCacheBytes)
	set(&o.HeadBytes, defaultHead)
	set(&o.TailBytes, defaultTail)
	set(&o.AheadBytes, defaultAhead)
	set(&o.GapBytes, defaultGap)
	set(&o.JoinedBytes, defaultJoined)
	set(&o.PartBytes, defaultPart)
	set(&o.Parallel, defaultParallel)
	set(&o.Attempts, defaultAttempts)
	set(&o.Backoff, defaultBackoff)
	set(&o.Stall, defaultStall)
	set(&o.Patience, defaultPatience)
	set(&o.Redirects, defaultRedirects)
	return o
}

func set[T int | int64 | time.Duration](field *T, value T) {
	if *field <= 0 {
		*field = value
	}
}

// Opener opens sources that share the memory of one cache and the connections to servers.
// It may be used by any number of goroutines.
type Opener struct {
	opts      Options
	cache     *cache
	single    oneByOne // hosts
	stores    stores
	secrets   secrets
	transport http.RoundTripper
	own       *http.Transport // what transport is, if it was made here
}

// NewOpener returns an Opener; nil options are the defaults.
func NewOpener(opts *Options) *Opener {
	o := &Opener{}
	if opts != nil {
		o.opts = *opts
	}
	o.opts = o.opts.withDefaults()
	o.cache = newCache(o.opts.CacheBytes)
	o.transport = o.opts.Transport
	if o.transport == nil {
		o.own = newTransport(o.opts.Parallel)
		o.transport = o.own
	}
	return o
}

// Close closes the connections that nobody uses. Sources that are open stay so.
func (o *Opener) Close() error {
	if o.own != nil {
		o.own.CloseIdleConnections()
	}
	return nil
}

// Open opens a file or folder by its path, or by a URL of a scheme of the table.
func Open(ctx context.Context, name string) (*Source, error) {
	o := NewOpener(nil)
	s, err := o.Open(ctx, name)
	if err != nil {
		return nil, errors.Join(err, o.Close())
	}
	s.opener = o
	return s, nil
}

// Open opens a file or folder by its path, or by a URL of a scheme of the table.
func (o *Opener) Open(ctx context.Context, name string) (*Source, error) {
	return o.open(ctx, name, nil)
}

// OpenVersion opens the version of a file that somebody noted; if there is another by now,
// the error is ErrChanged. A server is asked when the first byte is read, and not before.
func (o *Opener) OpenVersion(ctx context.Context, name string, id Identity) (*Source, error) {
	return o.open(ctx, name, &id)
}

func (o *Opener) open(ctx context.Context, name string, id *Identity) (*Source, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if o.opts.Allow != nil {
		if err := o.opts.Allow(name); err != nil {
			return nil, err
		}
	}
	scheme, err := schemeOf(name)
	if err != nil {
		return nil, err
	}
	shown, ranges, err := scheme.open(ctx, o, name, id)
	if err != nil {
		return nil, err
	}
	return newSource(shown, ranges, o.cache), nil
}

// scheme says how names that begin with it are opened. The version to open is nil for
// whichever is there; the name that comes back is the one to show.
type scheme struct {
	name string // before "://"; empty for paths
	open func(ctx context.Context, o *Opener, name string, id *Identity) (string, Ranges, error)
}

// schemes is the one place that knows all kinds of storage.
func schemes() []scheme {
	return []scheme{
		{"", openPath},
		{"file", openPath},
		{"local", openPath},
		{"http", openURL},
		{"https", openURL},
		{"s3", openObject},
		{"gs", openObject},
		{"az", openObject},
	}
}

// schemeOf finds the scheme of a name. Colons are ordinary in names of files, so only what
// looks like a scheme in front of "://" is taken for one.
func schemeOf(name string) (scheme, error) {
	prefix := ""
	if IsURL(name) {
		prefix, _, _ = strings.Cut(name, "://")
	}
	var known []string
	for _, s := range schemes() {
		if s.name == strings.ToLower(prefix) {
			return s, nil
		}
		known = append(known, s.name)
	}
	return scheme{}, fmt.Errorf("%s: scheme %q is not one of %s (a file of that name is ./%s): %w",
		name, prefix, strings.Join(known[1:], ", "), name, errors.ErrUnsupported)
}

// IsURL reports whether a name begins with a scheme, known or not. A colon alone does not make a
// URL, and a letter before it is the drive of a path.
func IsURL(name string) bool {
	scheme, _, ok := strings.Cut(name, "://")
	return ok && looksLikeScheme(scheme)
}

func looksLikeScheme(s string) bool {
	return len(s) > 1 && !strings.ContainsFunc(s, func(r rune) bool {
		letter := 'a' <= r|0x20 && r|0x20 <= 'z'
		return !letter && (r < '0' || r > '9') && !slices.Contains([]rune("+-."), r)
	})
}

func openPath(ctx context.Context, _ *Opener, name string, id *Identity) (string, Ranges, error) {
	path, err := LocalPath(name)
	if err != nil {
		return "", nil, err
	}
	f, err := openFile(ctx, path)
	if errors.Is(err, errFolder) && id == nil {
		folder, err := newLocalFolder(ctx, path)
		if err != nil {
			return "", nil, err
		}
		return folder.root.Name(), folder, nil
	}
	if err != nil {
		return "", nil, err
	}
	if id != nil {
		if err := id.Check(f.id); err != nil {
			return "", nil, errors.Join(fmt.Errorf("%s: %w", name, err), f.Close())
		}
	}
	return name, f, nil
}

func openURL(ctx context.Context, o *Opener, name string, id *Identity) (string, Ranges, error) {
	u, err := parseURL(name)
	if err != nil {
		return "", nil, err
	}
	r := newRemote(o, o.secrets.whole(u))
	if id != nil && !o.opts.Download {
		r.id = *id
		return r.name, r, nil
	}
	err = r.discover(ctx)
	if err == nil && id != nil {
		err = id.Check(r.id)
	}
	if err != nil {
		return "", nil, errors.Join(fmt.Errorf("%s: %w", r.name, err), r.Close())
	}
	return r.name, r, nil
}

// parseURL refuses what a server would never see, since then another file would be read.
func parseURL(name string) (*url.URL, error) {
	u, err := url.Parse(name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", withoutUser(name), errors.Unwrap(err))
	}
	if u.Fragment == "mode=bytes" { // as netcdf-c wants it
		u.Fragment = ""
	}
	if u.Fragment != "" {
		return nil, fmt.Errorf("%s: a URL of a file has no fragment; write %%23 for #", withoutUser(name))
	}
	if u.Host == "" {
		return nil, fmt.Errorf("%s: the URL has no host", withoutUser(name))
	}
	return u, nil
}

// withoutUser removes from what is no URL what may be a password, and what may be a signature.
func withoutUser(name string) string {
	scheme, rest, _ := strings.Cut(name, "://")
	host, _, _ := strings.Cut(rest, "/")
	shown, _, _ := strings.Cut(rest[strings.LastIndexByte(host, '@')+1:], "?")
	return scheme + "://" + shown
}
