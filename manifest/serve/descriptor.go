package serve

import (
	"sync/atomic"

	"varve/manifest/store"
)

// descriptor is an open file that several answers read at a time. It is closed when the last
// of them, and whoever keeps it, has left it.
type descriptor struct {
	*store.Local
	fd    int
	stamp stamp
	users users
}

// newDescriptor takes over a file, and is one user of it.
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

// enter reports whether the file is open, and keeps it so until leave.
func (d *descriptor) enter() bool { return d.users.enter() }

func (d *descriptor) leave() {
	if d.users.Add(-1) == 0 {
		_ = d.Close() // it was only read from
	}
}

// users counts who uses something that is closed when nobody does any more.
type users struct{ atomic.Int64 }

// enter takes in one more, unless there is none.
func (u *users) enter() bool {
	for {
		n := u.Load()
		if n == 0 {
			return false
		}
		if u.CompareAndSwap(n, n+1) {
			return true
		}
	}
}
