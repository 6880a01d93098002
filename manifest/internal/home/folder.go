package home

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"varve/readers/source"
)

// Folder is a local folder.
type Folder struct {
	// Drafts is the folder of drafts. If it is empty, they are hidden files beside the files that they become.
	Drafts string

	dir  string
	disk Disk

	mu   sync.Mutex
	made map[string]bool // folders in it that exist
	// unsynced are the folders with names that may not be flushed to disk: this process created a folder in
	// them, or another process that may have been killed before it flushed them made a file that this process
	// uses. Finish flushes them, so that what it finishes survives a power failure.
	unsynced map[string]bool
	flushing errgroup.Group // of Flushed files
}

// maxFlushing is the number of Flushed files that are flushed at a time.
const maxFlushing = 8

// NewFolder returns the folder with a path on a disk.
func NewFolder(dir string, d Disk) *Folder {
	f := &Folder{dir: dir, disk: d, made: map[string]bool{}, unsynced: map[string]bool{}}
	f.flushing.SetLimit(maxFlushing)
	return f
}

// At returns a folder that may be missing.
func At(dir string) *Folder { return NewFolder(filepath.Clean(dir), systemDisk{below(dir)}) }

// OpenFolder opens a folder. No key and no symbolic link leads out of it.
func OpenFolder(dir string) (*Folder, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return NewFolder(dir, systemDisk{root}), nil
}

// CreateFolder is OpenFolder, and makes the folder and its parents.
func CreateFolder(dir string) (*Folder, error) {
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
		return nil, err
	}
	f, err := OpenFolder(dir)
	if err == nil {
		f.unsynced = unsynced
	}
	return f, err
}

// Close closes the folder. err is the error of the work in it.
func (f *Folder) Close(err error) error { return closed(err, f.disk.Close()) }

// Name returns the path of a file, or of the folder.
func (f *Folder) Name(key string) string { return filepath.Join(f.dir, filepath.FromSlash(key)) }

// localFile is an open file. Its size is the size when it was opened.
type localFile struct {
	DiskFile
	size int64
}

func (b localFile) Size() int64 { return b.size }

// Open opens a file.
func (f *Folder) Open(_ context.Context, key string, _ int64) (File, error) { return f.open(key) }

func (f *Folder) open(key string) (File, error) {
	file, err := f.disk.Open(key)
	if err != nil {
		return nil, f.withPath(key, err)
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s: not a regular file", f.Name(key))
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return localFile{file, info.Size()}, nil
}

// Read returns the content of a file.
func (f *Folder) Read(_ context.Context, key string, most int64) (data []byte, err error) {
	file, err := f.open(key)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if file.Size() > most {
		return nil, fmt.Errorf("%s: it has %d bytes, the limit is %d", f.Name(key), file.Size(), most)
	}
	data = make([]byte, file.Size())
	if n, err := file.ReadAt(data, 0); n < len(data) {
		return nil, fmt.Errorf("%s: %w", f.Name(key), err)
	}
	return data, nil
}

// ReadVersion returns the content of a file, and its digest.
func (f *Folder) ReadVersion(ctx context.Context, key string, most int64) ([]byte, string, error) {
	data, err := f.Read(ctx, key, most)
	return data, VersionOf(data), err
}

// withPath replaces the path in an error, which is relative to the folder, by the full path of the file.
func (f *Folder) withPath(key string, err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return &fs.PathError{Op: p.Op, Path: f.Name(key), Err: p.Err}
	}
	return err
}

// Stat returns the size and time of a file.
func (f *Folder) Stat(_ context.Context, key string) (source.Identity, error) {
	info, err := f.disk.Stat(key)
	if err != nil {
		return source.Identity{}, f.withPath(key, err)
	}
	if !info.Mode().IsRegular() {
		return source.Identity{}, fmt.Errorf("%s: not a regular file", f.Name(key))
	}
	f.mu.Lock()
	f.unsynced[f.Name(path.Dir(key))] = true
	f.mu.Unlock()
	return source.Identity{Size: info.Size(), Modified: info.ModTime()}, nil
}

