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
	name   string          // the place's, without a slash behind
	info   os.FileInfo     // nil in an object store
	inside map[string]bool // of folders: whether they are the place, or lie in it
}

func standingAt(place string) (*standing, error) {
	if source.IsObject(place) {
		return &standing{name: strings.TrimRight(place, "/")}, nil
	}
	path, err := filepath.Abs(place)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil // nothing that could be a source; why not, who writes there finds out
	}
	return &standing{name: path, info: info, inside: map[string]bool{}}, nil
}

// holds reports whether a source is what stands there, or a part of it.
func (at *standing) holds(src manifest.Source) bool {
	if at.info == nil {
		below, ok := strings.CutPrefix(src.URL, at.name)
		return ok && (below == "" || below[0] == '/')
	}
	name, err := source.LocalPath(src.URL)
	if err != nil || !filepath.IsAbs(name) {
		return false
	}
	switch {
	case name == at.name:
		return true
	case at.info.IsDir() && src.Size > 0:
		return at.isAbove(filepath.Dir(name))
	case at.info.IsDir():
		return at.isAbove(name)
	}
	return at.isFile(name, src)
}

// isFile reports whether a source is the file that stands there. By another name it is looked at
// if it is alike.
func (at *standing) isFile(name string, src manifest.Source) bool {
	if !strings.EqualFold(filepath.Base(name), at.info.Name()) && (src.Size != at.info.Size() || !src.Modified.Equal(at.info.ModTime())) {
		return false
	}
	info, err := os.Stat(name)
	return err == nil && os.SameFile(info, at.info)
}

// maxInside bounds of how many folders it is kept whether they lie there.
const maxInside = 1 << 16

// isAbove reports whether a folder is the one that stands there, or lies in it. The system tells,
// and not the name: links lead there, and there are systems where the case of letters does not
// count, or in how many characters a letter is written.
func (at *standing) isAbove(folder string) bool {
	if in, ok := at.inside[folder]; ok {
		return in
	}
	info, err := os.Stat(folder)
	in := err == nil && os.SameFile(info, at.info)
	if up := filepath.Dir(folder); !in && up != folder {
		in = at.isAbove(up)
	}
	if len(at.inside) >= maxInside {
		clear(at.inside)
	}
	at.inside[folder] = in
	return in
}
