package mount

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"iter"
	"log/slog"
	"strings"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"varve/manifest/netcdffile"
	"varve/manifest/serve"
)

// tree is what the nodes of a mounted folder share.
type tree struct {
	handler *serve.Handler
	log     *slog.Logger
}

// fail logs an error, and returns what the kernel is told.
func (t *tree) fail(ctx context.Context, what string, err error) syscall.Errno {
	switch {
	case err == nil:
		return 0
	case errors.Is(err, serve.ErrNoFile):
		return syscall.ENOENT
	case ctx.Err() != nil:
		return syscall.EINTR
	}
	t.log.Error("reading failed", "file", what, "error", err)
	return syscall.EIO
}

// number returns an inode number that is different for each file of each snapshot.
func number(parts ...string) uint64 {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return binary.LittleEndian.Uint64(sum[:]) >> 1 &^ 1
}

// The names of files.
const (
	netcdfEnding = ".nc"
	zarrEnding   = ".zarr"
	ownPrefix    = "@"
)

// root is DIR, or DIR/@SNAPSHOT if it has an ID.
type root struct {
	fs.Inode
	*tree
	id string
}

var (
	_ fs.NodeLookuper  = (*root)(nil)
	_ fs.NodeReaddirer = (*root)(nil)
)

// Lookup implements fs.NodeLookuper.
func (r *root) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	if id, ok := strings.CutPrefix(name, ownPrefix); ok && id != "" && r.id == "" {
		for _, n := range r.handler.Names() {
			s, err := r.handler.OpenSnapshot(ctx, n, id)
			if err != nil {
				continue
			}
			s.Close()
			out.Mode = syscall.S_IFDIR | 0o555
			return r.NewInode(ctx, &root{tree: r.tree, id: id}, fs.StableAttr{Mode: syscall.S_IFDIR, Ino: number(id)}), 0
		}
		// The name of a manifest may begin so too.
	}
	for _, ending := range []string{netcdfEnding, zarrEnding} {
		dataset, ok := strings.CutSuffix(name, ending)
		if !ok {
			continue
		}
		s, err := r.handler.OpenSnapshot(ctx, dataset, r.id)
		if err != nil {
			if r.id != "" {
				return nil, syscall.ENOENT // of another manifest
			}
			return nil, r.fail(ctx, name, err)
		}
		defer s.Close()
		of := snapshot{r.tree, dataset, s.ID(), s.Created()}
		if ending == zarrEnding {
			f := &folder{snapshot: of}
			out.Mode = syscall.S_IFDIR | 0o555
			return r.NewInode(ctx, f, fs.StableAttr{Mode: syscall.S_IFDIR, Ino: number(dataset, s.ID(), zarrEnding)}), 0
		}
		f, err := s.NetCDF(ctx)
		if err != nil {
			return nil, r.fail(ctx, name, err)
		}
		n := &netcdf{snapshot: of, size: f.Size()}
		n.describe(&out.Attr, n.size)
		return r.NewInode(ctx, n, fs.StableAttr{Ino: number(dataset, s.ID(), netcdfEnding, f.Tag())}), 0
	}
	return nil, syscall.ENOENT
}

// Readdir implements fs.NodeReaddirer.
func (r *root) Readdir(ctx context.Context) (fs.DirStream, syscall.Errno) {
	var list []fuse.DirEntry
	for _, name := range r.handler.Names() {
		s, err := r.handler.OpenSnapshot(ctx, name, r.id)
		if err != nil {
			if r.id != "" {
				continue
			}
			return nil, r.fail(ctx, name, err)
		}
		list = append(list, fuse.DirEntry{Name: name + netcdfEnding, Mode: syscall.S_IFREG}, fuse.DirEntry{Name: name + zarrEnding, Mode: syscall.S_IFDIR})
		if r.id == "" {
			list = append(list, fuse.DirEntry{Name: ownPrefix + s.ID(), Mode: syscall.S_IFDIR})
		}
		s.Close()
	}
	return fs.NewListDirStream(list), 0
}

// snapshot is what a file is part of.
type snapshot struct {
	*tree
	dataset, id string
	created     time.Time
}

func (s *snapshot) open(ctx context.Context) (*serve.Snapshot, error) {
	return s.handler.OpenSnapshot(ctx, s.dataset, s.id)
}

// describe sets the attributes of a file.
func (s *snapshot) describe(a *fuse.Attr, size int64) {
	a.Mode = syscall.S_IFREG | 0o444
	a.Size = uint64(size)
	a.Blocks = uint64(size+511) / 512
	a.SetTimes(&s.created, &s.created, &s.created)
}

// netcdf is a dataset as one netCDF file.
type netcdf struct {
	fs.Inode
	snapshot
	size int64
}

var (
	_ fs.NodeOpener    = (*netcdf)(nil)
	_ fs.NodeGetattrer = (*netcdf)(nil)
)

// Getattr implements fs.NodeGetattrer.
func (n *netcdf) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	n.describe(&out.Attr, n.size)
	return 0
}

