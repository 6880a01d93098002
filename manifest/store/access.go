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

// access says which sources may be read. A manifest names them, and a manifest may come from
// anywhere.
type access struct {
	everything bool
	folders    map[string]bool // absolute, as sameName has them
	urls       []*url.URL      // prefixes of others
	wanted     []string        // what the manifest would have to be allowed, if it says so
}

// newAccess takes prefixes as a user writes them.
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
	}
	return x, nil
}

// parsePrefix also takes what would be another place once a server has resolved it.
func parsePrefix(name string) (*url.URL, error) {
	u, err := url.Parse(name)
	if err != nil {
		return nil, fmt.Errorf("allowed prefix: %w", err)
	}
	if u.Host == "" || !source.URLWithin(u, u) {
		return nil, fmt.Errorf("allowed prefix %s: want scheme://host/path without . and .. in it", u.Redacted())
	}
	return u, nil
}

// open opens a source as it was when it was scanned, if it may be read.
func (x *access) open(ctx context.Context, o *source.Opener, s manifest.Source) (src *source.Source, err error) {
	switch {
	case x.everything:
		src, err = o.OpenVersion(ctx, s.URL, s.Identity())
	case isFar(s.URL):
		if err = x.checkURL(s.URL); err == nil {
			src, err = o.OpenVersion(ctx, s.URL, s.Identity())
		}
	default:
		src, err = x.openLocal(ctx, s)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s: %w: it is not there any more: %w", s.URL, source.ErrChanged, err)
	case source.IsNoFile(err):
		return nil, fmt.Errorf("%s: %w: %w", s.URL, source.ErrChanged, err)
	}
	return src, err
}

// openLocal opens a file that may be read, as it was when it was scanned.
func (x *access) openLocal(ctx context.Context, s manifest.Source) (*source.Source, error) {
	name, err := source.LocalPath(s.URL)
	if err == nil {
		name, err = filepath.Abs(name)
	}
	if err != nil {
		return nil, err
	}
	real, folder, err := x.find(s, name)
	if err != nil {
		return nil, err
	}
	src, err := source.OpenWithin(ctx, real, folder)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.URL, err)
	}
	if err := s.Identity().Check(src.Identity()); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", s.URL, err), src.Close())
	}
	return src, nil
}

// find follows all links of a path, and returns where it leads with the allowed folder that
// it then lies in. Whoever opens it as something in that is safe from links that change
// meanwhile.
func (x *access) find(s manifest.Source, name string) (real, folder string, err error) {
	if _, ok := x.within(name); !ok { // of a place that is not allowed nobody learns whether there is a file
		return "", "", x.forbid(s.URL, filepath.Dir(name))
	}
	if real, err = filepath.EvalSymlinks(name); err != nil {
		return "", "", err
	}
	folder, ok := x.within(real)
	if !ok {
		return "", "", x.forbid(s.URL, filepath.Dir(real))
	}
	return real, folder, nil
}

// checkFolder refuses a folder that may not be read.
func (x *access) checkFolder(s manifest.Source, path string) error {
	if x.everything {
		return nil
	}
	_, _, err := x.find(s, path)
	return err
}

// within is the outermost of the allowed folders that a path lies in, or the folder of one that
// is allowed as a file. Links that lead to allowed folders are followed only if it lies in none
// that is called so: the folders may be many, and are looked at for each source that is opened.
func (x *access) within(name string) (folder string, ok bool) {
	if folder, ok = outermost(x.folders, name); ok {
		return folder, true
	}
	places := make(map[string]bool, len(x.folders))
	for folder := range x.folders {
		places[sameName(followed(folder))] = true
	}
	return outermost(places, name)
}

// sameName is a path as all have it that name the same file: on Windows, whatever the case of its
// letters.
func sameName(path string) string {
	if runtime.GOOS == "windows" {
		return strings.ToLower(path)
	}
	return path
}

// outermost is the outermost of some folders that a path lies in.
func outermost(folders map[string]bool, name string) (folder string, ok bool) {
	if folders[sameName(name)] {
		folder, ok = filepath.Dir(name), true
	}
	for at := name; ; {
		up := filepath.Dir(at)
		if up == at {
			return folder, ok
		}
		if at = up; folders[sameName(at)] {
			folder, ok = at, true
		}
	}
}

