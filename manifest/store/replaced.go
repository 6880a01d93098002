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

// ErrSource marks the error of writing to where a source of the manifest is.
var ErrSource = errors.New("sources are never written to: choose another name")

// CheckReplaced is an ErrSource of a place, local or in an object store, if a source of the
// manifest is there or below it, by whatever name. Who replaces what stands at a place asks
// first; a place where nothing stands costs no look at the sources.
func (s *Store) CheckReplaced(ctx context.Context, place string) error {
	at, err := standingAt(place)
	if err != nil || at == nil {
		return err
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
