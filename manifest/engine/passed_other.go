//go:build !unix

package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
)

// ServePassed returns an errors.ErrUnsupported: this system cannot pass sockets between processes.
func ServePassed(context.Context, *Server, *os.File) error {
	return fmt.Errorf("this system cannot pass sockets between processes: %w", errors.ErrUnsupported)
}
