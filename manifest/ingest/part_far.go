package ingest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"

	"varve/manifest/internal/table"
	"varve/readers/source"
	"varve/readers/source/atomicfile"
)

// partExtension is the required extension of parts in object stores and on servers. Without it,
// each remote source would need a request to find out whether it is a part.
const partExtension = ".parquet"

// isElsewhere reports whether a name may be a part in an object store or on a server.
func isElsewhere(name string) bool {
	if !source.IsURL(name) || source.IsPacked(name) {
		return false
	}
	u, err := source.ParseURL(name)
	return err == nil && path.Ext(u.Path) == partExtension
}

// checkPartName refuses names that could not be recognised as parts later. It is called before a
// scan, which may take hours.
func checkPartName(name string) error {
	switch {
	case !source.IsURL(name):
		return nil
	case !source.IsObject(name):
		return fmt.Errorf("%s: parts are written to files, and to object stores (s3://, gs://, az://): %w", source.Shown(name), errors.ErrUnsupported)
	case !isElsewhere(name):
		return fmt.Errorf("%s: the name of a scan part in an object store must end with %s: %w", source.Shown(name), partExtension, fs.ErrInvalid)
	}
	return nil
}

// storePart writes a part to an object.
func storePart(ctx context.Context, name string, write func(*os.File) error) (err error) {
	opener := source.NewOpener(nil)
	defer func() { err = closing(opener, err) }()
	place, key, err := opener.PlaceOf(ctx, name)
	if err != nil {
		return err
	}
	file, err := atomicfile.NewTemporary("")
	if err != nil {
		return err
	}
	defer func() { err = closing(file, err) }()
	if err := write(file.File); err != nil {
		return err
	}
	info, err := file.Stat()
	if err != nil {
		return err
	}
	return place.Put(ctx, key, file, info.Size())
}

// partsAtATime is the number of remote names to examine at once. Each takes one or two round trips.
const partsAtATime = 32

// isFarPart reports whether a remote object is a scan part.
func (j *job) isFarPart(ctx context.Context, name string) (bool, error) {
	src, err := j.openElsewhere(ctx, name)
	if err != nil {
		return false, ctx.Err()
	}
	defer src.Close()
	if src.IsFolder() {
		return false, nil
	}
	is, err := table.IsPart(&farPart{ctx, src}, src.Size())
	if err != nil {
		err = fmt.Errorf("%s: %w", src.Name(), err)
	}
	return is, err
}

func (j *job) openElsewhere(ctx context.Context, name string) (*source.Source, error) {
	if j.opts.Opener != nil {
		// The seal permits redirects of sources, but not of parts: the server could lead to any place.
		return j.opts.Opener.Restrict(func(string) error { return nil }, nil).Open(ctx, name)
	}
	return source.Open(ctx, name)
}

// wholePart is the size in bytes up to which a remote part is read with one request.
const wholePart = 16 << 20

// openFarPart opens a remote part. A small one is read at once, because all of it is needed.
func (j *job) openFarPart(ctx context.Context, name string) (table.File, error) {
	src, err := j.openElsewhere(ctx, name)
	if err != nil {
		return nil, err
	}
	if src.Size() > wholePart {
		return &farPart{ctx, src}, nil
	}
	whole := make([]byte, src.Size())
	_, err = src.ReadAt(ctx, whole, 0)
	if err := closing(src, err); err != nil {
		return nil, err
	}
	return nearPart{bytes.NewReader(whole)}, nil
}

// nearPart is a remote part that was read into memory.
type nearPart struct{ *bytes.Reader }

func (nearPart) Close() error { return nil }

// farPart is a remote part that is read in ranges.
type farPart struct {
	ctx context.Context // of the job that reads it
	*source.Source
}

func (f *farPart) ReadAt(p []byte, off int64) (int, error) {
	n := min(int64(len(p)), f.Size()-off)
	if off < 0 || n < 0 {
		return 0, fmt.Errorf("offset %d of %d bytes: %w", off, f.Size(), io.EOF)
	}
	data, err := f.View(f.ctx, off, int(n))
	if err != nil {
		return 0, err
	}
	if copy(p, data) < len(p) {
		return len(data), io.EOF
	}
	return len(data), nil
}
