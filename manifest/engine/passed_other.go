//go:build !unix

package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
)

// ServePassed is for systems that pass sockets.
func ServePassed(context.Context, *Server, *os.File) error {
	return fmt.Errorf("sockets are not passed on this system: %w", errors.ErrUnsupported)
}