// Open implements fs.NodeOpener. The snapshot stays open until the file is closed.
func (n *netcdf) Open(ctx context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	if flags&syscall.O_ACCMODE != syscall.O_RDONLY {
		return nil, 0, syscall.EROFS
	}
	s, err := n.open(ctx)
	if err != nil {
		return nil, 0, n.fail(ctx, n.dataset+netcdfEnding, err)
	}
	f, err := s.NetCDF(ctx)
	if err != nil {
		s.Close()
		return nil, 0, n.fail(ctx, n.dataset+netcdfEnding, err)
	}
	return &openNetCDF{n, s, f}, fuse.FOPEN_KEEP_CACHE, 0
}

// openNetCDF is an open netCDF file.
type openNetCDF struct {
	*netcdf
	of   *serve.Snapshot
	file *netcdffile.File
}

var (
	_ fs.FileReader   = (*openNetCDF)(nil)
	_ fs.FileReleaser = (*openNetCDF)(nil)
)

// Read implements fs.FileReader.
func (o *openNetCDF) Read(ctx context.Context, b []byte, off int64) (fuse.ReadResult, syscall.Errno) {
	b = b[:max(min(int64(len(b)), o.size-off), 0)]
	if err := o.of.ReadNetCDF(ctx, o.file, b, off); err != nil {
		return nil, o.fail(ctx, o.dataset+netcdfEnding, err)
	}
	return fuse.ReadResultData(b), 0
}

// Release implements fs.FileReleaser.
func (o *openNetCDF) Release(context.Context) syscall.Errno {
	o.of.Close()
	return 0
}

// folder is a folder of a Zarr hierarchy.
type folder struct {
	fs.Inode
	snapshot
	path string
}

var (
	_ fs.NodeLookuper  = (*folder)(nil)
	_ fs.NodeReaddirer = (*folder)(nil)
)

func (f *folder) below(name string) string {
	if f.path == "" {
		return name
	}
	return f.path + "/" + name
}

// Lookup implements fs.NodeLookuper.
func (f *folder) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	path := f.below(name)
	s, err := f.open(ctx)
	if err != nil {
		return nil, f.fail(ctx, path, err)
	}
	defer s.Close()
	e, err := s.Find(ctx, path)
	if err != nil {
		return nil, f.fail(ctx, path, err)
	}
	ino := number(f.dataset, f.id, zarrEnding, path)
	if e.IsFolder {
		out.Mode = syscall.S_IFDIR | 0o555
		return f.NewInode(ctx, &folder{snapshot: f.snapshot, path: path}, fs.StableAttr{Mode: syscall.S_IFDIR, Ino: ino}), 0
	}
	n := &file{snapshot: f.snapshot, path: path, size: e.Size}
	n.describe(&out.Attr, n.size)
	return f.NewInode(ctx, n, fs.StableAttr{Ino: ino}), 0
}

// Readdir implements fs.NodeReaddirer.
func (f *folder) Readdir(ctx context.Context) (fs.DirStream, syscall.Errno) {
	s, err := f.open(ctx)
	if err != nil {
		return nil, f.fail(ctx, f.path, err)
	}
	next, stop := iter.Pull2(s.List(context.WithoutCancel(ctx), f.path))
	l := &listing{folder: f, of: s, next: next, stop: stop}
	l.advance()
	return l, 0
}

// listing yields the entries of a folder, which may be very many.
type listing struct {
	*folder
	of    *serve.Snapshot
	next  func() (serve.Entry, error, bool)
	stop  func()
	entry serve.Entry
	err   error
	more  bool
}

func (l *listing) advance() { l.entry, l.err, l.more = l.next() }

// HasNext implements fs.DirStream.
func (l *listing) HasNext() bool { return l.more }

// Next implements fs.DirStream.
func (l *listing) Next() (fuse.DirEntry, syscall.Errno) {
	if l.err != nil {
		return fuse.DirEntry{}, l.fail(context.Background(), l.path, l.err)
	}
	e := fuse.DirEntry{Name: l.entry.Name, Mode: syscall.S_IFREG}
	if l.entry.IsFolder {
		e.Mode = syscall.S_IFDIR
	}
	l.advance()
	return e, 0
}

// Close implements fs.DirStream.
func (l *listing) Close() {
	l.stop()
	l.of.Close()
}

// file is a file of a Zarr hierarchy.
type file struct {
	fs.Inode
	snapshot
	path string
	size int64
}

var (
	_ fs.NodeOpener    = (*file)(nil)
	_ fs.NodeReader    = (*file)(nil)
	_ fs.NodeGetattrer = (*file)(nil)
)

// Getattr implements fs.NodeGetattrer.
func (f *file) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	f.describe(&out.Attr, f.size)
	return 0
}

// Open implements fs.NodeOpener.
func (f *file) Open(_ context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	if flags&syscall.O_ACCMODE != syscall.O_RDONLY {
		return nil, 0, syscall.EROFS
	}
	return nil, fuse.FOPEN_KEEP_CACHE, 0
}

// Read implements fs.NodeReader.
func (f *file) Read(ctx context.Context, _ fs.FileHandle, b []byte, off int64) (fuse.ReadResult, syscall.Errno) {
	s, err := f.open(ctx)
	if err != nil {
		return nil, f.fail(ctx, f.path, err)
	}
	defer s.Close()
	n, err := s.Read(ctx, f.path, b, off)
	if err != nil {
		return nil, f.fail(ctx, f.path, err)
	}
	return fuse.ReadResultData(b[:n]), 0
}
