package kerchunk

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"varve/manifest"
)

// paths are the sources as references name them: local files by their plain absolute path,
// which fsspec opens as it stands, whatever is in it; all else by its URL.
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
	path, isFile := strings.CutPrefix(url, "file://")
	if !utf8.ValidString(path) {
		return "", fmt.Errorf("%q: references hold names in UTF-8 only; rename the file, or link to it", url)
	}
	if isFile || filepath.IsAbs(url) {
		return filepath.Clean(path), nil
	}
	if !strings.Contains(url, "://") {
		return filepath.Abs(url)
	}
	return url, nil
}

// isLocal reports whether a reference's path is that of a local file.
func isLocal(path string) bool { return filepath.IsAbs(path) }
