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

// ErrSource is returned by CheckReplaced if writing to a destination would replace a source of the manifest,
// or the manifest itself.
var ErrSource = errors.New("sources are never overwritten; choose another output name")

// CheckReplaced returns an ErrSource if a local or remote destination is, or contains, the manifest or one of its
// sources, also under another name, such as a link. Call it before replacing anything there. It does not read
// the list of sources if the destination does not exist.
func (s *Store) CheckReplaced(ctx context.Context, dest string) error {
	at, err := findDestination(dest)
	if err != nil || at == nil {
		return err
	}
	out, err := s.home()
	if err != nil {
		return err
	}
	if at.contains(out) {
		return fmt.Errorf("%s: it contains the manifest %s: %w", dest, out.URL, ErrSource)
	}
	for row := range s.snapshot.Rows(manifest.Sources) {
		src, err := s.Source(ctx, row)
		if err != nil {
			return err
		}
		if at.contains(src) {
			return fmt.Errorf("%s: %s is a source of the manifest: %w", dest, src.URL, ErrSource)
		}
	}
	return ctx.Err()
}

// home returns the location of the manifest in the form of a source. It is empty for a manifest in
// memory.
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

// destination is an existing file, folder or prefix that a caller wants to replace.
type destination struct {
	name   string          // path or URL without a final slash
	info   os.FileInfo     // nil for an object store
	inside map[string]bool // remembers, for folders, whether they are the destination or inside it
}

func findDestination(dest string) (*destination, error) {
	if source.IsObject(dest) {
		return &destination{name: strings.TrimRight(dest, "/")}, nil
	}
	path, err := filepath.Abs(dest)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil // it cannot contain a source; if it cannot be written, the caller gets that error
	}
	return &destination{name: path, info: info, inside: map[string]bool{}}, nil
}

// contains reports whether a source is the destination or inside it.
func (at *destination) contains(src manifest.Source) bool {
	src.URL = source.Outer(src.URL)
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

// isFile reports whether a source is the destination file, possibly under another name. It examines only
// sources with the same name, or with the same size and time.
func (at *destination) isFile(name string, src manifest.Source) bool {
	if !strings.EqualFold(filepath.Base(name), at.info.Name()) && (src.Size != at.info.Size() || !src.Modified.Equal(at.info.ModTime())) {
		return false
	}
	info, err := os.Stat(name)
	return err == nil && os.SameFile(info, at.info)
}

// maxInside limits the number of folders that are remembered.
const maxInside = 1 << 16

// isAbove reports whether a folder is the destination or inside it. It asks the file system instead of
// comparing names, because of links, and because some file systems ignore case or normalise Unicode.
func (at *destination) isAbove(folder string) bool {
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
