package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"varve/manifest"
	"varve/readers/source"
)

// ErrSource marks the error of writing to where a source of the manifest is, or the manifest.
var ErrSource = errors.New("it is never written over: choose another name")

// CheckReplaced is an ErrSource of a place, local or in an object store, if the manifest or
// a source of it is there or below it, by whatever name. Who replaces what stands at a place asks
// first; a place where nothing stands costs no look at the sources.
func (s *Store) CheckReplaced(ctx context.Context, place string) error {
	at, err := standingAt(place)
	if err != nil || at == nil {
		return err
	}
	out, err := s.home()
	if err != nil {
		return err
	}
	if at.holds(out) {
		return fmt.Errorf("%s: the manifest %s is there: %w", place, out.URL, ErrSource)
	}
	for row := range s.snapshot.Rows(manifest.Sources) {
		src, err := s.Source(ctx, row)
		if err != nil {
			return err
		}
		if at.holds(src) {
			return fmt.Errorf("%s: %s is a source of the manifest: %w", place, src.URL, ErrSource)
		}
	}
	return ctx.Err()
}

// home is the place of the manifest, as if it were a source; none of one that is in memory.
func (s *Store) home() (out manifest.Source, err error) {
	out.Size = -1
	if s.patches.repository == nil {
		return out, nil
	}
	if out.URL = s.patches.repository.Name(); source.IsObject(out.URL) {
		return out, nil
	}
	if out.URL, err = filepath.Abs(out.URL); err == nil {
		out.URL, err = filepath.EvalSymlinks(out.URL)
	}
	return out, err
}

// standing is what stands at a place.
type standing struct {
	names []string    // the place's, without a slash behind
	info  os.FileInfo // nil in an object store
}

func standingAt(place string) (*standing, error) {
	if source.IsObject(place) {
		return &standing{names: []string{strings.TrimRight(place, "/")}}, nil
	}
	path, err := filepath.Abs(place)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil // nothing that could be a source; why not, who writes there finds out
	}
	at := &standing{names: []string{path}, info: info}
	if real, err := filepath.EvalSymlinks(path); err == nil && real != path {
		at.names = append(at.names, real)
	}
	return at, nil
}

// holds reports whether a source is what stands there, or a part of it. Of files by other names
// those are looked at that are alike.
func (at *standing) holds(src manifest.Source) bool {
	name := src.URL
	if at.info != nil {
		path, err := source.LocalPath(name)
		if err != nil {
			return false
		}
		name = path
	}
	for _, own := range at.names {
		if below, ok := strings.CutPrefix(name, own); ok && (below == "" || below[0] == '/') {
			return true
		}
	}
	if at.info == nil || filepath.Base(name) != at.info.Name() && (src.Size != at.info.Size() || !src.Modified.Equal(at.info.ModTime())) {
		return false
	}
	info, err := os.Stat(name)
	return err == nil && os.SameFile(info, at.info)
}
