//go:build unix

package engine

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
)

// ServePassed answers requests on the connections that a client passes over a socket. It returns when the
// client closes the socket, or when ctx ends.
func ServePassed(ctx context.Context, s *Server, socket *os.File) error {
	conn, err := net.FileConn(socket)
	if err != nil {
		return fmt.Errorf("standard input is not a socket: %w", err)
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	control := newLink(conn)
	if _, ok := conn.(*net.UnixConn); !ok {
		return errors.New("standard input is not a Unix socket")
	}
	for {
		var one [1]byte
		n, passed, err := control.receive(one[:])
		if n == 0 || err != nil {
			passed.close()
			return nil // the client closed the socket
		}
		if passed == nil {
			continue
		}
		next, err := net.FileConn(passed.file) // duplicates the descriptor
		passed.close()
		if err == nil {
			s.Go(ctx, next)
		}
	}
}
