package serve

import (
	"sync/atomic"

	"varve/manifest/store"
)

// descriptor is an open file that several answers read concurrently. It is closed when its last user leaves.
type descriptor struct {
	*store.Local
	fd    int
	stamp stamp
	users users
}

// newDescriptor takes ownership of f. The caller is the first user and calls leave.
func newDescriptor(f *store.Local) (*descriptor, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	raw, err := f.SyscallConn()
	if err != nil {
		return nil, err
	}
	d := &descriptor{Local: f, stamp: stampOf(info)}
	d.users.Store(1)
	return d, raw.Control(func(fd uintptr) { d.fd = int(fd) })
}

// enter adds a user and reports whether the file is still open. The user calls leave.
func (d *descriptor) enter() bool { return d.users.enter() }

func (d *descriptor) leave() {
	if d.users.Add(-1) == 0 {
		_ = d.Close() // the file was only read, so Close loses no data
	}
}

// users counts the users of an object that is closed when the last user leaves.
type users struct{ atomic.Int64 }

// enter adds a user, unless the count is already 0.
func (u *users) enter() bool {
	for {
		n := u.Load()
		if n == 0 {
			return false
			// Compare and swap instead of Add: the count must not increase from 0, when the object is being closed.
		}
		if u.CompareAndSwap(n, n+1) {
			return true
		}
	}
}
