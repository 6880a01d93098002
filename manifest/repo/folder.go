package repo

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"varve/manifest"
)

// folder stores a repository in a local folder.
type folder struct {
	dir  string
	disk disk

	mu   sync.Mutex
	made map[string]bool // folders of the repository that exist
	// unsynced are the folders with names that may not be flushed to disk: this process created a folder in
	// them, or another process that may have been killed before it flushed them made a file that this process
	// uses. They must be synced before a snapshot is published, so that it survives a power failure.
	unsynced map[string]bool
}

// createFolder makes a folder and its parents.
func createFolder(dir string) (*folder, error) {
	// Find the parents that get a new entry before MkdirAll makes them: afterwards nothing distinguishes
	// them from older ones.
	above := filepath.Dir(filepath.Clean(dir))
	unsynced := map[string]bool{above: true}
	for at := above; filepath.Dir(at) != at; at = filepath.Dir(at) {
		if _, err := os.Stat(at); err == nil {
			break
		}
		unsynced[filepath.Dir(at)] = true
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, notFolder(dir, err)
	}
	f, err := openFolder(dir)
	if err == nil {
		f.unsynced = unsynced
	}
	return f, err
}

// notFolder returns a clearer error if dir is a file. That happens when a user forgets the argument OUT:
// then varve takes the first source for OUT.
func notFolder(dir string, err error) error {
	if info, failed := os.Stat(dir); failed == nil && !info.IsDir() {
		return fmt.Errorf("%s is a file, but a manifest is a folder; name the folder first: varve build OUT SRC", dir)
	}
	return err
}

// absent is an fs.ErrNotExist with a text of its own.
type absent string

// Error returns the text.
func (e absent) Error() string { return string(e) }

// Unwrap returns fs.ErrNotExist.
func (absent) Unwrap() error { return fs.ErrNotExist }

func openFolder(dir string) (*folder, error) {
	root, err := os.OpenRoot(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, absent(dir + ": no such folder, so there is no manifest; varve build OUT SRC makes one")
	case err != nil:
		return nil, notFolder(dir, err)
	}
	return newFolder(dir, rootDisk{root}), nil
}

func newFolder(dir string, d disk) *folder {
	return &folder{dir: dir, disk: d, made: map[string]bool{}, unsynced: map[string]bool{}}
}

func (f *folder) close() error            { return f.disk.Close() }
func (f *folder) path(name string) string { return filepath.Join(f.dir, filepath.FromSlash(name)) }

// localBlob is an open file. Its size is the size when it was opened.
type localBlob struct {
	diskFile
	size int64
}

func (b localBlob) Size() int64 { return b.size }

func (f *folder) open(_ context.Context, name string, _ int64) (blob, error) {
	return f.openNow(name)
}

func (f *folder) openNow(name string) (blob, error) {
	file, err := f.disk.open(name)
	if err != nil {
		return nil, f.withPath(name, err)
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s: not a regular file", f.path(name))
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return localBlob{file, info.Size()}, nil
}

// withPath replaces the path in an error, which is relative to the repository, by the full path of the file.
func (f *folder) withPath(name string, err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return &fs.PathError{Op: p.Op, Path: f.path(name), Err: p.Err}
	}
	return err
}

func (f *folder) stat(_ context.Context, name string) (manifest.Source, error) {
	info, err := f.disk.stat(name)
	if err != nil {
		return manifest.Source{}, f.withPath(name, err)
	}
	if !info.Mode().IsRegular() {
		return manifest.Source{}, fmt.Errorf("%s: not a regular file", f.path(name))
	}
	f.mu.Lock()
	f.unsynced[f.path(path.Dir(name))] = true
	f.mu.Unlock()
	where, err := filepath.Abs(f.path(name))
	return manifest.Source{URL: where, Size: info.Size(), Modified: info.ModTime()}, err
}

func (f *folder) list(_ context.Context, name string) ([]entry, error) {
	found, err := f.disk.list(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, f.withPath(name, err)
	}
	entries := make([]entry, 0, len(found))
	for _, e := range found {
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) { // removed since the folder was read
			continue
		}
		if err != nil {
			return nil, err
		}
		entries = append(entries, entry{e.Name(), info.Size(), info.ModTime()})
	}
	return entries, nil
}

func (f *folder) remove(ctx context.Context, names ...string) (int, error) {
	for n, name := range names {
		if err := ctx.Err(); err != nil {
			return n, err
		}
		if err := f.removeOne(name); err != nil {
			return n, err
		}
	}
	return len(names), nil
}

