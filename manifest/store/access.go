package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"varve/manifest"
	"varve/readers/source"
)

// access decides which sources may be read. That is necessary because somebody else may have written the
// manifest, and so have chosen the names of the sources.
type access struct {
	isUnlimited bool
	folders     map[string]bool // absolute, normalised by sameName; a link is listed with where it led when access was granted
	urls        []*url.URL      // prefixes of remote sources
	wanted      []string        // the prefixes to allow for the whole manifest, if its seal lists them
	isOwn       bool            // this user built the manifest, or trusts it
	manifest    string          // its name, if it has one
}

// newAccess returns access to the given prefixes, in the form in which a user writes them. A folder that is a link is
// resolved now: the user allows what it leads to, and not what it may lead to later.
func newAccess(prefixes []string) (*access, error) {
	x := &access{folders: map[string]bool{}}
	for _, prefix := range prefixes {
		if isFar(prefix) {
			u, err := parsePrefix(prefix)
			if err != nil {
				return nil, err
			}
			x.urls = append(x.urls, u)
			continue
		}
		folder, err := source.LocalPath(prefix)
		if err == nil {
			folder, err = filepath.Abs(folder)
		}
		if err != nil {
			return nil, fmt.Errorf("allowed prefix: %w", err)
		}
		x.folders[sameName(folder)] = true
		x.folders[sameName(resolveLinks(folder))] = true
	}
	return x, nil
}

// addSealed adds the prefixes of a seal. They are not resolved again: a seal has the folders to which links led when it
// was made, and if a folder was replaced by a link since, that leads to another place.
func (x *access) addSealed(prefixes []string) error {
	for _, prefix := range prefixes {
		if !isFar(prefix) {
			x.folders[sameName(prefix)] = true
			continue
		}
		u, err := parsePrefix(prefix)
		if err != nil {
			return err
		}
		x.urls = append(x.urls, u)
	}
	return nil
}

// parsePrefix parses an allowed URL. It rejects . and .. in it, because a server would resolve them to
// another location.
func parsePrefix(name string) (*url.URL, error) {
	u, err := url.Parse(name)
	if err != nil {
		return nil, fmt.Errorf("allowed prefix: %w", err)
	}
	if u.Host == "" || !source.URLWithin(u, u) {
		return nil, fmt.Errorf("allowed prefix %s: want scheme://host/path, and no . or .. between slashes", u.Redacted())
	}
	return u, nil
}

// open opens the version of a source that was scanned, if it may be read. Of a packed file, it opens the outer file.
func (x *access) open(ctx context.Context, o *source.Opener, s manifest.Source) (src *source.Source, err error) {
	s.URL = source.Outer(s.URL)
	switch {
	case x.isUnlimited:
		src, err = o.OpenVersion(ctx, s.URL, s.Identity())
	case isFar(s.URL):
		if err = x.checkURL(s.URL); err == nil {
			src, err = o.OpenVersion(ctx, s.URL, s.Identity())
		}
	default:
		src, err = x.openLocal(s)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &missingError{s.URL, err}
	case source.IsNoFile(err):
		return nil, fmt.Errorf("%s: %w: %w", s.URL, source.ErrChanged, err)
	}
	return src, err
}

// check returns an error if a source may not be read. It looks at its name only.
func (x *access) check(s manifest.Source) error {
	if x.isUnlimited {
		return nil
	}
	s.URL = source.Outer(s.URL)
	if isFar(s.URL) {
		return x.checkURL(s.URL)
	}
	name, err := absolutePath(s)
	if err != nil || x.within(name) {
		return err
	}
	return x.forbid(s.URL, filepath.Dir(name))
}

// absolutePath returns the path of a local source.
func absolutePath(s manifest.Source) (string, error) {
	name, err := source.LocalPath(s.URL)
	if err != nil {
		return "", err
	}
	return filepath.Abs(name)
}

// openLocal opens the version of a local file that was scanned, if it may be read.
func (x *access) openLocal(s manifest.Source) (*source.Source, error) {
	name, err := absolutePath(s)
	if err != nil {
		return nil, err
	}
	real, err := x.find(s, name)
	if err != nil {
		return nil, err
	}
	src, err := source.OpenRealSource(s.URL, real)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.URL, err)
	}
	if err := s.Identity().Check(src.Identity()); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", s.URL, err), src.Close())
	}
	return src, nil
}

