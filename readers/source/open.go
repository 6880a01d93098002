package source

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// Options are the options of an Opener. The defaults of zero values are in docs/reference/sources.md.
type Options struct {
	// CacheBytes is the maximum memory of the cached blocks of all sources. 0 means 16 MiB, and 4 MiB for each open source on a
	// server if that is more, up to 256 MiB.
	CacheBytes int64

	// HeadBytes is the number of bytes that opening a file on a server reads. Files up to this size can be read
	// even from servers that do not send byte ranges.
	HeadBytes int64
	// TailBytes is the size of the end of a file that is read at once when metadata in it is read.
	TailBytes int64
	// AheadBytes is the maximum number of bytes to read at once when reads of metadata move forward.
	AheadBytes int64
	// GapBytes is the maximum number of unneeded bytes to read so that one request replaces two.
	GapBytes int64
	// JoinedBytes is the maximum size of a request that replaces several.
	JoinedBytes int64
	// PartBytes is the size of the parts in which larger objects are stored.
	PartBytes int64
	// Parallel is the maximum number of requests of a source at a time.
	Parallel int

	// Attempts is the maximum number of attempts for a request.
	Attempts int
	// Backoff is the maximum pause after the first attempt. The maximum doubles with each attempt.
	Backoff time.Duration
	// Stall is the time after which a request ends that has transferred less than 4 KiB.
	Stall time.Duration
	// Patience is the time limit for all attempts of a read, including pauses. Each MiB of the read adds 16 s.
	Patience time.Duration
	// Redirects is the maximum number of redirects in a row.
	Redirects int

	// Download is the remedy for NoRangesError: it downloads files from servers that do not send byte ranges, once,
	// to a temporary file that is removed when the source is closed.
	Download bool
	// TempDir is the folder of temporary files.
	TempDir string
	// Header is sent with every request, but not to other hosts to which a server redirects.
	Header map[string][]string
	// Access has the credentials for servers and buckets. Nil means that of SetDefaultAccess, or else UserAccess.
	Access *Access
	// Allow, if set, is called before a name is opened and before a redirect is followed. Its error prevents that,
	// and should be an ErrForbidden.
	Allow func(name string) error
	// Transport, if set, makes the requests. It is responsible for the addresses that names of hosts resolve to.
	Transport http.RoundTripper
	// Schemes opens the names of further schemes, by the lower-case text before "://". The schemes of varve cannot be
	// replaced.
	Schemes map[string]OpenFunc
	// Trace, if set, is called for each read from the storage, except reads of the cache.
	Trace TraceFunc
}

// OpenFunc opens a name of a scheme for reading. A missing file is an fs.ErrNotExist. The Ranges must read the version that
// Identity names until it is closed, or return ErrChanged.
type OpenFunc func(ctx context.Context, name string) (Ranges, error)

// The defaults of options.
const (
	defaultHead      = 256 << 10
	defaultTail      = 256 << 10
	defaultAhead     = 4 << 20
	defaultGap       = 256 << 10
	defaultJoined    = 8 << 20
	defaultPart      = 16 << 20
	defaultParallel  = MaxPerHost // so that the limit of the host decides
	defaultAttempts  = 5
	defaultBackoff   = 200 * time.Millisecond
	defaultStall     = 20 * time.Second
	defaultPatience  = time.Minute
	defaultRedirects = 10
)

// DefaultOptions returns the options that NewOpener(nil) uses.
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

// set sets a field to its default unless it is positive.
func set[T int | int64 | time.Duration](field *T, value T) {
	if *field <= 0 {
		*field = value
	}
}

// Opener opens sources. Its sources share a cache and the connections to servers. Any number of goroutines may use it.
type Opener struct {
	opts     Options
	real     func(name string) (path string, err error) // of Restrict; may be nil
	followed redirects
	*shared
}

// shared is the state of an Opener. The openers that Restrict makes from it use the same state.
type shared struct {
	cache     *cache
	single    oneByOne
	hosts     hostLimits
	addresses addresses
	totals    totals
	stores    stores
	secrets   secrets
	unpacked  unpackedCache
	spans     spanCache
	user      accessOnce
	sessions  sessions
	transport http.RoundTripper
	own       *http.Transport // the same as transport, unless Options.Transport is set
}

// totals count the requests and bytes of all sources of an Opener.
type totals struct{ requests, bytes atomic.Int64 }

// Stats returns the requests to servers, and the bytes of their answers, of all sources that o opened.
func (o *Opener) Stats() Stats {
	return Stats{Requests: o.totals.requests.Load(), Bytes: o.totals.bytes.Load()}
}

// NewOpener returns an Opener. If opts is nil, it uses the defaults.
func NewOpener(opts *Options) *Opener {
	o := &Opener{shared: &shared{}}
	if opts != nil {
		o.opts = *opts
	}
	grows := o.opts.CacheBytes <= 0
	o.opts = o.opts.withDefaults()
	o.cache = newCache(o.opts.CacheBytes)
	o.cache.grows = grows
	o.transport = o.opts.Transport
	if o.transport == nil {
		o.own = newTransport(&o.addresses)
		o.transport = o.own
	}
	return o
}

