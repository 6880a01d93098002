package grib

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"varve/readers"
	"varve/readers/internal/grib/index"
	"varve/readers/source"
)

// IndexUse says whether index files are read. Empty means IndexAuto.
type IndexUse string

// The uses of index files.
const (
	IndexAuto    IndexUse = "auto"    // index files beside the sources are used if they exist
	IndexIgnore  IndexUse = "ignore"  // index files are not used: the headers of all messages are read
	IndexRequire IndexUse = "require" // a source without an index file cannot be used
)

// IndexOptions configure an IndexReader.
type IndexOptions struct {
	Use IndexUse
	// Templates lists files with index files beside them. If such a file has a message with the same
	// description, the headers of a message are not read from any other source.
	Templates []string
	// Open opens data and index files. fs.ErrNotExist and fs.ErrPermission mean that there is no such file.
	Open func(ctx context.Context, name string) (*source.Source, error)
}

// IndexReader opens GRIB files with the index files beside them. Any number of goroutines may use it.
type IndexReader struct {
	IndexOptions
	once   sync.Once
	shared *kinds // the messages of the templates
	failed error  // why the templates cannot be used

	lastHit atomic.Int32 // the candidate that was the last index file
}

// NewIndexReader returns an IndexReader. It reads the templates when the first source is opened.
func NewIndexReader(opts IndexOptions) *IndexReader { return &IndexReader{IndexOptions: opts} }

// IndexError is the error of an index file that cannot be used. Its source can be read without the index file.
type IndexError struct {
	Index string // the name of the index file, or of the source if it has none
	Line  int    // or 0
	Err   error
}

// Error returns the text with the name and the line.
func (e *IndexError) Error() string {
	if e.Line > 0 {
		return fmt.Sprintf("%s, line %d: %v", e.Index, e.Line, e.Err)
	}
	return fmt.Sprintf("%s: %v", e.Index, e.Err)
}

// Unwrap returns the error without the name.
func (e *IndexError) Unwrap() error { return e.Err }

// Remedy returns the option and its value with which the source can be read.
func (e *IndexError) Remedy() (option, value string) { return indexOption, string(IndexIgnore) }

