//go:build unix

package engine

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
)

// ServePassed answers on the connections that a client passes over a socket, until it closes that or
// ctx ends.
func ServePassed(ctx context.Context, s *Server, socket *os.File) error {
	conn, err := net.FileConn(socket)
	if err != nil {
		return fmt.Errorf("standard input is no socket: %w", err)
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	control := newLink(conn)
	if _, ok := conn.(*net.UnixConn); !ok {
		return errors.New("standard input is no Unix socket")
	}
	for {
		var one [1]byte
		n, passed, err := control.receive(one[:])
		if n == 0 || err != nil {
			passed.close()
			return nil // the client is gone
		}
		if passed == nil {
			continue
		}
		next, err := net.FileConn(passed.file) // a duplicate
		passed.close()
		if err == nil {
			s.Go(ctx, next)
		}
	}
}
