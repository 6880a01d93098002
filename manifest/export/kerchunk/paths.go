package kerchunk

import (
	"context"
	"fmt"
	"path/filepath"
	"unicode/utf8"

	"varve/manifest"
	"varve/readers/source"
)

// paths caches the names of sources in references: an absolute path with slashes for local files, which
// fsspec opens without unescaping; otherwise the URL.
type paths struct {
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
		if text = []byte(path); p.known == nil || len(p.known) >= maxPaths {
			p.known = map[int64][]byte{}
		}
		p.known[row] = text
	}
	p.last, p.text = row, text
	return text, nil
}

// clientPath returns the name by which fsspec opens a source.
func clientPath(url string) (string, error) {
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
