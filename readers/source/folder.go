package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// Folder is a Ranges that is a folder of files or a prefix of objects. It has no bytes itself. The key of a file is its
// path from the folder, with slashes.
type Folder interface {
	Ranges
	// OpenKey opens a file. If it does not exist, the error is fs.ErrNotExist.
	OpenKey(ctx context.Context, key string) (Ranges, error)
	// List yields the entries directly in the folder with the given key, in any order. The key "" is the folder itself.
	// A folder that does not exist is empty.
	List(ctx context.Context, key string) iter.Seq2[Entry, error]
}

// Entry is a file or a folder in a folder.
type Entry struct {
	Name     string
	Folder   bool
	Size     int64     // only of a file
	Modified time.Time // only of a file; the zero time if it is not known
	// Err says why an entry is neither a file nor a folder: it is a symbolic link that cannot be followed (ErrLink), or
	// for example a named pipe. Only a name that is not listed is missing: a reader that needs this one must fail.
	Err error
}

// ErrLink is the error of a symbolic link in a folder that leads out of the folder, or to nothing.
var ErrLink = errors.New("symbolic link leads out of the folder or to nothing; replace it by what it should lead to")

// ErrFolder is the error of a folder where a file should be.
var ErrFolder error = errFolder

var errNoFolder = errors.New("is a file, not a folder")

// IsFolder reports whether the source is a folder.
func (s *Source) IsFolder() bool {
	_, ok := s.ranges.(Folder)
	return ok
}

// MemberName returns the path or URL of a file in the folder.
func (s *Source) MemberName(key string) string { return s.name + "/" + key }

// Member opens the file with the given key in the folder. If it does not exist, the error is fs.ErrNotExist.
func (s *Source) Member(ctx context.Context, key string) (*Source, error) {
	folder, ok := s.ranges.(Folder)
	if !ok {
		return nil, &fs.PathError{Op: "open in", Path: s.name, Err: errNoFolder}
	}
	if !fs.ValidPath(key) {
		return nil, &fs.PathError{Op: "open", Path: s.MemberName(key), Err: fs.ErrInvalid}
	}
	ranges, err := folder.OpenKey(ctx, key)
	if err != nil {
		return nil, err
	}
	return newSource(s.MemberName(key), ranges, s.cache), nil
}

// ReadMember returns all bytes of a file in the folder. A file of more than limit bytes is an error.
func (s *Source) ReadMember(ctx context.Context, key string, limit int64) (data []byte, err error) {
	m, err := s.Member(ctx, key)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	if m.Size() > limit {
		return nil, fmt.Errorf("%s: the file has %d bytes, at most %d are allowed: %w", m.Name(), m.Size(), limit, errors.ErrUnsupported)
	}
	data = make([]byte, m.Size())
	_, err = m.ReadAt(ctx, data, 0)
	return data, err
}

// List yields the files and folders directly in a folder below the source, see Folder.
func (s *Source) List(ctx context.Context, key string) iter.Seq2[Entry, error] {
	if folder, ok := s.ranges.(Folder); ok {
		return folder.List(ctx, key)
	}
	return func(yield func(Entry, error) bool) {
		yield(Entry{}, &fs.PathError{Op: "list", Path: s.name, Err: errNoFolder})
	}
}

// OpenFolder opens a local folder. Symbolic links in it that lead outside are errors.
func OpenFolder(ctx context.Context, name string) (*Source, error) {
	folder, err := newLocalFolder(ctx, name)
	if err != nil {
		return nil, err
	}
	return New(folder.root.Name(), folder), nil
}

func newLocalFolder(ctx context.Context, name string) (*localFolder, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(filepath.Clean(name))
	if err != nil {
		return nil, err
	}
	return &localFolder{root}, nil
}

// localFolder is a folder of the file system.
type localFolder struct{ root *os.Root }

func (f *localFolder) Identity() Identity { return Identity{} }

