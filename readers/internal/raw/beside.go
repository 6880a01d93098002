package raw

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"varve/readers"
	"varve/readers/source"
)

// beside opens the files of data that headers name.
type beside struct {
	opener *source.Opener
	allow  []string
}

func besideOf(c *readers.Config) beside { return beside{c.Opener, c.Allow} }

// find returns the first of several files beside a header that exists.
func (f beside) find(ctx context.Context, of *source.Source, names ...string) (*file, error) {
	for _, name := range names {
		src, err := f.open(ctx, of, name)
		if err == nil && src.IsFolder() {
			err = errors.Join(source.ErrFolder, src.Close())
		}
		if errors.Is(err, fs.ErrNotExist) ||
			len(names) > 1 && (errors.Is(err, source.ErrFolder) || errors.Is(err, fs.ErrPermission) && !errors.Is(err, source.ErrForbidden)) {
			continue
		}
		if err != nil {
			return nil, failure(of, -1, fmt.Errorf("the elements are in the file %q: %w", name, err))
		}
		out := &file{src.Name(), uint64(src.Size()), func(ctx context.Context) (*source.Source, error) { return f.open(ctx, of, name) }}
		return out, src.Close()
	}
	missing := &fs.PathError{Op: "open", Path: names[0], Err: fs.ErrNotExist}
	if len(names) == 1 {
		return nil, failure(of, -1, fmt.Errorf("the elements are in the file %q, which must lie beside this header: %w", names[0], missing))
	}
	return nil, failure(of, -1, fmt.Errorf("the elements must be in one of the files %s beside this header: %w", strings.Join(names, ", "), missing))
}

// open opens a file by its path from the folder of a header. A header can name a file of its own folder, or of one that the user allows.
func (f beside) open(ctx context.Context, of *source.Source, name string) (*source.Source, error) {
	if !source.IsRemote(source.Outer(of.Name())) {
		return f.opener.OpenLocalBeside(ctx, of, name, f.allow...)
	}
	if !fs.ValidPath(name) {
		return nil, fmt.Errorf("a header on a server can name a file of its own folder only: %w", source.ErrForbidden)
	}
	opener := f.opener
	if opener == nil {
		opener = source.NewOpener(nil)
	}
	return opener.Open(ctx, source.Beside(of.Name(), name))
}

// dataOf returns how the data file of a header can be named: the stem of the header with one of the endings. If the header has the
// whole name of its data file and an ending, this is the first.
func dataOf(header string, endings ...string) (names []string) {
	base := baseOf(header)
	packed := ""
	if !source.IsPacked(header) && source.HasPackedEnding(base) {
		packed = path.Ext(base)
	}
	base = strings.TrimSuffix(base, packed)
	if source.IsPacked(header) && source.HasPackedEnding(base) {
		base = strings.TrimSuffix(base, path.Ext(base)) // OpenBeside looks for a file that is compressed in the same way
	}
	ending := path.Ext(base)
	stem := strings.TrimSuffix(base, ending)
	if path.Ext(stem) != "" {
		names = append(names, stem+packed)
	}
	isUpper := ending != "" && strings.ToUpper(ending) == ending
	for _, e := range endings {
		if isUpper {
			e = strings.ToUpper(e)
		}
		if name := stem + e + packed; len(names) == 0 || name != names[0] {
			names = append(names, name)
		}
	}
	return names
}

// headersOf returns how the header of a data file can be named, if the file has one of the endings: see readers.Format.Sidecar.
func headersOf(name, header string, endings ...string) []string {
	packed := ""
	if source.HasPackedEnding(name) && !source.IsArchive(name) {
		packed = path.Ext(name)
	}
	plain := strings.TrimSuffix(name, packed)
	ending := path.Ext(filepath.ToSlash(plain))
	for _, e := range endings {
		if strings.EqualFold(e, ending) {
			stem := strings.TrimSuffix(plain, ending)
			return []string{stem + header + packed, stem + strings.ToUpper(header) + packed, plain + header + packed}
		}
	}
	return nil
}
