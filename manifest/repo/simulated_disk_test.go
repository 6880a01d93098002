package repo

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"varve/manifest/internal/home"
)

// simulatedDisk is a file system in a world. After a power failure it has all that was flushed, and any part of the rest:
//
//   - a file that was not flushed has any beginning of its content;
//   - of the names that were made, removed or replaced in a folder since the folder was flushed, any part is lost.
type simulatedDisk struct {
	world   *world
	folders map[string]*simulatedFolder // "" is the repository
	lockMu  sync.Mutex                  // processes release locks when they end
	locks   map[string]map[*process]home.LockMode
	// Bugs: calls that have no effect.
	ignoresSync, ignoresFolderSync, ignoresLocks bool
	// nfs: a client may believe for some time that a name does not exist although another has made it.
	nfs    bool
	absent map[absence]time.Time
}

// absence is a client's memory of a name that did not exist.
type absence struct {
	client int
	name   string
}

// lookupCache is the longest time for which a client of NFS believes that a name does not exist.
const lookupCache = 30 * time.Second

type simulatedFolder struct {
	names   map[string]*inode
	flushed map[string]*inode
	changes []change // since it was flushed
}

type change struct {
	name string
	to   *inode // nil: removed
}

type inode struct {
	isFolder         bool
	content, flushed []byte
}

func newSimulatedDisk(w *world, nfs bool) *simulatedDisk {
	d := &simulatedDisk{world: w, folders: map[string]*simulatedFolder{}, locks: map[string]map[*process]home.LockMode{}, nfs: nfs, absent: map[absence]time.Time{}}
	d.addFolder("")
	return d
}

func (d *simulatedDisk) addFolder(name string) {
	d.folders[name] = &simulatedFolder{names: map[string]*inode{}, flushed: map[string]*inode{}}
}

func (f *simulatedFolder) set(name string, to *inode) {
	if to == nil {
		delete(f.names, name)
	} else {
		f.names[name] = to
	}
	f.changes = append(f.changes, change{name, to})
}

// at returns the folder and the base of a name.
func (d *simulatedDisk) at(name string) (*simulatedFolder, string) {
	dir, base := path.Split(name)
	return d.folders[strings.TrimSuffix(dir, "/")], base
}

func (d *simulatedDisk) find(name string) *inode {
	if f, base := d.at(name); f != nil {
		return f.names[base]
	}
	return nil
}

// content returns the content of a file, or nil.
func (d *simulatedDisk) content(name string) []byte {
	if i := d.find(name); i != nil {
		return i.content
	}
	return nil
}

// powerFailure loses all data that was not flushed.
func (d *simulatedDisk) powerFailure(random *rand.Rand) {
	d.lockMu.Lock()
	clear(d.locks)
	d.lockMu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(d.folders)) {
		f := d.folders[name]
		for _, c := range f.changes {
			switch {
			case random.IntN(2) == 0: // lost
			case c.to == nil:
				delete(f.flushed, c.name)
			default:
				f.flushed[c.name] = c.to
			}
		}
		f.names, f.changes = maps.Clone(f.flushed), nil
	}
	for name := range d.folders {
		if name != "" && d.folders[""].names[name] == nil {
			delete(d.folders, name)
		}
	}
	done := map[*inode]bool{}
	for _, name := range slices.Sorted(maps.Keys(d.folders)) {
		f := d.folders[name]
		for _, base := range slices.Sorted(maps.Keys(f.names)) {
			i := f.names[base]
			if i.flushed == nil && !i.isFolder && !done[i] {
				i.content = i.content[:random.IntN(len(i.content)+1)]
			}
			done[i] = true
		}
	}
}

// simulatedPath is the path of the repository.
const simulatedPath = "/simulated"

// open returns the folder of a process.
func (d *simulatedDisk) open(p *process) files {
	p.leave = func() { d.unlock(p, "") }
	return newFolder(home.NewFolder(simulatedPath, &processDisk{d, p}))
}

// unlock releases the lock of a file, or all locks.
func (d *simulatedDisk) unlock(p *process, name string) {
	d.lockMu.Lock()
	defer d.lockMu.Unlock()
	for of, held := range d.locks {
		if name == "" || of == name {
			delete(held, p)
		}
	}
}

// processDisk is the disk as a process uses it.
type processDisk struct {
	*simulatedDisk
	by *process
}

// call waits until the scheduler chooses the call.
func (d *processDisk) call(op, name string, exec func() error) error {
	if d.nfs {
		exec = d.throughCache(op, name, exec)
	}
	err, _ := d.world.turn(context.Background(), d.by, op+" "+name, func() any { return exec() }, nil).(error)
	if err == errBroken {
		err = syscall.EIO
	}
	if err != nil && err != ErrBusy {
		err = &fs.PathError{Op: op, Path: name, Err: err}
	}
	return err
}

// throughCache lets a client of NFS remember that a name did not exist, until it makes the name itself.
func (d *processDisk) throughCache(op, name string, exec func() error) func() error {
	return func() error {
		isLookup := op == "open" || op == "stat"
		key := absence{d.by.number, name}
		if since, ok := d.absent[key]; ok && isLookup && time.Since(since) < lookupCache {
			return syscall.ENOENT
		}
		err := exec()
		if isLookup && err == syscall.ENOENT {
			d.absent[key] = time.Now()
		} else {
			delete(d.absent, key)
		}
		return err
	}
}

func (d *processDisk) Open(name string) (file home.DiskFile, err error) {
	err = d.call("open", name, func() error {
		i := d.find(name)
		if i == nil {
			return syscall.ENOENT
		}
		file = &simulatedFile{d, i, name}
		return nil
	})
	return file, err
}