func followed(name string) string {
	if real, err := filepath.EvalSymlinks(name); err == nil {
		return real
	}
	return name
}

// checkURL refuses a URL that no prefix allows, in the manifest or in a redirect.
func (x *access) checkURL(name string) error {
	if x.everything {
		return nil
	}
	u, err := source.ParseURL(name)
	if err != nil {
		return fmt.Errorf("%w: %w", source.ErrForbidden, err)
	}
	if slices.ContainsFunc(x.urls, func(p *url.URL) bool { return source.URLWithin(u, p) }) {
		return nil
	}
	return x.forbid(u.Redacted(), (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: path.Dir(u.Path)}).String())
}

// forbid says what would have to be allowed.
func (x *access) forbid(name, prefix string) error {
	wanted := x.wanted
	if len(wanted) == 0 {
		wanted = []string{prefix}
	}
	const most = 10
	more := ""
	if len(wanted) > most {
		wanted, more = wanted[:most], fmt.Sprintf(" and %d more", len(x.wanted)-most)
	}
	return fmt.Errorf("%s: %w: the manifest was not built by you here; if you trust it, allow %s%s", name, source.ErrForbidden, strings.Join(wanted, ", "), more)
}

// newOpener returns an opener that follows no redirect and calls no address that is not
// allowed.
func (x *access) newOpener(download bool) *source.Opener {
	if x.everything {
		return source.NewOpener(&source.Options{Download: download})
	}
	dialer := &net.Dialer{Timeout: 15 * time.Second, KeepAlive: 30 * time.Second, Control: x.checkAddress}
	return source.NewOpener(&source.Options{Download: download, Allow: x.checkURL, Transport: &http.Transport{
		DialContext:            dialer.DialContext,
		ForceAttemptHTTP2:      true,
		TLSHandshakeTimeout:    15 * time.Second,
		MaxIdleConns:           256,
		MaxIdleConnsPerHost:    farWorkers,
		IdleConnTimeout:        time.Minute,
		DisableCompression:     true,
		Proxy:                  http.ProxyFromEnvironment,
		MaxResponseHeaderBytes: 1 << 20,
	}})
}

// metadata are addresses at which clouds tell machines their secrets, beside the link-local
// ones.
var metadata = []netip.Addr{
	netip.MustParseAddr("100.100.100.200"), // Alibaba
	netip.MustParseAddr("168.63.129.16"),   // Azure
	netip.MustParseAddr("192.0.0.192"),     // Oracle
	netip.MustParseAddr("fd00:ec2::254"),   // Amazon
}

// checkAddress refuses link-local addresses and those of metadata services, whatever name led
// there, unless a prefix has the address itself for a host.
func (x *access) checkAddress(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%s: %w: %w", address, source.ErrForbidden, err)
	}
	ip := at.Addr().Unmap().WithZone("")
	if !ip.IsLinkLocalUnicast() && !ip.IsLinkLocalMulticast() && !slices.Contains(metadata, ip) {
		return nil
	}
	named := func(u *url.URL) bool {
		host, err := netip.ParseAddr(u.Hostname())
		return err == nil && host.Unmap().WithZone("") == ip
	}
	if slices.ContainsFunc(x.urls, named) {
		return nil
	}
	return fmt.Errorf("%s is the address of a machine's own services: %w unless a prefix names it", ip, source.ErrForbidden)
}

// accessFor is what a manifest may reach: what its reader allows and, if the same user built
// it here, what it was built of.
func accessFor(snap *manifest.Snapshot, opts *Options) (*access, error) {
	if opts.Trusted {
		return &access{everything: true}, nil
	}
	prefixes := slices.Clone(opts.Allow)
	if snap.Seal != nil && isSealed(snap.Seal) {
		prefixes = append(prefixes, snap.Seal.Prefixes...)
	}
	x, err := newAccess(slices.DeleteFunc(prefixes, func(p string) bool { return p == "" }))
	if err != nil {
		return nil, err
	}
	if snap.Seal != nil {
		x.wanted = snap.Seal.Prefixes
	}
	return x, nil
}
