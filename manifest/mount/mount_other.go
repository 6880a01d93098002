//go:build !linux

package mount

import (
	"context"
	"errors"
	"fmt"
	"runtime"
)

// Mounted is a mounted folder.
type Mounted struct{}

// Mount fails: only Linux can mount datasets.
func Mount(string, *Options) (*Mounted, error) {
	return nil, fmt.Errorf("mounting datasets on %s: %w; read NAME.nc from varve serve", runtime.GOOS, errors.ErrUnsupported)
}

// Wait returns nil: nothing is mounted.
func (*Mounted) Wait(context.Context) error { return nil }