// find resolves all symbolic links of a path, and returns the real path if it may be read. The caller opens it with
// source.OpenReal: then a folder that becomes a link in the meantime cannot lead to another file.
func (x *access) find(s manifest.Source, name string) (real string, err error) {
	// Check the path before resolving it: the error must not reveal whether a file outside the allowed
	// folders exists.
	if !x.within(name) {
		return "", x.forbid(s.URL, filepath.Dir(name))
	}
	if real, err = filepath.EvalSymlinks(name); err != nil {
		return "", err
	}
	// A link inside an allowed folder may lead out of it, so check again.
	if !x.within(real) {
		refused := x.forbid(s.URL, filepath.Dir(real))
		refused.Target = real
		return "", refused
	}
	return real, nil
}

// checkFolder returns an error if a folder may not be read.
func (x *access) checkFolder(s manifest.Source, path string) error {
	if x.isUnlimited {
		return nil
	}
	_, err := x.find(s, path)
	return err
}

// within reports whether an absolute path is an allowed file or folder, or is in one.
func (x *access) within(name string) bool {
	for at := name; ; {
		if x.folders[sameName(at)] {
			return true
		}
		up := filepath.Dir(at)
		if up == at {
			return false
		}
		at = up
	}
}

// sameName returns a form of a path that is equal for all spellings of the path: lower case on Windows,
// which ignores case.
func sameName(path string) string {
	if runtime.GOOS == "windows" {
		return strings.ToLower(path)
	}
	return path
}

func resolveLinks(name string) string {
	if real, err := filepath.EvalSymlinks(name); err == nil {
		return real
	}
	return name
}

// checkURL returns an error if no prefix allows a URL of the manifest or of a redirect.
func (x *access) checkURL(name string) error {
	if x.isUnlimited {
		return nil
	}
	u, err := source.ParseURL(name)
	if err != nil {
		return fmt.Errorf("%w: %w", source.ErrForbidden, err)
	}
	if slices.ContainsFunc(x.urls, func(p *url.URL) bool { return source.URLWithin(u, p) }) {
		return nil
	}
	return x.forbid(source.Shown(name), (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: path.Dir(u.Path)}).String())
}

// ForbiddenError is returned if a source may not be read, because somebody else built the manifest, or a link leads to
// another place than when it was built, and Options.Allow does not contain the source. It wraps source.ErrForbidden.
type ForbiddenError struct {
	Source   string
	Allow    []string // folders and URLs that the manifest reads, for Options.Allow
	Target   string   // where symbolic links lead, if the source's own path is allowed
	Manifest string   // the name of the manifest, if it has one
	IsOwn    bool     // this user built the manifest, or trusts it
}

// Error names the source, the reason and the places to allow.
func (e *ForbiddenError) Error() string {
	const most = 10
	allow, more := e.Allow, ""
	if len(allow) > most {
		allow, more = allow[:most], fmt.Sprintf(" and %d more", len(e.Allow)-most)
	}
	return fmt.Sprintf("%s: %v: %s. If you trust it, allow %s%s", e.Source, source.ErrForbidden, e.Reason(), strings.Join(allow, ", "), more)
}

// Reason says why the source may not be read.
func (e *ForbiddenError) Reason() string {
	switch {
	case e.Target != "":
		return "a symbolic link leads to " + e.Target + ", which is outside of the allowed folders"
	case e.IsOwn:
		return "it is outside of the folders that were allowed when the manifest was built"
	}
	return "someone else built this manifest"
}

// Unwrap makes it a source.ErrForbidden.
func (e *ForbiddenError) Unwrap() error { return source.ErrForbidden }

// missingError is returned for a source that no longer exists. It wraps source.ErrChanged.
type missingError struct {
	source string
	err    error
}

func (e *missingError) Error() string   { return e.source + ": the source is missing" }
func (e *missingError) Unwrap() []error { return []error{source.ErrChanged, e.err} }

