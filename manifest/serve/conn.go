package serve

import (
	"context"
	"io"
	"net"
	"net/http"
	"syscall"
	"time"
)

// conn is a connection that sends parts of files. One file may be sent by many connections
// at a time, for none of them moves its position; and the head of an answer leaves together
// with the first bytes of the file.
type conn struct {
	socket
	raw syscall.RawConn
	// more says that a file follows what is written next.
	more bool
	// late is the deadline for writing, which is left as it is if it is to move by less than
	// leeway.
	late   time.Time
	leeway time.Duration
}

// socket is a connection of the system.
type socket interface {
	net.Conn
	syscall.Conn
}

// newConn returns the connection as one that sends files, if it can.
func newConn(c net.Conn) net.Conn {
	s, ok := c.(socket)
	if !ok {
		return c
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return c
	}
	return &conn{socket: s, raw: raw}
}

type connKey struct{}

// withConn has requests know their connection.
func withConn(ctx context.Context, c net.Conn) context.Context {
	if k, ok := c.(*conn); ok {
		return context.WithValue(ctx, connKey{}, k)
	}
	return ctx
}

// expectFile has the head of an answer wait for the file behind it.
func expectFile(r *http.Request) {
	if k, ok := r.Context().Value(connKey{}).(*conn); ok {
		k.more = true
	}
}

// SetWriteDeadline implements net.Conn. A timer that is set for each of many small answers
// costs more than it tells: a client has the time that it was promised less a quarter.
func (c *conn) SetWriteDeadline(t time.Time) error {
	if by := t.Sub(c.late); by >= 0 && by < c.leeway {
		return nil
	}
	if err := c.socket.SetWriteDeadline(t); err != nil {
		return err
	}
	c.late, c.leeway = t, time.Until(t)/4
	return nil
}

// Write implements net.Conn.
func (c *conn) Write(p []byte) (int, error) {
	if c.more {
		c.more = false
		return c.writeMore(p)
	}
	return c.socket.Write(p)
}

// CloseWrite tells the client that nothing more comes, which the server does before it closes.
func (c *conn) CloseWrite() error {
	if half, ok := c.socket.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// ReadFrom implements io.ReaderFrom, which is how the server hands on what it has not to see.
func (c *conn) ReadFrom(src io.Reader) (int64, error) {
	if p, ok := src.(*filePart); ok {
		return c.sendFile(p)
	}
	return io.Copy(struct{ io.Writer }{c}, src)
}

// filePart reads a part of a file, without moving the file's position.
type filePart struct {
	file *descriptor
	span
}

// Read implements io.Reader, for connections that do not send files.
func (p *filePart) Read(b []byte) (int, error) {
	if p.length == 0 {
		return 0, io.EOF
	}
	if int64(len(b)) > p.length {
		b = b[:p.length]
	}
	n, err := p.file.ReadAt(b, p.from)
	p.from, p.length = p.from+int64(n), p.length-int64(n)
	return n, err
}