// Restrict returns an Opener that shares the connections, caches and secrets of o, and opens less: see Options.Allow. A local
// file is opened at the path without links that real returns. Redirects returns only the redirects of its own requests.
func (o *Opener) Restrict(allow func(name string) error, real func(name string) (path string, err error)) *Opener {
	r := &Opener{opts: o.opts, real: real, shared: o.shared}
	r.opts.Allow = allow
	if before := o.opts.Allow; before != nil {
		r.opts.Allow = func(name string) error {
			if err := before(name); err != nil {
				return err
			}
			return allow(name)
		}
	}
	return r
}

// Check returns the error of Options.Allow for a name, without opening it.
func (o *Opener) Check(name string) error {
	if o == nil {
		return nil
	}
	return o.opts.check(Outer(name))
}

// check returns the error of Allow for a name.
func (o *Options) check(name string) error {
	if o.Allow == nil {
		return nil
	}
	return o.Allow(name)
}

// Close closes idle connections. Open sources stay open.
func (o *Opener) Close() error {
	if o.own != nil {
		o.own.CloseIdleConnections()
	}
	return nil
}

// Open opens a file or folder, given by a path or a URL, with default options. The function schemes lists the supported
// URLs.
func Open(ctx context.Context, name string) (*Source, error) {
	o := NewOpener(nil)
	s, err := o.Open(ctx, name)
	if err != nil {
		return nil, errors.Join(err, o.Close())
	}
	s.opener = o
	return s, nil
}

// Open opens a file or folder, given by a path or a URL.
func (o *Opener) Open(ctx context.Context, name string) (*Source, error) {
	return o.open(ctx, name, nil)
}

// OpenVersion opens a version of a file that is known from earlier. If the file has another version now, the error is
// ErrChanged; for a file on a server, the first read returns it.
func (o *Opener) OpenVersion(ctx context.Context, name string, id Identity) (*Source, error) {
	return o.open(ctx, name, &id)
}

func (o *Opener) open(ctx context.Context, name string, id *Identity) (*Source, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if p, ok := parsePacked(name); ok {
		return o.openPacked(ctx, p, id)
	}
	if err := o.opts.check(name); err != nil {
		return nil, err
	}
	if err := CheckPipeline(name); err != nil {
		return nil, err
	}
	scheme, err := o.schemeOf(name)
	if err != nil {
		return nil, err
	}
	shown, ranges, err := scheme.open(ctx, o, name, id)
	if err != nil {
		return nil, err
	}
	s := newSource(shown, ranges, o.cache)
	s.trace = o.opts.Trace
	return s, nil
}

// scheme is a scheme of URLs.
type scheme struct {
	name string // the text before "://"; empty for paths
	// open opens a name. If id is not nil, it opens that version. It returns the name for messages, without secrets.
	open func(ctx context.Context, o *Opener, name string, id *Identity) (string, Ranges, error)
}

// schemes returns all supported schemes. A new kind of storage is added here.
func (o *Opener) schemes() []scheme {
	list := []scheme{
		{"", openPath},
		{"file", openPath},
		{"local", openPath},
		{"http", openURL},
		{"https", openURL},
		{"s3", openObject},
		{"gs", openObject},
		{"az", openObject},
	}
	for _, name := range registeredSchemes() {
		list = append(list, scheme{name, openObject})
	}
	for _, name := range slices.Sorted(maps.Keys(o.opts.Schemes)) {
		list = append(list, scheme{name, openOther(o.opts.Schemes[name])})
	}
	return list
}

// openOther returns the function of a scheme of Options.Schemes.
func openOther(open OpenFunc) func(context.Context, *Opener, string, *Identity) (string, Ranges, error) {
	return func(ctx context.Context, _ *Opener, name string, id *Identity) (string, Ranges, error) {
		shown := Shown(name)
		r, err := open(ctx, name)
		if err != nil {
			return "", nil, fmt.Errorf("%s: %w", shown, err)
		}
		if id != nil {
			if err := id.Check(r.Identity()); err != nil {
				return "", nil, errors.Join(fmt.Errorf("%s: %w", shown, err), r.Close())
			}
		}
		return shown, r, nil
	}
}

// schemeOf returns the scheme of a name. A colon can occur in the name of a file, so only a valid scheme before "://" counts.
func (o *Opener) schemeOf(name string) (scheme, error) {
	prefix := ""
	if IsURL(name) {
		prefix, _, _ = strings.Cut(name, "://")
	}
	var known []string
	for _, s := range o.schemes() {
		if s.name == strings.ToLower(prefix) {
			return s, nil
		}
		known = append(known, s.name)
	}
	return scheme{}, fmt.Errorf("%s: scheme %q is not supported (%s are); write ./%s for a file of that name: %w",
		name, prefix, strings.Join(known[1:], ", "), name, errors.ErrUnsupported)
}

