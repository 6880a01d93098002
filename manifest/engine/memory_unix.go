//go:build unix

package engine

import (
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
)

// shared is a file that a client sent along with a request.
type shared struct{ file *os.File }

func (s *shared) close() {
	if s != nil {
		_ = s.file.Close() // nothing was written to it
	}
}

// mapped maps the file into memory, which stays valid after the file is closed.
func (s *shared) mapped() ([]byte, error) {
	info, err := s.file.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() <= 0 || info.Size() > maxStage {
		return nil, fmt.Errorf("%w: shared memory of %d bytes", errRequest, info.Size())
	}
	memory, err := syscall.Mmap(int(s.file.Fd()), 0, int(info.Size()), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("shared memory: %w", err)
	}
	return memory, nil
}

func unmap(memory []byte) {
	if memory != nil {
		_ = syscall.Munmap(memory) // fails only if memory is not mapped
	}
}

// newLink returns a link that uses a connection.
func newLink(conn net.Conn) *link {
	l := &link{Conn: conn}
	unix, ok := conn.(*net.UnixConn)
	if !ok {
		l.receive = func(p []byte) (int, *shared, error) { n, err := conn.Read(p); return n, nil, err }
		return l
	}
	control := make([]byte, syscall.CmsgSpace(4*4))
	l.receive = func(p []byte) (int, *shared, error) {
		n, controls, _, _, err := unix.ReadMsgUnix(p, control)
		if controls == 0 || err != nil {
			return n, nil, err
		}
		files, err := filesOf(control[:controls])
		if err != nil || len(files) == 0 {
			return n, nil, err
		}
		for _, extra := range files[1:] {
			err = errors.Join(err, extra.Close())
		}
		return n, &shared{files[0]}, err
	}
	return l
}

// filesOf returns the files whose descriptors were sent with a message.
func filesOf(control []byte) (files []*os.File, err error) {
	messages, err := syscall.ParseSocketControlMessage(control)
	if err != nil {
		return nil, err
	}
	for i := range messages {
		descriptors, err := syscall.ParseUnixRights(&messages[i])
		if err != nil {
			return files, err
		}
		for _, fd := range descriptors {
			files = append(files, os.NewFile(uintptr(fd), "descriptor of a client"))
		}
	}
	return files, nil
}