func (d *processDisk) Create(name string, _ bool) (file home.DiskFile, err error) {
	err = d.call("create", name, func() error {
		f, base := d.at(name)
		switch {
		case f == nil:
			return syscall.ENOENT
		case f.names[base] != nil:
			return syscall.EEXIST
		}
		i := &inode{content: []byte{}}
		f.set(base, i)
		file = &simulatedFile{d, i, name}
		return nil
	})
	return file, err
}

func (d *processDisk) Mkdir(name string) error {
	return d.call("mkdir", name, func() error {
		if d.folders[name] != nil || name == "." {
			return syscall.EEXIST
		}
		d.addFolder(name)
		d.folders[""].set(name, &inode{isFolder: true})
		return nil
	})
}

func (d *processDisk) Rename(from, to string) error {
	return d.call("rename", to, func() error {
		f, base := d.at(from)
		g, name := d.at(to)
		if f == nil || g == nil || f.names[base] == nil {
			return syscall.ENOENT
		}
		i := f.names[base]
		f.set(base, nil)
		g.set(name, i)
		d.world.history.stored(to, i.content)
		return nil
	})
}

func (d *processDisk) Link(from, to string) error {
	return d.call("link", to, func() error {
		f, base := d.at(from)
		g, name := d.at(to)
		switch {
		case f == nil || g == nil || f.names[base] == nil:
			return syscall.ENOENT
		case g.names[name] != nil:
			return syscall.EEXIST
		}
		g.set(name, f.names[base])
		d.world.history.stored(to, f.names[base].content)
		return nil
	})
}

func (d *processDisk) Remove(name string) error {
	return d.call("remove", name, func() error {
		f, base := d.at(name)
		if f == nil || f.names[base] == nil {
			return syscall.ENOENT
		}
		f.set(base, nil)
		d.world.history.removed(name)
		return nil
	})
}

func (d *processDisk) Stat(name string) (info fs.FileInfo, err error) {
	err = d.call("stat", name, func() error {
		i := d.find(name)
		if i == nil {
			return syscall.ENOENT
		}
		info = simulatedInfo{path.Base(name), i}
		return nil
	})
	return info, err
}

func (d *processDisk) List(name string) (entries []fs.DirEntry, err error) {
	err = d.call("list", name, func() error {
		f := d.folders[name]
		if f == nil {
			return syscall.ENOENT
		}
		for _, base := range slices.Sorted(maps.Keys(f.names)) {
			entries = append(entries, fs.FileInfoToDirEntry(simulatedInfo{base, f.names[base]}))
		}
		return nil
	})
	return entries, err
}

func (d *processDisk) Lock(name string, how home.LockMode) (func() error, error) {
	err := d.call("lock", name, func() error {
		d.lockMu.Lock()
		defer d.lockMu.Unlock()
		held := d.locks[name]
		if held == nil {
			held = map[*process]home.LockMode{}
			d.locks[name] = held
		}
		for other, mode := range held {
			if other != d.by && (how == home.Exclusive || mode == home.Exclusive) && !d.ignoresLocks {
				return ErrBusy
			}
		}
		held[d.by] = how
		return nil
	})
	if err != nil {
		return nil, err
	}
	return func() error {
		return d.call("unlock", name, func() error {
			d.unlock(d.by, name)
			return nil
		})
	}, nil
}

func (d *processDisk) SyncFolder(dir string) error {
	name, err := filepath.Rel(simulatedPath, dir)
	if err != nil || name == ".." {
		return err
	}
	return d.call("sync folder", name, func() error {
		f := d.folders[strings.TrimPrefix(name, ".")]
		if f == nil {
			return syscall.ENOENT
		}
		if !d.ignoresFolderSync {
			f.flushed, f.changes = maps.Clone(f.names), nil
		}
		return nil
	})
}

func (d *processDisk) Close() error { return nil }

// simulatedFile is an open file.
type simulatedFile struct {
	disk *processDisk
	*inode
	name string
}

func (f *simulatedFile) ReadAt(p []byte, off int64) (n int, err error) {
	if f.disk.by.killed {
		return 0, errKilled
	}
	n = copy(p, f.content[min(off, int64(len(f.content))):])
	if n < len(p) {
		err = io.EOF
	}
	return n, err
}

func (f *simulatedFile) Write(p []byte) (n int, err error) {
	err = f.disk.call("write", f.name, func() error {
		f.content, n = append(f.content, p...), len(p)
		return nil
	})
	return n, err
}

func (f *simulatedFile) Sync() error {
	return f.disk.call("sync", f.name, func() error {
		if !f.disk.ignoresSync {
			f.flushed = bytes.Clone(f.content)
		}
		return nil
	})
}

func (f *simulatedFile) Stat() (fs.FileInfo, error) {
	return simulatedInfo{path.Base(f.name), f.inode}, nil
}

func (f *simulatedFile) Close() error { return nil }

// simulatedInfo is the information on a file.
type simulatedInfo struct {
	name string
	*inode
}

func (i simulatedInfo) Name() string       { return i.name }
func (i simulatedInfo) Size() int64        { return int64(len(i.content)) }
func (i simulatedInfo) ModTime() time.Time { return time.Time{} }
func (i simulatedInfo) IsDir() bool        { return i.isFolder }
func (i simulatedInfo) Sys() any           { return nil }
func (i simulatedInfo) Mode() fs.FileMode {
	if i.isFolder {
		return fs.ModeDir
	}
	return 0
}
