//go:build !linux

package serve

import "io"

// writeMore writes p.
func (c *conn) writeMore(p []byte) (int, error) { return c.socket.Write(p) }

// sendFile copies a part of a file to the connection.
func (c *conn) sendFile(p *filePart) (int64, error) {
	return io.Copy(struct{ io.Writer }{c.socket}, p)
}
