package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"net/url"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"varve/manifest"
	"varve/readers/source"
)

// Access decides which sources of a manifest may be read. That is necessary because somebody else may have written the
// manifest, and so have chosen the names of the sources. It has no exported fields; NewAccess makes it.
type Access struct {
	isUnlimited bool
	folders     map[string]bool // absolute, normalised by sameName; a link is listed with where it led when access was granted
	urls        []*url.URL      // prefixes of remote sources
	wanted      []string        // the prefixes to allow for the whole manifest, if its seal lists them
	isOwn       bool            // this user built the manifest, or trusts it
	isPart      bool            // scan parts name the sources, and no manifest
	manifest    string          // its name, if it has one
}

// newAccess returns access to the given prefixes, in the form in which a user writes them. A folder that is a link is
// resolved now: the user allows what it leads to, and not what it may lead to later.
func newAccess(prefixes []string) (*Access, error) {
	x := &Access{folders: map[string]bool{}}
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
func (x *Access) addSealed(prefixes []string) error {
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

// openVersion opens the version of a source that was scanned with an opener of Access.Opener. Of a packed file, it opens
// the outer file.
func openVersion(ctx context.Context, o *source.Opener, s manifest.Source) (*source.Source, error) {
	s.URL = source.Outer(s.URL)
	src, err := o.OpenVersion(ctx, s.URL, s.Identity())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &missingError{s.URL, err}
	case source.IsNoFile(err):
		return nil, fmt.Errorf("%s: %w: %w", s.URL, source.ErrChanged, err)
	}
	return src, err
}

// Opener returns an opener with the connections of o that opens only sources that may be read. It follows redirects and
// symbolic links only to such sources.
func (x *Access) Opener(o *source.Opener) *source.Opener {
	for _, u := range x.urls {
		o.AllowPrivate(u.String())
	}
	if x.isUnlimited {
		return o
	}
	return o.Restrict(x.Check, x.real)
}

// Include allows the sources that the user named, and more places, as the seal of a manifest with them does.
func (x *Access) Include(places []string, urls iter.Seq[string]) error {
	prefixes, err := prefixesOf(urls, true)
	if err != nil {
		return err
	}
	return x.addSealed(slices.Concat(prefixes, places))
}

// AddSeal allows the prefixes of the seal of a scan part, and returns them, if this user made it. Otherwise errors name them.
func (x *Access) AddSeal(seal *manifest.Seal) ([]string, error) {
	switch {
	case seal == nil:
		return nil, nil
	case !isSealed(seal):
		x.wanted = append(slices.Clip(x.wanted), seal.Prefixes...)
		return nil, nil
	}
	return seal.Prefixes, x.addSealed(seal.Prefixes)
}

// Check returns an error if a source, which is not packed, may not be read. It looks at its name only.
func (x *Access) Check(name string) error {
	if x.isUnlimited {
		return nil
	}
	if isFar(name) {
		return x.checkURL(name)
	}
	path, err := absolutePath(name)
	if err != nil || x.within(path) {
		return err
	}
	return x.forbid(name, filepath.Dir(path))
}

// absolutePath returns the path of a local source.
func absolutePath(name string) (string, error) {
	path, err := source.LocalPath(name)
	if err != nil {
		return "", err
	}
	return filepath.Abs(path)
}

// real returns the real path of a local source, if it may be read.
func (x *Access) real(name string) (string, error) {
	path, err := absolutePath(name)
	if err != nil {
		return "", err
	}
	return x.find(name, path)
}

// find resolves all symbolic links of a path, and returns the real path if it may be read. The caller opens it with
// source.OpenReal: then a folder that becomes a link in the meantime cannot lead to another file.
func (x *Access) find(shown, name string) (real string, err error) {
	// Check the path before resolving it: the error must not reveal whether a file outside the allowed
	// folders exists.
	if !x.within(name) {
		return "", x.forbid(shown, filepath.Dir(name))
	}
	if real, err = filepath.EvalSymlinks(name); err != nil {
		return "", err
	}
	// A link inside an allowed folder may lead out of it, so check again.
	if !x.within(real) {
		refused := x.forbid(shown, filepath.Dir(real))
		refused.Target = real
		return "", refused
	}
	return real, nil
}

// checkFolder returns an error if a folder may not be read.
func (x *Access) checkFolder(s manifest.Source, path string) error {
	if x.isUnlimited {
		return nil
	}
	_, err := x.find(s.URL, path)
	return err
}

// within reports whether an absolute path is an allowed file or folder, or is in one.
func (x *Access) within(name string) bool {
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
func (x *Access) checkURL(name string) error {
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
	IsPart   bool     // a scan part names the source, and no manifest
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
	case e.IsPart:
		return "someone else made the scan part that names it"
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
func (x *Access) forbid(name, prefix string) *ForbiddenError {
	allow := x.wanted
	sealed := &Access{folders: map[string]bool{}}
	if err := sealed.addSealed(allow); err != nil || !sealed.contains(prefix) {
		allow = append([]string{prefix}, allow...)
	}
	return &ForbiddenError{Source: name, Allow: allow, Manifest: x.manifest, IsOwn: x.isOwn, IsPart: x.isPart}
}

// contains reports whether a folder or URL is within an allowed one.
func (x *Access) contains(prefix string) bool {
	if !isFar(prefix) {
		return x.within(prefix)
	}
	u, err := url.Parse(prefix)
	return err == nil && slices.ContainsFunc(x.urls, func(p *url.URL) bool { return source.URLWithin(u, p) })
}

// NewAccess returns the access to the sources of a snapshot: the prefixes that the caller allows, see Options.Allow, and,
// if this user built the manifest or trusts it, the prefixes of its sources. name is the name of the manifest, or empty.
// snap is nil if only scan parts name sources: see AddSeal.
func NewAccess(snap *manifest.Snapshot, name string, allow []string) (*Access, error) {
	x, err := newAccess(slices.DeleteFunc(slices.Clone(allow), func(p string) bool { return p == "" }))
	if err != nil {
		return nil, err
	}
	if x.manifest = name; snap == nil {
		x.isPart = true
		return x, nil
	}
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

// accessOf returns the access of a store.
func accessOf(snap *manifest.Snapshot, name string, opts *Options) (*Access, error) {
	switch {
	case opts.Trusted:
		return &Access{isUnlimited: true}, nil
	case opts.Access != nil:
		return opts.Access, nil
	}
	return NewAccess(snap, name, opts.Allow)
}