// list returns the entries of a folder, which may be missing.
func (f *Folder) list(folder string) ([]fs.DirEntry, error) {
	found, err := f.disk.List(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return found, f.withPath(folder, err)
}

// List yields the files and folders in a folder.
func (f *Folder) List(_ context.Context, folder string) iter.Seq2[source.Entry, error] {
	return func(yield func(source.Entry, error) bool) {
		found, err := f.list(folder)
		if err != nil {
			yield(source.Entry{}, err)
			return
		}
		for _, e := range found {
			info, err := e.Info()
			if errors.Is(err, fs.ErrNotExist) { // removed since the folder was read
				continue
			}
			if err != nil {
				yield(source.Entry{}, err)
				return
			}
			if !yield(source.Entry{Name: e.Name(), Folder: e.IsDir(), Size: info.Size(), Modified: info.ModTime()}, nil) {
				return
			}
		}
	}
}

// Walk yields the keys of all files that begin with start.
func (f *Folder) Walk(_ context.Context, start string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		folder := start[:strings.LastIndexByte(start, '/')+1]
		f.walk(folder, start, yield)
	}
}

// walk yields the keys in a folder, whose key is empty or ends with a slash. It returns false at the end.
func (f *Folder) walk(folder, start string, yield func(string, error) bool) bool {
	found, err := f.list(strings.TrimSuffix(folder, "/"))
	if err != nil {
		return yield("", err) && false
	}
	for _, e := range found {
		key := folder + e.Name()
		if !strings.HasPrefix(key, start) {
			continue
		}
		if e.IsDir() && !f.walk(key+"/", start, yield) || !e.IsDir() && !yield(key, nil) {
			return false
		}
	}
	return true
}

// Remove removes files.
func (f *Folder) Remove(ctx context.Context, keys ...string) (int, error) {
	for n, key := range keys {
		if err := ctx.Err(); err != nil {
			return n, err
		}
		if err := f.removeOne(key); err != nil {
			return n, err
		}
	}
	return len(keys), nil
}

// removeOne removes a file, if it still exists.
func (f *Folder) removeOne(key string) error {
	err := f.disk.Remove(key)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return f.withPath(key, err)
}

// Clear removes everything in the folder, but not the folder, which may be locked or a mount point.
func (f *Folder) Clear(ctx context.Context, first ...string) error {
	if _, err := f.Remove(ctx, first...); err != nil {
		return err
	}
	found, err := f.list("")
	for _, e := range found {
		if e.Name() != StateFolder {
			err = errors.Join(err, os.RemoveAll(f.Name(e.Name())))
		}
	}
	if err != nil {
		return err
	}
	return os.RemoveAll(f.Name(StateFolder))
}

// RemoveFolders removes all folders that have no files.
func (f *Folder) RemoveFolders() {
	var folders []string
	_ = filepath.WalkDir(f.dir, func(name string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			folders = append(folders, name)
		}
		return nil
	})
	for _, name := range slices.Backward(folders) { // subfolders first
		_ = os.Remove(name)
	}
}

// localDraft is a file without its final name.
type localDraft struct {
	folder *Folder
	file   DiskFile
	key    string // the final key once the draft is finished
	stage  draftStage
}

// draftStage is the progress of a draft.
type draftStage uint8

const (
	written  draftStage = iota
	synced              // flushed to disk and closed
	finished            // renamed or discarded
)

// Begin starts a file in the folder of drafts.
func (f *Folder) Begin() (Draft, error) {
	if err := f.makeFolder(f.Drafts); err != nil {
		return nil, err
	}
	return f.begin(f.Drafts + "/" + rand.Text())
}

func (f *Folder) begin(key string) (*localDraft, error) {
	file, err := f.disk.Create(key, true)
	if err != nil {
		return nil, f.withPath(key, err)
	}
	return &localDraft{folder: f, file: file, key: key}, nil
}

