package build

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"

	"varve/manifest/table"
	"varve/readers/source"
)

// partExtension ends the names of parts that are not on this machine: which of many objects are parts
// is not to cost a request each.
const partExtension = ".parquet"

// isElsewhere reports whether a name is that of what may be a part in an object store, or on a server.
func isElsewhere(name string) bool {
	if !source.IsURL(name) {
		return false
	}
	u, err := source.ParseURL(name)
	return err == nil && path.Ext(u.Path) == partExtension
}

// checkPartName refuses names of parts that could not be told from other sources, before hours are
// spent on what goes there.
func checkPartName(name string) error {
	switch {
	case !source.IsURL(name):
		return nil
	case !source.IsObject(name):
		return fmt.Errorf("%s: parts are written to files, and to object stores (s3://, gs://, az://): %w", name, errors.ErrUnsupported)
	case !isElsewhere(name):
		return fmt.Errorf("%s: a part in an object store is known by its name: end it with %s: %w", name, partExtension, fs.ErrInvalid)
	}
	return nil
}

// storePart stores a part as an object: by way of a temporary file, as an object is not to be seen before
// it is whole, and its size is told first.
func storePart(ctx context.Context, name string, write func(*os.File) error) (err error) {
	opener := source.NewOpener(nil)
	defer func() { err = closing(opener, err) }()
	place, key, err := opener.PlaceOf(ctx, name)
	if err != nil {
		return err
	}
	file, err := os.CreateTemp("", "varve-part-")
	if err != nil {
		return temporaryError("a temporary file for the part", err)
	}
	_ = os.Remove(file.Name()) // which not every system does of a file that is open
	defer func() { err = errors.Join(closing(file, err), removed(file.Name())) }()
	if err := write(file); err != nil {
		return err
	}
	info, err := file.Stat()
	if err != nil {
		return err
	}
	return place.Put(ctx, key, file, info.Size())
}

// partsAtATime is how many names elsewhere are asked at once whether they are parts, which takes a round
// trip or two each.
const partsAtATime = 32

// isFarPart is isPart of a name elsewhere.
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
		return j.opts.Opener.Open(ctx, name)
	}
	return source.Open(ctx, name)
}

// wholePart is how large a part may be to be read at once.
const wholePart = 16 << 20

// openFarPart opens a part elsewhere. One that is not large is read at once: all of it is wanted.
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

// nearPart is a part that was read.
type nearPart struct{ *bytes.Reader }

func (nearPart) Close() error { return nil }

// farPart is a part elsewhere, of which ranges are read.
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
