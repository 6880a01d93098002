package mount

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

const (
	// fresh is how long the kernel believes where a name leads, so that it follows appends.
	fresh = time.Second
	// readAhead is what the kernel reads in advance, if it may be set.
	readAhead = 4 << 20
)

// Mounted is a mounted folder.
type Mounted struct {
	server *fuse.Server
	dir    string
}

// Mount shows datasets in a folder, which must be empty. A folder in which a mount has died is unmounted first.
func Mount(dir string, opts *Options) (*Mounted, error) {
	if err := prepare(dir); err != nil {
		return nil, err
	}
	log := opts.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	t := &tree{handler: opts.Handler, log: log}
	timeout, forever := fresh, 24*time.Hour
	server, err := fs.Mount(dir, &root{tree: t}, &fs.Options{
		EntryTimeout: &timeout,
		AttrTimeout:  &forever, // a file never changes
		UID:          uint32(os.Getuid()),
		GID:          uint32(os.Getgid()),
		MountOptions: fuse.MountOptions{
			DirectMount:          true,
			AllowOther:           opts.AllowOther,
			Options:              []string{"ro"},
			DirectMountFlags:     syscall.MS_RDONLY | syscall.MS_NOSUID | syscall.MS_NODEV,
			FsName:               "varve",
			Name:                 "varve",
			MaxReadAhead:         readAhead,
			MaxWrite:             512 << 10,
			DisableSplice:        true, // a reply does not fit in a pipe
			Logger:               slog.NewLogLogger(log.Handler(), slog.LevelWarn),
			DisableXAttrs:        true,
			IgnoreSecurityLabels: true,
		},
	})
	if err != nil {
		return nil, fmt.Errorf("mount %s: %w; mounting needs /dev/fuse, and fusermount3 unless you are root", dir, err)
	}
	m := &Mounted{server, dir}
	m.setReadAhead(log)
	return m, nil
}

// prepare checks that a folder can be mounted on.
func prepare(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, syscall.ENOTCONN) {
		// The process that had mounted it died.
		if err := detach(dir); err != nil {
			return fmt.Errorf("%s: unmounting what a process that died had mounted: %w", dir, err)
		}
		entries, err = os.ReadDir(dir)
	}
	if err != nil {
		return err
	}
	var stat unix.Statfs_t
	if err := unix.Statfs(dir, &stat); err == nil && stat.Type == unix.FUSE_SUPER_MAGIC && isMountPoint(dir) {
		return fmt.Errorf("%s: another process has mounted it; unmount it first, or choose another folder", dir)
	}
	if len(entries) > 0 {
		return fmt.Errorf("%s: the folder is not empty; choose an empty one", dir)
	}
	return nil
}

// isMountPoint reports whether a folder is on another file system than its parent.
func isMountPoint(dir string) bool {
	var own, parent unix.Stat_t
	return unix.Stat(dir, &own) == nil && unix.Stat(filepath.Join(dir, ".."), &parent) == nil && own.Dev != parent.Dev
}

// detach unmounts a folder, even if files in it are open.
func detach(dir string) error {
	err := unix.Unmount(dir, unix.MNT_DETACH)
	if errors.Is(err, unix.EPERM) {
		return runFusermount(dir)
	}
	return err
}

// setReadAhead raises the limit of the kernel's read-ahead, which is 128 KiB, if this process may do that.
func (m *Mounted) setReadAhead(log *slog.Logger) {
	// Without a request to this process: if it was killed while it waits for itself, the kernel would wait forever.
	var stat unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, m.dir, unix.AT_STATX_DONT_SYNC, 0, &stat); err != nil {
		return
	}
	name := fmt.Sprintf("/sys/class/bdi/%d:%d/read_ahead_kb", stat.Dev_major, stat.Dev_minor)
	if err := os.WriteFile(name, []byte(strconv.Itoa(readAhead>>10)), 0o644); err != nil {
		log.Debug("the kernel reads ahead 128 KiB", "error", err)
	}
}

// Wait returns when the folder is unmounted. If ctx ends, it unmounts the folder: open files become unreadable.
func (m *Mounted) Wait(ctx context.Context) error {
	gone := make(chan struct{})
	go func() {
		m.server.Wait()
		close(gone)
	}()
	select {
	case <-gone:
		return nil
	case <-ctx.Done():
	}
	if err := m.server.Unmount(); err != nil {
		// Files are open.
		if err := detach(m.dir); err != nil {
			return fmt.Errorf("unmount %s: %w", m.dir, err)
		}
	}
	return nil
}