func (d *localDraft) Write(p []byte) (int, error) {
	n, err := d.file.Write(p)
	if err != nil {
		err = d.folder.withPath(d.key, err)
	}
	return n, err
}

func (d *localDraft) Open() (File, error) { return d.folder.open(d.key) }

// Finish flushes all files concurrently, then renames them, then flushes all folders concurrently:
// waiting for the disk twice is much faster than twice for each file.
func (f *Folder) Finish(_ context.Context, drafts ...Named) error {
	var files errgroup.Group
	for _, n := range drafts {
		files.Go(n.Draft.(*localDraft).sync)
	}
	if err := files.Wait(); err != nil {
		return err
	}
	// A name survives a power failure only if its folder is flushed too.
	unsynced := map[string]bool{}
	for _, n := range drafts {
		if err := f.rename(n.Draft.(*localDraft), n.Key); err != nil {
			return err
		}
		unsynced[f.Name(path.Dir(n.Key))] = true
	}
	return f.syncFolders(unsynced)
}

// syncFolders flushes the names in folders, and in those that were not flushed before.
func (f *Folder) syncFolders(unsynced map[string]bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	maps.Copy(unsynced, f.unsynced)
	var folders errgroup.Group
	for dir := range unsynced {
		folders.Go(func() error { return f.disk.SyncFolder(dir) })
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
		return d.folder.withPath(d.key, err)
	}
	d.stage = synced
	return nil
}

func (f *Folder) rename(d *localDraft, key string) error {
	if d.stage == finished {
		return nil
	}
	if err := f.makeFolder(path.Dir(key)); err != nil {
		return err
	}
	return f.move(d, key)
}

// move renames a draft, in a folder that exists.
func (f *Folder) move(d *localDraft, key string) error {
	if err := f.disk.Rename(d.key, key); err != nil {
		if link, ok := errors.AsType[*os.LinkError](err); ok {
			err = &fs.PathError{Op: link.Op, Path: f.Name(key), Err: link.Err}
		}
		return err
	}
	d.key, d.stage = key, finished
	return nil
}

func (d *localDraft) Discard() error {
	if d.stage == finished {
		return nil
	}
	d.stage = finished
	err := d.file.Close()
	if errors.Is(err, fs.ErrClosed) {
		err = nil
	}
	return errors.Join(err, d.folder.removeOne(d.key))
}

// makeFolder makes a folder and the folders that contain it.
func (f *Folder) makeFolder(key string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.makeFolders(key)
}

func (f *Folder) makeFolders(key string) error {
	if f.made[key] {
		return nil
	}
	err := f.disk.Mkdir(key)
	if errors.Is(err, fs.ErrNotExist) && key != "." {
		if err := f.makeFolders(path.Dir(key)); err != nil {
			return err
		}
		err = f.disk.Mkdir(key)
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return f.withPath(key, err)
	}
	f.unsynced[f.Name(path.Dir(key))] = true
	f.made[key] = true
	return nil
}

