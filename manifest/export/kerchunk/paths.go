package kerchunk

import (
	"context"
	"fmt"
	"path/filepath"
	"unicode/utf8"

	"varve/manifest"
	"varve/readers/source"
)

// paths are the sources as references name them: local files by their plain absolute path,
// with slashes, which fsspec opens as it stands, whatever is in it; all else by its URL.
type paths struct {
	source func(ctx context.Context, row int64) (manifest.Source, error)
	last   int64
	text   []byte
	known  map[int64][]byte
}

// maxPaths bounds how many paths are kept at a time.
const maxPaths = 1 << 16

// of returns the path of the source of a row. It stays as it is.
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

// clientPath is the name by which fsspec opens a source.
func clientPath(url string) (string, error) {
	if !utf8.ValidString(url) {
		return "", fmt.Errorf("%q: references hold names in UTF-8 only; rename the file, or link to it", url)
	}
	path, err := source.LocalPath(url)
	if err != nil {
		return url, nil
	}
	path, err = filepath.Abs(path)
	return filepath.ToSlash(path), err
}

// isLocal reports whether a reference's path is that of a local file.
func isLocal(path string) bool { return filepath.IsAbs(path) }