// IsURL reports whether a name begins with a scheme and "://", whether the scheme is supported or not. A single letter is the
// drive of a Windows path, not a scheme.
func IsURL(name string) bool {
	scheme, _, ok := strings.Cut(name, "://")
	return ok && looksLikeScheme(scheme)
}

// CheckWritable returns an error for a URL where nothing can be stored. As a path it would name a folder such as "http:".
func CheckWritable(name string) error {
	if !IsURL(name) || IsObject(name) {
		return nil
	}
	shown := Shown(name)
	base := shown[strings.LastIndexByte(shown, '/')+1:]
	return fmt.Errorf("%s: varve cannot write to this URL; name a local path, such as ./%s, or a place in an object store, such as s3://bucket/%s: %w",
		shown, base, base, errors.ErrUnsupported)
}

// looksLikeScheme reports whether s has the form of a scheme.
func looksLikeScheme(s string) bool {
	return len(s) > 1 && !strings.ContainsFunc(s, func(r rune) bool {
		letter := 'a' <= r|0x20 && r|0x20 <= 'z'
		return !letter && (r < '0' || r > '9') && !slices.Contains([]rune("+-."), r)
	})
}

// openPath opens a local file or folder.
func openPath(ctx context.Context, o *Opener, name string, id *Identity) (string, Ranges, error) {
	path, err := LocalPath(name)
	if err != nil {
		return "", nil, err
	}
	f, err := o.openFile(ctx, name, path)
	if errors.Is(err, errFolder) && id == nil {
		return o.openFolder(ctx, name, path)
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

// openFile opens a local file.
func (o *Opener) openFile(ctx context.Context, name, path string) (*file, error) {
	if o.real == nil {
		return openFile(ctx, path)
	}
	real, err := o.real(name)
	if err != nil {
		return nil, err
	}
	f, err := OpenReal(real)
	if err != nil {
		return nil, err
	}
	return fromFile(f)
}

// openFolder opens a local folder.
func (o *Opener) openFolder(ctx context.Context, name, path string) (string, Ranges, error) {
	real := path
	if o.real != nil {
		var err error
		if real, err = o.real(name); err != nil {
			return "", nil, err
		}
	}
	folder, err := newLocalFolder(ctx, real)
	switch {
	case err != nil:
		return "", nil, err
	case o.real != nil:
		return filepath.Clean(path), folder, nil
	}
	return folder.root.Name(), folder, nil
}

// openURL opens a file on an HTTP server.
func openURL(ctx context.Context, o *Opener, name string, id *Identity) (string, Ranges, error) {
	u, err := parseURL(name)
	if err != nil {
		return "", nil, err
	}
	whole, shown := o.secrets.find(u)
	r := newRemote(o, whole)
	r.name = shown
	if err := o.authorized(r); err != nil {
		return "", nil, fmt.Errorf("%s: %w", r.name, err)
	}
	// Each read checks the version, so opening a known one needs no request.
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

// CheckStored returns an error unless a request for the stored name of a remembered source finds the given version. The request
// has the credentials of the access file and headers, but no parameters that are not stored.
func (o *Opener) CheckStored(ctx context.Context, stored string, id Identity) error {
	u, err := parseURL(Outer(stored))
	if err != nil {
		return err
	}
	r := newRemote(o, u)
	opts := o.opts
	opts.Download = false // the size is enough
	r.name, r.opts = u.String(), &opts
	if err = o.authorized(r); err == nil {
		err = r.discover(ctx)
	}
	var whole *NoRangesError
	if errors.As(err, &whole) && o.opts.Download && (whole.Size < 0 || whole.Size == id.Size) {
		err = nil
	} else if err == nil {
		err = id.Check(r.id)
	}
	return errors.Join(err, r.Close())
}

// parseURL parses a URL, and removes "." and ".." from its path as clients of HTTP do. It returns an error for a fragment:
// the server would not get it, so another file would be read.
func parseURL(name string) (*url.URL, error) {
	u, err := url.Parse(name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", withoutUser(name), errors.Unwrap(err))
	}
	if u.Fragment == "mode=bytes" { // netcdf-c requires it, so users have such URLs
		u.Fragment = ""
	}
	if u.Fragment != "" {
		return nil, fmt.Errorf("%s: the URL of a file cannot have a fragment; write %%23 for #", withoutUser(name))
	}
	if u.Host == "" {
		return nil, fmt.Errorf("%s: the URL has no host", withoutUser(name))
	}
	whole := u.ResolveReference(&url.URL{RawQuery: u.RawQuery, ForceQuery: u.ForceQuery})
	whole.User = u.User
	return whole, nil
}

// withoutUser removes everything that may be a password or a signature from a name that is not a valid URL.
func withoutUser(name string) string {
	scheme, rest, _ := strings.Cut(name, "://")
	host, _, _ := strings.Cut(rest, "/")
	shown, _, _ := strings.Cut(rest[strings.LastIndexByte(host, '@')+1:], "?")
	return scheme + "://" + shown
}