// removeOne removes a file, if it still exists.
func (f *folder) removeOne(name string) error {
	err := f.disk.remove(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return f.withPath(name, err)
}

// localDraft is a file in the folder drafts.
type localDraft struct {
	folder *folder
	file   diskFile
	name   string // drafts/…, or the final name once the draft is finished
	stage  draftStage
}

// draftStage is the progress of a draft.
type draftStage uint8

const (
	written  draftStage = iota
	synced              // flushed to disk and closed
	finished            // renamed or discarded
)

func (f *folder) begin() (draft, error) {
	if err := f.makeFolder("drafts"); err != nil {
		return nil, err
	}
	name := "drafts/" + rand.Text()
	file, err := f.disk.create(name)
	if err != nil {
		return nil, f.withPath(name, err)
	}
	return &localDraft{folder: f, file: file, name: name}, nil
}

func (d *localDraft) Write(p []byte) (int, error) {
	n, err := d.file.Write(p)
	if err != nil {
		err = d.folder.withPath(d.name, err)
	}
	return n, err
}

func (d *localDraft) open() (blob, error) { return d.folder.openNow(d.name) }

// finish flushes all files concurrently, then renames them, then flushes all folders concurrently:
// waiting for the disk twice is much faster than twice for each file.
func (f *folder) finish(_ context.Context, drafts ...namedDraft) error {
	var files, folders errgroup.Group
	for _, n := range drafts {
		d := n.draft.(*localDraft)
		files.Go(func() error { return d.sync() })
	}
	if err := files.Wait(); err != nil {
		return err
	}
	// A name survives a power failure only if its folder is flushed too.
	unsynced := map[string]bool{}
	for _, n := range drafts {
		if err := f.rename(n.draft.(*localDraft), n.name); err != nil {
			return err
		}
		unsynced[f.path(path.Dir(n.name))] = true
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	maps.Copy(unsynced, f.unsynced)
	for dir := range unsynced {
		folders.Go(func() error { return f.disk.syncFolder(dir) })
	}
	if err := folders.Wait(); err != nil {
		return err
	}
	clear(f.unsynced)
	return nil
}

// sync flushes a draft to disk and closes it for writing.
func (d *localDraft) sync() error {
	if d.stage != written {
		return nil
	}
	if err := errors.Join(d.file.Sync(), d.file.Close()); err != nil {
		return d.folder.withPath(d.name, err)
	}
	d.stage = synced
	return nil
}

func (f *folder) rename(d *localDraft, name string) error {
	if d.stage == finished {
		return nil
	}
	if err := f.makeFolder(path.Dir(name)); err != nil {
		return err
	}
	if err := f.disk.rename(d.name, name); err != nil {
		return err
	}
	d.name, d.stage = name, finished
	return nil
}

func (d *localDraft) discard() error {
	if d.stage == finished {
		return nil
	}
	d.stage = finished
	err := d.file.Close()
	if errors.Is(err, fs.ErrClosed) {
		err = nil
	}
	return errors.Join(err, d.folder.removeOne(d.name)) // if this fails, GC removes the draft later
}

// makeFolder makes a folder directly below the repository's.
func (f *folder) makeFolder(name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.made[name] {
		return nil
	}
	if err := f.disk.mkdir(name); err != nil && !errors.Is(err, fs.ErrExist) {
		return f.withPath(name, err)
	}
	f.unsynced[f.dir] = true
	f.made[name] = true
	return nil
}

func (f *folder) swapCurrent(ctx context.Context, _ pointerState, old, new []byte) error {
	release, err := f.wait(ctx, "current", exclusive)
	if err != nil {
		return err
	}
	err = f.compareAndWrite(ctx, currentName, old, new)
	return errors.Join(err, release())
}

// compareAndWrite writes a new file if the present one still equals old. The caller holds the lock.
func (f *folder) compareAndWrite(ctx context.Context, name string, old, new []byte) error {
	now, err := readAll(ctx, f, name)
	if errors.Is(err, fs.ErrNotExist) {
		now, err = nil, nil
	}
	if err != nil {
		return err
	}
	if !bytes.Equal(now, old) {
		return ErrConflict
	}
	if old == nil {
		return f.writeFirst(ctx, name, new)
	}
	return writeAll(ctx, f, name, new)
}

// writeFirst writes a file that must not exist. A client of NFS may believe for up to a minute that a name does
// not exist although another client has made it. So the server must check this: link fails if the name exists,
// while rename would replace it.
func (f *folder) writeFirst(ctx context.Context, name string, data []byte) error {
	d, err := f.begin()
	if err != nil {
		return err
	}
	file := d.(*localDraft)
	if _, err = d.Write(data); err == nil {
		err = file.sync()
	}
	if err != nil {
		return joinDiscard(err, d)
	}
	switch err := f.disk.link(file.name, name); {
	case errors.Is(err, fs.ErrExist):
		return joinDiscard(ErrConflict, d)
	case errors.Is(err, errors.ErrUnsupported), errors.Is(err, fs.ErrPermission), hasNoLinks(err):
		if err := f.finish(ctx, namedDraft{d, name}); err != nil {
			return joinDiscard(err, d)
		}
		return nil
	case err != nil:
		return joinDiscard(f.withPath(name, err), d)
	}
	return errors.Join(f.disk.syncFolder(f.dir), d.discard())
}

func (f *folder) keep(ctx context.Context, old, new []byte) error {
	return f.swapCurrent(ctx, pointerState{}, old, new)
}

func (f *folder) holdOffGC(ctx context.Context) (func() error, error) {
	return f.wait(ctx, "writers", shared)
}

func (f *folder) lockForGC(context.Context) (func() error, error) {
	return f.lock("writers", exclusive)
}

// waitForGC returns at once: holdOffGC already prevents GC in a folder.
func (f *folder) waitForGC(context.Context) (pointerState, error) { return pointerState{}, nil }

// lockPause is the time between two attempts to lock a file.
const lockPause = 5 * time.Millisecond

// wait locks a file of the folder locks as soon as it is free. The operating system releases the locks
// of a process that dies.
func (f *folder) wait(ctx context.Context, name string, how lockMode) (func() error, error) {
	for {
		release, err := f.lock(name, how)
		if !errors.Is(err, ErrBusy) {
			return release, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%s: waiting for the lock %s: %w", f.dir, name, ctx.Err())
		case <-time.After(lockPause):
		}
	}
}

func (f *folder) lock(name string, how lockMode) (func() error, error) {
	if err := f.makeFolder("locks"); err != nil {
		return nil, err
	}
	name = "locks/" + name
	release, err := f.disk.lock(name, how)
	if err != nil {
		return nil, f.withPath(name, err)
	}
	return release, nil
}

// lockMode is the kind of a lock: several processes can hold a shared lock, one an exclusive lock.
type lockMode uint8

const (
	exclusive lockMode = iota
	shared
)
