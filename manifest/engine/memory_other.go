//go:build !unix

package engine

import (
	"errors"
	"net"
)

// shared is not used on this system: all elements are sent over the connection.
type shared struct{}

func (s *shared) close() {}

func (s *shared) mapped() ([]byte, error) { return nil, errors.ErrUnsupported }

func unmap([]byte) {}

func newLink(conn net.Conn) *link {
	return &link{Conn: conn, receive: func(p []byte) (int, *shared, error) { n, err := conn.Read(p); return n, nil, err }}
}
