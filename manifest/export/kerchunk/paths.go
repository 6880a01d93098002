package kerchunk

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"varve/manifest"
	"varve/readers/source"
)

// paths caches the names of sources in references: an absolute path with slashes for local files, which
// fsspec opens without unescaping; otherwise the URL.
type paths struct {
	base   string // Options.Relative with a final slash, or empty
	source func(ctx context.Context, row int64) (manifest.Source, error)
	last   int64
	text   []byte
	known  map[int64][]byte
}

// maxPaths bounds the cached paths.
const maxPaths = 1 << 16

// of returns the path of a source. The caller must not modify it.
func (p *paths) of(ctx context.Context, row int64) ([]byte, error) {
	if row == p.last {
		return p.text, nil
	}
	text, ok := p.known[row]
	if !ok {
		src, err := p.source(ctx, row)
		if err != nil {
			return nil, err
		}
		path, err := clientPath(src.URL)
		if err != nil {
			return nil, err
		}
		below, ok := strings.CutPrefix(path, p.base)
		if !ok {
			return nil, fmt.Errorf("%s is not below %s, so references relative to that cannot name it", source.Shown(path), source.Shown(p.base))
		}
		path = below
		if text = []byte(path); p.known == nil || len(p.known) >= maxPaths {
			p.known = map[int64][]byte{}
		}
		p.known[row] = text
	}
	p.last, p.text = row, text
	return text, nil
}

// absolute returns the path of a source that is not relative.
func (p *paths) absolute(ctx context.Context, row int64) (string, error) {
	src, err := p.source(ctx, row)
	if err != nil {
		return "", err
	}
	return clientPath(src.URL)
}

// baseOf returns the form of Options.Relative with which the paths of sources begin.
func baseOf(relative string) (string, error) {
	if relative == "" {
		return "", nil
	}
	base, err := clientPath(relative)
	return strings.TrimSuffix(base, "/") + "/", err
}

// clientPath returns the name by which fsspec opens a source.
func clientPath(url string) (string, error) {
	if outer, steps := source.CutPacked(url); steps != "" {
		return "", fmt.Errorf("%s: references cannot lead into a compressed file or an archive (%s); use varve export zarr, varve serve, or unpack %s: %w",
			source.Shown(url), steps, source.Shown(outer), errors.ErrUnsupported)
	}
	if !utf8.ValidString(url) {
		return "", fmt.Errorf("%q: the name is not UTF-8, which references require; rename the file or create a link", url)
	}
	path, err := source.LocalPath(url)
	if err != nil {
		return url, nil
	}
	path, err = filepath.Abs(path)
	return filepath.ToSlash(path), err
}

// isLocal reports whether a path in a reference is a local file.
func isLocal(path string) bool { return filepath.IsAbs(path) }
