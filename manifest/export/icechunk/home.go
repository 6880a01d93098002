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

	"varve/manifest/export/internal/dest"
	"varve/manifest/repo"
	"varve/readers/icechunk/file"
)

// home is the folder or object-store prefix of a repository. Keys use slashes.
type home interface {
	// name returns the name of a file for error messages.
	name(key string) string
	prepare() error
	// fetch reads a file and returns its version, which swap compares.
	fetch(ctx context.Context, key string) (data []byte, version string, err error)
	// add writes a file that no other file refers to yet. It is durable when settle returns.
	add(ctx context.Context, data []byte, key string) error
	settle() error
	// create writes a file that is durable when create returns.
	create(ctx context.Context, data []byte, key string) error
	// stream is create for content that does not fit in memory.
	stream(ctx context.Context, write func(io.Writer) error, key string) error
	// swap replaces the file repo by data, if it is still the fetched version; otherwise the error is
	// repo.ErrConflict. If unsure is true, the replacement may have happened in spite of the error. draft
	// is a key for temporary use.
	swap(ctx context.Context, data []byte, was fetched, draft string) (unsure bool, err error)
	// remove deletes files that no other file refers to.
	remove(ctx context.Context, keys ...string) error
	// concurrency returns how many chunks to re-encode at once, with the given number of workers.
	concurrency(workers int) int
}

// fetched is the file repo as it was read.
type fetched struct {
	data    []byte
	version string
}

// folder is a home in the local file system.
type folder struct {
	dir     string
	syncing errgroup.Group // files being synced to disk
}

// maxSyncing bounds the files being synced to disk.
const maxSyncing = 8

func openFolder(dir string) *folder {
	f := &folder{dir: dir}
	f.syncing.SetLimit(maxSyncing)
	return f
}

func (f *folder) name(key string) string { return filepath.Join(f.dir, filepath.FromSlash(key)) }

// prepare creates the folders of a repository.
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
		return nil, fmt.Errorf("%s: the file has %d bytes, more than the limit of %d: %w", name, info.Size(), file.MaxSize, errors.ErrUnsupported)
	}
	return os.ReadFile(name)
}

// add syncs the file in the background.
func (f *folder) add(_ context.Context, data []byte, key string) error {
	file, err := f.createFile(key)
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

// stream removes the file if writing fails.
func (f *folder) stream(_ context.Context, write func(io.Writer) error, key string) error {
	out, err := f.createFile(key)
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

// createFile creates a file; it fails if the file exists.
func (f *folder) createFile(key string) (*os.File, error) {
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
		return false, fmt.Errorf("%s: %w: another process committed in the meantime; export again", f.dir, repo.ErrConflict)
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

func (f *folder) concurrency(workers int) int { return workers }

// prefix is a home in an object store. An object is durable when it is stored. All keys are unique to one
// export, except repo and the first snapshot.
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
	// Only these two errors are certain to leave the old repo in place.
	return err != nil && !errors.Is(err, repo.ErrConflict) && !errors.Is(err, fs.ErrPermission), err
}

// remove deletes objects even if ctx is cancelled, so that an interrupted export leaves nothing.
func (p prefix) remove(ctx context.Context, keys ...string) error {
	const patience = time.Minute
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	return p.RemoveThese(ctx, keys...)
}

// concurrency exceeds the number of cores, because chunks mostly wait for the object store.
func (p prefix) concurrency(workers int) int { return max(workers, 16) }

// destination returns what exists at the prefix.
func (p prefix) destination(ctx context.Context) (destination, error) {
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
	// Icechunk 1 stores its branches below refs/.
	for _, err := range p.Walk(ctx, "refs/branch.main/") {
		return repository, err
	}
	if is == somethingElse {
		return is, nil
	}
	// A failed export leaves the first snapshot, whose key all exports share.
	for key, err := range p.Walk(ctx, "") {
		if err != nil || !strings.HasSuffix(key, "/"+firstSnapshot.String()) {
			return leftovers, err
		}
	}
	return nothing, nil // except the files of the first snapshot
}

func isFolder(name string) bool {
	for _, f := range folders {
		if strings.TrimSuffix(name, "/") == f && name != f {
			return true
		}
	}
	return false
}
