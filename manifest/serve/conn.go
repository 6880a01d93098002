package serve

import (
	"context"
	"io"
	"net"
	"net/http"
	"syscall"
	"time"
)

// conn is a connection that sends parts of files with sendfile. Many connections can send the same file,
// because none changes the file's position. The header of an answer leaves in the same packet as the first
// bytes of the file.
type conn struct {
	socket
	raw syscall.RawConn
	// more is true if a file follows the next write.
	more bool
	// late is the current write deadline. Moving it by less than leeway is skipped.
	late   time.Time
	leeway time.Duration
}

// socket is a network connection with access to its file descriptor.
type socket interface {
	net.Conn
	syscall.Conn
}

// newConn returns c as a connection that sends files, or c itself if the system does not support it.
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

// withConn stores the connection in the contexts of its requests.
func withConn(ctx context.Context, c net.Conn) context.Context {
	if k, ok := c.(*conn); ok {
		return context.WithValue(ctx, connKey{}, k)
	}
	return ctx
}

// expectFile delays the header of an answer until the file that follows it.
func expectFile(r *http.Request) {
	if k, ok := r.Context().Value(connKey{}).(*conn); ok {
		k.more = true
	}
}

// SetWriteDeadline implements net.Conn. Setting a timer for each of many small answers is expensive, so a
// deadline may be up to a quarter of the client's time earlier than requested.
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

// CloseWrite tells the client that no more data follows. The HTTP server calls it before closing.
func (c *conn) CloseWrite() error {
	if half, ok := c.socket.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// ReadFrom implements io.ReaderFrom, which the HTTP server uses for bodies that it copies unchanged.
func (c *conn) ReadFrom(src io.Reader) (int64, error) {
	// Wrapped in struct{ io.Writer }, c has no ReadFrom, so io.Copy below does not call this method again.
	if p, ok := src.(*filePart); ok {
		return c.sendFile(p)
	}
	return io.Copy(struct{ io.Writer }{c}, src)
}

// filePart reads a part of a file without changing the file's position.
type filePart struct {
	file *descriptor
	span
}

// Read implements io.Reader, for connections without sendfile.
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
