package ingest

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"varve/readers/formats"
	"varve/readers/source"
)

// ErrWholeSync means that SyncFiles cannot decide which sources some files belong to: call Sync.
var ErrWholeSync = errors.New("the names alone do not say which sources changed")

// SyncFiles is Sync for the named files: other sources of the manifest stay as they are. It adds files that are new and below
// opts.Sources, scans changed files again, and removes files that are gone. Names may be in any order, repeated, and of
// files that were never in the manifest.
func SyncFiles(ctx context.Context, dir string, names []string, opts *Options) (*SyncResult, error) {
	checked, err := opts.checked()
	if err != nil {
		return nil, err
	}
	return update(ctx, dir, checked, func(r *revision) error { return r.lookAt(ctx, names) })
}

// lookAt chooses the sources of the new snapshot: the old ones, except for the named files that changed.
func (r *revision) lookAt(ctx context.Context, names []string) error {
	only, fresh := map[string]bool{}, []string{}
	outers := r.old.outers()
	for _, name := range names {
		if outers[name] {
			return ErrWholeSync // its members may be others now
		}
		if sources, err := r.old.sourcesOf(ctx, name); err != nil {
			return err
		} else if len(sources) > 0 {
			for _, s := range sources {
				only[s] = true
			}
			continue
		}
		covered, isSure := r.opts.Sources.covers(name)
		switch {
		case !covered:
		case !isSure, isSidecar(name), source.HasPackedEnding(name):
			return ErrWholeSync // the sources in an archive are not known yet
		default:
			fresh = append(fresh, name)
		}
	}
	slices.Sort(fresh)
	fresh = slices.Compact(fresh)
	r.named = setOf(fresh)
	for name := range only {
		// A message that names a file is no permission to read it.
		if covered, isSure := r.opts.Sources.covers(name); covered && isSure {
			r.named[name] = true
		}
	}
	gone, err := r.missing(ctx, slices.Collect(maps.Keys(only)), fresh)
	if err != nil {
		return err
	}
	isGone := func(name string) bool { return gone[name] }
	r.names = slices.DeleteFunc(r.old.names(), isGone)
	if len(r.names) == 0 {
		return ErrWholeSync // Sync refuses to remove all sources
	}
	fresh = slices.DeleteFunc(fresh, isGone)
	isSorted := slices.IsSorted(r.names)
	if r.names = append(r.names, fresh...); isSorted {
		slices.Sort(r.names) // as in a folder
	}
	return r.findChanged(ctx, only)
}

// outers returns the names of the compressed files and archives that contain sources.
func (o *oldFiles) outers() map[string]bool {
	out := map[string]bool{}
	for _, f := range o.files {
		if outer := source.Outer(f.URL); outer != f.URL {
			out[outer] = true
		}
	}
	return out
}

// sourceOf returns the source that a file is, or is a part of, or "".
func (o *oldFiles) sourceOf(name string) string {
	for at := name; ; at = path.Dir(at) {
		if o.byName[at] != nil {
			return at
		}
		if len(path.Dir(at)) >= len(at) || strings.HasSuffix(path.Dir(at), ":") {
			return ""
		}
	}
}

// isSidecar reports whether a file may be read with another one, which exists, or is on a server. Only Expand knows whether it is a
// source itself. A sidecar that a dataset listed in Beside is known as a file that the source names; a change of others is not
// noticed.
func isSidecar(name string) bool {
	return slices.ContainsFunc(formats.SourcesOf(name), func(of string) bool {
		path, err := source.LocalPath(of)
		if err == nil {
			_, err = os.Lstat(path)
		}
		return of != name && !errors.Is(err, fs.ErrNotExist)
	})
}

// missing returns which files do not exist.
func (r *revision) missing(ctx context.Context, lists ...[]string) (map[string]bool, error) {
	names := slices.Concat(lists...)
	absent := make([]bool, len(names))
	err := r.lookUp(ctx, len(names), func(within context.Context, k *keeping, i int) error {
		k, err := r.mayRead(k, names[i])
		if err != nil {
			return err
		}
		_, err = k.identityOf(within, names[i])
		if errors.Is(err, fs.ErrNotExist) {
			absent[i], err = true, nil
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	gone := map[string]bool{}
	for i, name := range names {
		if absent[i] {
			gone[name] = true
		}
	}
	return gone, nil
}

// covers reports whether a file is one that Expand may find. isSure is false if only Expand can tell: a name such as
// x.zarr/t/0 may be a part of a source, or of an output of varve.
func (s *Sources) covers(name string) (covered, isSure bool) {
	for _, given := range s.Names {
		if isList(given) {
			return true, false
		}
		if !source.IsURL(given) {
			absolute, err := filepath.Abs(given)
			if err != nil {
				return true, false
			}
			given = filepath.ToSlash(absolute)
		}
		if name == strings.TrimSuffix(given, "/") {
			return true, true
		}
		below, ok := strings.CutPrefix(name, strings.TrimSuffix(given, "/")+"/")
		switch {
		case strings.ContainsAny(given, "*?["):
			if matchesDeep(strings.Split(given, "/"), strings.Split(name, "/")) {
				return true, !strings.Contains(given, "**") && strings.Count(given, "/") == strings.Count(name, "/")
			}
		case ok:
			if covered, isSure := s.coversBelow(below); covered {
				return true, isSure
			}
		}
	}
	return false, true
}

// coversBelow is covers for a path in a folder.
func (s *Sources) coversBelow(below string) (covered, isSure bool) {
	folder, base := path.Split(below)
	if strings.HasPrefix(below, ".") || strings.Contains(below, "/.") {
		return false, true // hidden
	}
	if strings.Contains(folder, ".") {
		return true, false
	}
	matches, err := s.matches(base)
	return matches || err != nil || source.IsArchive(base), err == nil
}