// candidates returns the names that the index file of a source can have.
func candidates(name string) []string {
	query := ""
	if strings.Contains(name, "://") {
		if i := strings.IndexAny(name, "?#"); i >= 0 {
			name, query = name[:i], name[i:]
		}
	}
	stem := strings.TrimSuffix(name, path.Ext(name))
	out := []string{name + ".idx" + query, name + ".index" + query}
	if stem != name && !strings.HasSuffix(stem, "/") && !strings.HasSuffix(stem, `\`) {
		out = append(out, stem+".idx"+query, stem+".index"+query)
	}
	return out
}

// find reads the index file of a source: the first of its candidates that exists. It returns no bytes if there is none. The names that
// an earlier source needed are asked for first, all at once, because mostly one request finds the file.
func (r *IndexReader) find(ctx context.Context, src *source.Source) (name string, content []byte, err error) {
	names := candidates(src.Name())
	likely := min(int(r.lastHit.Load())+1, len(names))
	i, content, err := r.firstOf(ctx, names[:likely])
	if content == nil && err == nil {
		i, content, err = r.firstOf(ctx, names[likely:])
		i += likely
	}
	if content == nil || err != nil {
		return "", nil, err
	}
	r.lastHit.Store(int32(i))
	return names[i], content, nil
}

// firstOf reads files at once, and returns the number and the bytes of the first one that exists, or no bytes.
func (r *IndexReader) firstOf(ctx context.Context, names []string) (int, []byte, error) {
	found := make([][]byte, len(names))
	group, inner := errgroup.WithContext(ctx)
	for i, name := range names {
		group.Go(func() (err error) {
			found[i], err = r.read(inner, name)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return 0, nil, err
	}
	if i := slices.IndexFunc(found, func(b []byte) bool { return b != nil }); i >= 0 {
		return i, found[i], nil
	}
	return 0, nil, nil
}

// read returns the bytes of a file, or nil if there is no such file.
func (r *IndexReader) read(ctx context.Context, name string) (content []byte, err error) {
	src, err := r.Open(ctx, name)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil, nil // object stores that do not list their objects deny access to objects that do not exist
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	if src.IsFolder() {
		return nil, nil
	}
	if src.Size() > index.MaxBytes {
		return nil, &IndexError{name, 0, readers.Corruptf("%d bytes, more than the limit of %d for an index file", src.Size(), index.MaxBytes)}
	}
	content = make([]byte, src.Size())
	_, err = src.ReadAt(ctx, content, 0)
	return content, err
}

// OpenFile reads a file with its index file. If there is none, or it has no line that is understood, OpenFile reads the headers of all
// messages. names says how variables will be named.
func (r *IndexReader) OpenFile(ctx context.Context, src *source.Source, names NameScheme) (*File, error) {
	if r == nil || r.Use == IndexIgnore {
		return OpenFile(ctx, src)
	}
	r.once.Do(func() { r.shared, r.failed = r.readTemplates(ctx, names) })
	if r.failed != nil {
		return nil, r.failed
	}
	name, list, err := r.parse(ctx, src)
	if err != nil {
		return nil, err
	}
	if list == nil {
		return r.without(ctx, src, name)
	}
	f := &File{src: src}
	s := indexed{scanner: scanner{File: f, ctx: ctx, grids: map[string]parsedGrid{}}, name: name, list: list, shared: r.shared, local: newKinds(names)}
	var gap *gapError
	switch err := s.scan(); {
	case errors.As(err, &gap) && r.Use != IndexRequire:
		return OpenFile(ctx, src)
	case err != nil:
		return nil, asError(src, err)
	}
	return f.checked()
}

// without reads a file without its index file, unless an index file is required.
func (r *IndexReader) without(ctx context.Context, src *source.Source, name string) (*File, error) {
	if r.Use == IndexRequire {
		if name == "" {
			return nil, &IndexError{src.Name(), 0, fmt.Errorf("there is no index file beside it (%s): %w", strings.Join(candidates(src.Name()), ", "), fs.ErrNotExist)}
		}
		return nil, &IndexError{name, 0, fmt.Errorf("no line has a format that varve reads (wgrib2 or ECMWF): %w", errors.ErrUnsupported)}
	}
	return OpenFile(ctx, src)
}

// parse parses the index file of a source. The list is nil if there is none, or if no line is understood.
func (r *IndexReader) parse(ctx context.Context, src *source.Source) (name string, list *index.File, err error) {
	name, content, err := r.find(ctx, src)
	if content == nil || err != nil {
		return "", nil, err
	}
	if list, err = index.Parse(content); err != nil {
		return name, nil, &IndexError{name, 0, err}
	}
	if len(list.Entries) == 0 {
		return name, nil, nil
	}
	return name, list, nil
}

// readTemplates reads the headers of all messages of the templates that their index files list.
func (r *IndexReader) readTemplates(ctx context.Context, names NameScheme) (*kinds, error) {
	out := newKinds(names)
	for _, name := range r.Templates {
		if err := r.readTemplate(ctx, name, out); err != nil {
			return nil, fmt.Errorf("template file: %w", err)
		}
	}
	return out, nil
}

func (r *IndexReader) readTemplate(ctx context.Context, name string, out *kinds) (err error) {
	src, err := r.Open(ctx, name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	beside, list, err := r.parse(ctx, src)
	if err != nil {
		return err
	}
	if list == nil {
		return &IndexError{name, 0, fmt.Errorf("it has no index file beside it whose lines varve reads (%s): %w", strings.Join(candidates(name), ", "), fs.ErrNotExist)}
	}
	f := &File{src: src}
	s := indexed{scanner: scanner{File: f, ctx: ctx, grids: map[string]parsedGrid{}}, name: beside, list: list, shared: newKinds(out.names), local: out, all: true}
	if err := s.scan(); err != nil {
		return asError(src, err)
	}
	return nil
}
