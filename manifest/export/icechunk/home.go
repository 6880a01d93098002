package icechunk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"varve/manifest"
	"varve/manifest/export/internal/dest"
	"varve/readers/icechunk/file"
)

// home is where a repository is, or is to be: a folder, or a prefix of an object store. Keys have
// slashes.
type home interface {
	// name is what to call a file in an error.
	name(key string) string
	prepare() error
	// fetch reads a file, and tells the version that swap takes.
	fetch(ctx context.Context, key string) (data []byte, version string, err error)
	// add writes a file that nobody leads to yet. It is there to stay when settle returns.
	add(ctx context.Context, data []byte, key string) error
	settle() error
	// create is add of a file that is there to stay when it returns.
	create(ctx context.Context, data []byte, key string) error
	// stream is create of what does not fit in memory.
	stream(ctx context.Context, write func(io.Writer) error, key string) error
	// swap puts what was created under a key in the place of the file repo, or its data, if that
	// still is what was fetched; else the error is manifest.ErrConflict. That it is unsure means
	// that it may have been done all the same.
	swap(ctx context.Context, data []byte, was fetched, draft string) (unsure bool, err error)
	// remove deletes files that nothing leads to.
	remove(ctx context.Context, keys ...string) error
	// re-encoding is how many chunks are worth re-encoding at a time, where so many cores do it.
	reencodeing(workers int) int
}

// fetched is the file repo as it was read.
type fetched struct {
	data    []byte
	version string
}

// folder is a local home.
type folder struct {
	dir     string
	syncing errgroup.Group // files that are being brought to the disk
}

// maxSyncing bounds the files that are being brought to the disk.
const maxSyncing = 8

func openFolder(dir string) *folder {
	f := &folder{dir: dir}
	f.syncing.SetLimit(maxSyncing)
	return f
}

func (f *folder) name(key string) string { return filepath.Join(f.dir, filepath.FromSlash(key)) }

// prepare makes the folders of a repository.
func (f *folder) prepare() error {
	for _, name := range folders {
		if err := os.MkdirAll(f.name(name), 0o777); err != nil {
			return err
		}
	}
	return nil
}

func (f *folder) fetch(_ context.Context, key string) ([]byte, string, error) {
	data, err := readBounded(f.name(key))
	return data, "", err
}

func readBounded(name string) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if info.Size() > file.MaxSize {
		return nil, fmt.Errorf("%s: %d bytes, of which at most %d are read: %w", name, info.Size(), file.MaxSize, errors.ErrUnsupported)
	}
	return os.ReadFile(name)
}

// add has the file come to the disk while others are made.
func (f *folder) add(_ context.Context, data []byte, key string) error {
	file, err := f.begun(key)
	if err != nil {
		return err
	}
	if _, err := file.Write(data); err != nil {
		return errors.Join(err, file.Close())
	}
	f.syncing.Go(func() error { return errors.Join(file.Sync(), file.Close()) })
	return nil
}

func (f *folder) settle() error { return f.syncing.Wait() }

func (f *folder) create(ctx context.Context, data []byte, key string) error {
	return f.stream(ctx, func(w io.Writer) error { _, err := w.Write(data); return err }, key)
}

// stream removes a file that fails.
func (f *folder) stream(_ context.Context, write func(io.Writer) error, key string) error {
	out, err := f.begun(key)
	if err != nil {
		return err
	}
	err = write(out)
	if err == nil {
		err = out.Sync()
	}
	if err = errors.Join(err, out.Close()); err != nil {
		return errors.Join(err, os.Remove(out.Name()))
	}
	return nil
}

// begun opens a file that is not there yet.
func (f *folder) begun(key string) (*os.File, error) {
	return os.OpenFile(f.name(key), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
}

func (f *folder) swap(ctx context.Context, data []byte, was fetched, draft string) (bool, error) {
	if err := f.create(ctx, data, draft); err != nil {
		return false, err
	}
	now, err := readBounded(f.name(repoKey))
	if err != nil {
		return false, err
	}
	if !bytes.Equal(now, was.data) {
		return false, fmt.Errorf("%s: %w: somebody committed meanwhile; export again", f.dir, manifest.ErrConflict)
	}
	return false, os.Rename(f.name(draft), f.name(repoKey))
}

func (f *folder) remove(_ context.Context, keys ...string) error {
	var failed error
	for _, key := range keys {
		if err := os.Remove(f.name(key)); err != nil && !errors.Is(err, os.ErrNotExist) {
			failed = errors.Join(failed, err)
		}
	}
	return failed
}

func (f *folder) reencodeing(workers int) int { return workers }

// prefix is a home in an object store. An object is there to stay when it is stored, and all but
// repo and what every repository begins with have names that nobody else uses.
type prefix struct{ *dest.Prefix }

func (p prefix) name(key string) string { return p.Name(key) }
func (p prefix) prepare() error         { return nil }
func (p prefix) settle() error          { return nil }

func (p prefix) fetch(ctx context.Context, key string) ([]byte, string, error) {
	return p.ReadVersion(ctx, key, file.MaxSize)
}

func (p prefix) add(ctx context.Context, data []byte, key string) error {
	return p.Store(ctx, key, data)
}

func (p prefix) create(ctx context.Context, data []byte, key string) error {
	return p.Store(ctx, key, data)
}

func (p prefix) stream(ctx context.Context, write func(io.Writer) error, key string) error {
	return p.Stream(ctx, key, write)
}

func (p prefix) swap(ctx context.Context, data []byte, was fetched, _ string) (unsure bool, err error) {
	err = p.Publish(ctx, repoKey, bytes.NewReader(data), was.version)
	return err != nil && !errors.Is(err, manifest.ErrConflict) && !errors.Is(err, fs.ErrPermission), err
}

// remove goes on where an export was interrupted.
func (p prefix) remove(ctx context.Context, keys ...string) error {
	const patience = time.Minute
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	return p.RemoveThese(ctx, keys...)
}

// re-encoding is more than there are cores, as chunks wait for the store most of the time.
func (p prefix) reencodeing(workers int) int { return max(workers, 16) }

// standing is what stands at the prefix.
func (p prefix) standing(ctx context.Context) (standsThere, error) {
	names, err := p.Top(ctx)
	if err != nil || len(names) == 0 {
		return nothing, err
	}
	is := leftovers
	for _, name := range names {
		switch {
		case name == repoKey:
			return repository, nil
		case !isFolder(name):
			is = somethingElse
		}
	}
	for _, err := range p.Walk(ctx, "refs/branch.main/") {
		return repository, err
	}
	if is == somethingElse {
		return is, nil
	}
	for key, err := range p.Walk(ctx, "") {
		if err != nil || !strings.HasSuffix(key, "/"+firstSnapshot.String()) {
			return leftovers, err
		}
	}
	return nothing, nil // but what every repository begins with, and an export that fails leaves
}

func isFolder(name string) bool {
	for _, f := range folders {
		if strings.TrimSuffix(name, "/") == f && name != f {
			return true
		}
	}
	return false
}
