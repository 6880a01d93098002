package serve

import (
	"errors"
	"io"
	"os"
	"syscall"
)

// writeMore writes p and tells the system that more data follows at once, so that it sends one packet for
// both.
func (c *conn) writeMore(p []byte) (int, error) {
	sent := 0
	var failed error
	err := c.raw.Write(func(fd uintptr) bool {
		for sent < len(p) {
			n, err := syscall.SendmsgN(int(fd), p[sent:], nil, nil, syscall.MSG_MORE|syscall.MSG_NOSIGNAL)
			switch {
			case errors.Is(err, syscall.EINTR):
			// The system calls the function again when the socket can accept data.
			case errors.Is(err, syscall.EAGAIN):
				return false
			case err != nil:
				failed = os.NewSyscallError("sendmsg", err)
				return true
			default:
				sent += n
			}
		}
		return true
	})
	return sent, errors.Join(err, failed)
}

// maxSend is the largest number of bytes per sendfile call.
const maxSend = 1 << 30

// sendFile sends a part of a file from the kernel, without copying it into this process.
func (c *conn) sendFile(p *filePart) (int64, error) {
	want := p.length
	var failed error
	err := c.raw.Write(func(fd uintptr) bool {
		for p.length > 0 {
			n, err := syscall.Sendfile(int(fd), p.file.fd, &p.from, int(min(p.length, maxSend)))
			switch {
			case errors.Is(err, syscall.EINTR):
			case errors.Is(err, syscall.EAGAIN):
				return false
			case err != nil:
				failed = os.NewSyscallError("sendfile", err)
				return true
			case n == 0:
				// The file is shorter than when it was opened.
				failed = io.ErrUnexpectedEOF
				return true
			default:
				p.length -= int64(n)
			}
		}
		return true
	})
	return want - p.length, errors.Join(err, failed)
}