// Put writes a file.
func (f *Folder) Put(ctx context.Context, key string, data []byte, how How) error {
	return f.Write(ctx, key, how, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// Write writes a file with a function.
func (f *Folder) Write(_ context.Context, key string, how How, write func(io.Writer) error) error {
	if how == Whole || how == Durable {
		d, err := f.draft(key, write)
		if err == nil && how == Durable {
			err = d.sync()
		} else if err == nil {
			err, d.stage = d.file.Close(), synced
		}
		if err == nil {
			_, err = inFolder(f, key, func() (struct{}, error) { return struct{}{}, f.move(d, key) })
		}
		return f.unless(err, d)
	}
	file, err := inFolder(f, key, func() (DiskFile, error) { return f.disk.Create(key, how == Flushed) })
	if err != nil {
		return f.withPath(key, err)
	}
	if err := write(file); err != nil || how == InPlace {
		return errors.Join(err, file.Close())
	}
	f.flushing.Go(func() error { return errors.Join(file.Sync(), file.Close()) })
	return nil
}

// Settle waits until Flushed files are on the disk.
func (f *Folder) Settle() error { return f.flushing.Wait() }

// inFolder calls make. If the folder of a file is missing, it makes the folder and calls make again.
func inFolder[T any](f *Folder, key string, make func() (T, error)) (T, error) {
	made, err := make()
	if !errors.Is(err, fs.ErrNotExist) {
		return made, err
	}
	if err := os.MkdirAll(f.Name(path.Dir(key)), 0o777); err != nil {
		return made, err
	}
	return make()
}

// draftMark is in the names of drafts that are beside their files.
const draftMark = ".draft-"

// draft writes the draft of a file.
func (f *Folder) draft(key string, write func(io.Writer) error) (*localDraft, error) {
	at := f.Drafts + "/" + rand.Text()
	if f.Drafts == "" {
		at = path.Join(path.Dir(key), "."+short(path.Base(key))+draftMark+rand.Text())
	}
	d, err := inFolder(f, at, func() (*localDraft, error) { return f.begin(at) })
	if err != nil {
		return nil, err
	}
	return d, write(d)
}

// unless discards a draft if err is not nil.
func (f *Folder) unless(err error, d *localDraft) error {
	if err == nil || d == nil {
		return err
	}
	return Discard(err, d)
}

// Replace writes a file if its content is the one of the version. Two processes may do so only under a lock; the first
// version of a file needs none.
func (f *Folder) Replace(ctx context.Context, key string, data []byte, version string) (string, error) {
	d, err := f.draft(key, func(w io.Writer) error { _, err := w.Write(data); return err })
	if err == nil {
		err = d.sync()
	}
	if err == nil {
		err = f.swap(ctx, d, key, version)
	}
	if err == nil {
		err = f.syncFolders(map[string]bool{f.Name(path.Dir(key)): true})
	}
	return VersionOf(data), f.unless(err, d)
}

// swap gives a draft the name of a file. A client of NFS may believe for up to a minute that a name does not exist although
// another client has made it. So the server must check this: link fails if the name exists, while rename would replace it.
func (f *Folder) swap(ctx context.Context, d *localDraft, key, version string) error {
	if version == "" {
		switch err := f.disk.Link(d.key, key); {
		case err == nil:
			return d.Discard()
		case errors.Is(err, fs.ErrExist):
			return fmt.Errorf("%s: %w", f.Name(key), source.ErrConflict)
		case !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, fs.ErrPermission) && !hasNoLinks(err):
			return f.withPath(key, err)
		}
	}
	_, now, err := f.ReadVersion(ctx, key, maxReplaced)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if now != version {
		return fmt.Errorf("%s: %w", f.Name(key), source.ErrConflict)
	}
	return f.move(d, key)
}

// maxReplaced bounds files that are compared before they are replaced.
const maxReplaced = 4 << 30

// lockPause is the time between two attempts to lock a file.
const lockPause = 5 * time.Millisecond

// Wait locks a file as soon as it is free. The operating system releases the locks of a process that dies.
func (f *Folder) Wait(ctx context.Context, key string, how LockMode) (release func() error, err error) {
	for {
		release, err := f.Lock(key, how)
		if !errors.Is(err, ErrBusy) {
			return release, err
		}
		if err := wait(ctx, lockPause); err != nil {
			return nil, fmt.Errorf("%s: waiting for the lock %s: %w", f.dir, path.Base(key), err)
		}
	}
}

// Lock locks a file, or returns ErrBusy.
func (f *Folder) Lock(key string, how LockMode) (release func() error, err error) {
	if err := f.makeFolder(path.Dir(key)); err != nil {
		return nil, err
	}
	release, err = f.disk.Lock(key, how)
	if err != nil {
		return nil, f.withPath(key, err)
	}
	return release, nil
}