func (f *localFolder) Close() error { return f.root.Close() }

func (f *localFolder) ReadAt(_ context.Context, p []byte, _ int64) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	return 0, io.EOF
}

func (f *localFolder) OpenKey(ctx context.Context, key string) (Ranges, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	// Non-blocking, because opening a named pipe would wait for a writer.
	file, err := f.root.OpenFile(filepath.FromSlash(key), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, f.absent(key, err)
	}
	return fromFile(file)
}

// absent returns the error of a key that cannot be opened. It is fs.ErrNotExist only if a part of the key is not listed
// in its folder, or a parent folder is a file. A link that leads nowhere is listed, but opening it fails in the same way.
func (f *localFolder) absent(key string, err error) error {
	for i := range len(key) + 1 {
		if i < len(key) && key[i] != '/' {
			continue
		}
		part := filepath.FromSlash(key[:i])
		info, statErr := f.root.Lstat(part)
		if statErr != nil {
			break
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			continue
		}
		if _, statErr = f.root.Stat(part); statErr != nil && !errors.Is(statErr, fs.ErrPermission) {
			return &fs.PathError{Op: "open", Path: filepath.Join(f.root.Name(), part), Err: ErrLink}
		}
	}
	if errors.Is(err, syscall.ENOTDIR) {
		return fmt.Errorf("%w (%w)", fs.ErrNotExist, err)
	}
	return err
}

// listBatch is the number of entries to read at a time.
const listBatch = 1024

func (f *localFolder) List(ctx context.Context, key string) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		dir, err := f.root.Open(filepath.FromSlash(orDot(key)))
		if err != nil {
			// A key that is a file is not missing, but absent takes ENOTDIR for that.
			if errors.Is(err, syscall.ENOTDIR) {
				yield(Entry{}, err)
			} else if err = f.absent(key, err); !errors.Is(err, fs.ErrNotExist) {
				yield(Entry{}, err)
			}
			return
		}
		err = f.list(ctx, dir, key, yield)
		if closeErr := dir.Close(); err == nil {
			err = closeErr
		}
		if err != nil && !errors.Is(err, errStopped) {
			yield(Entry{}, err)
		}
	}
}

func orDot(key string) string {
	if key == "" {
		return "."
	}
	return key
}

var errStopped = errors.New("stopped")

func (f *localFolder) list(ctx context.Context, dir *os.File, key string, yield func(Entry, error) bool) error {
	for {
		entries, err := dir.ReadDir(listBatch)
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		for _, d := range entries {
			e, ok, err := f.entry(key, d)
			if err != nil {
				return err
			}
			if ok && !yield(e, nil) {
				return errStopped
			}
		}
	}
}

// entry returns the Entry of d, which is in the folder key. A symbolic link counts as its target. ok is false if the
// entry was removed since it was listed.
func (f *localFolder) entry(key string, d os.DirEntry) (e Entry, ok bool, err error) {
	e = Entry{Name: d.Name(), Folder: d.IsDir()}
	if e.Folder {
		return e, true, nil
	}
	info, err := d.Info()
	if err == nil && d.Type()&fs.ModeSymlink != 0 {
		// os.Root fails for links out of the folder and for those to nothing.
		name := filepath.Join(filepath.FromSlash(key), d.Name())
		if info, err = f.root.Stat(name); err != nil {
			e.Err = &fs.PathError{Op: "open", Path: filepath.Join(f.root.Name(), name), Err: ErrLink}
			return e, true, nil
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return e, false, nil
	}
	if err != nil {
		return e, false, err
	}
	e.Folder, e.Size, e.Modified = info.IsDir(), info.Size(), info.ModTime()
	if !e.Folder && !info.Mode().IsRegular() {
		e.Err = &fs.PathError{Op: "open", Path: filepath.Join(f.root.Name(), filepath.FromSlash(key), d.Name()), Err: notRegular(info)}
	}
	return e, true, nil
}