// forbid returns the error for a source that may not be read. The source's own prefix comes first if the seal does
// not contain it: an append by another user seals only the folders of its own sources.
func (x *access) forbid(name, prefix string) *ForbiddenError {
	allow := x.wanted
	sealed := &access{folders: map[string]bool{}}
	if err := sealed.addSealed(allow); err != nil || !sealed.contains(prefix) {
		allow = append([]string{prefix}, allow...)
	}
	return &ForbiddenError{Source: name, Allow: allow, Manifest: x.manifest, IsOwn: x.isOwn}
}

// contains reports whether a folder or URL is within an allowed one.
func (x *access) contains(prefix string) bool {
	if !isFar(prefix) {
		return x.within(prefix)
	}
	u, err := url.Parse(prefix)
	return err == nil && slices.ContainsFunc(x.urls, func(p *url.URL) bool { return source.URLWithin(u, p) })
}

// newOpener returns an opener that follows only allowed redirects and connects only to allowed
// addresses.
func (x *access) newOpener(download bool, trace source.TraceFunc) *source.Opener {
	if x.isUnlimited {
		return source.NewOpener(&source.Options{Download: download, Trace: trace})
	}
	dialer := &net.Dialer{Timeout: 15 * time.Second, KeepAlive: 30 * time.Second, Control: x.checkAddress}
	return source.NewOpener(&source.Options{Download: download, Trace: trace, Allow: x.checkURL, Transport: &http.Transport{
		DialContext:            dialer.DialContext,
		ForceAttemptHTTP2:      true,
		TLSHandshakeTimeout:    15 * time.Second,
		MaxIdleConns:           256,
		MaxIdleConnsPerHost:    source.MaxPerHost,
		IdleConnTimeout:        time.Minute,
		DisableCompression:     true,
		Proxy:                  http.ProxyFromEnvironment,
		MaxResponseHeaderBytes: 1 << 20,
	}})
}

// metadata are the addresses of cloud services that give a machine its credentials. Link-local addresses
// are checked separately.
var metadata = []netip.Addr{
	netip.MustParseAddr("100.100.100.200"), // Alibaba
	netip.MustParseAddr("168.63.129.16"),   // Azure
	netip.MustParseAddr("192.0.0.192"),     // Oracle
	netip.MustParseAddr("fd00:ec2::254"),   // Amazon
}

// checkAddress rejects link-local addresses and addresses of metadata services, even if an allowed host name
// resolved to them. It accepts such an address if it is itself the host of an allowed prefix.
func (x *access) checkAddress(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%s: %w: %w", address, source.ErrForbidden, err)
	}
	ip := at.Addr().Unmap().WithZone("")
	if !ip.IsLinkLocalUnicast() && !ip.IsLinkLocalMulticast() && !slices.Contains(metadata, ip) {
		return nil
	}
	isHost := func(u *url.URL) bool {
		host, err := netip.ParseAddr(u.Hostname())
		return err == nil && host.Unmap().WithZone("") == ip
	}
	if slices.ContainsFunc(x.urls, isHost) {
		return nil
	}
	return fmt.Errorf("%s is an address of metadata or link-local services: %w; allow a prefix with this address if you need it", ip, source.ErrForbidden)
}

// grantAccess returns the access of a store: the prefixes that the caller allows and, if this user built the manifest
// or trusts it, the prefixes of its sources. name is the name of the manifest, or empty.
func grantAccess(snap *manifest.Snapshot, name string, opts *Options) (*access, error) {
	if opts.Trusted {
		return &access{isUnlimited: true}, nil
	}
	x, err := newAccess(slices.DeleteFunc(slices.Clone(opts.Allow), func(p string) bool { return p == "" }))
	if err != nil {
		return nil, err
	}
	x.manifest = name
	if snap.Seal != nil {
		x.wanted = snap.Seal.Prefixes
	}
	if snap.Seal != nil && isSealed(snap.Seal) {
		x.isOwn = true
		if err := x.addSealed(snap.Seal.Prefixes); err != nil {
			return nil, err
		}
	}
	trusted := trustedPrefixes(name)
	x.isOwn = x.isOwn || len(trusted) > 0
	return x, x.addSealed(trusted)
}
