package engine

import (
	"context"
	"errors"
	"io/fs"

	"varve/codec"
	"varve/grid"
	"varve/manifest"
	"varve/manifest/store"
	"varve/readers/source"
)

// fault is an error in the form that a client gets.
type fault struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// errNoDataset is returned for a handle that does not exist or was closed.
var errNoDataset = errors.New("the dataset is closed")

// faultOf returns an error with its code. The Python package raises a different exception for each code.
func (s *Server) faultOf(err error) fault {
	var damage *manifest.DamageError
	code := "failed"
	switch {
	case errors.Is(err, errRequest), errors.Is(err, grid.ErrOutOfBounds):
		code = "usage"
	case errors.Is(err, errNoDataset):
		code = "closed"
	case errors.Is(err, context.Canceled):
		code = "cancelled"
	case errors.As(err, &damage):
		code = "manifest_damaged"
	case errors.Is(err, source.ErrForbidden):
		code = "not_allowed"
	case errors.Is(err, source.ErrChanged):
		code = "source_changed"
	case errors.Is(err, codec.ErrCorrupt):
		code = "corrupt"
	case errors.Is(err, errors.ErrUnsupported):
		code = "unsupported"
	case errors.Is(err, fs.ErrPermission):
		code = "not_allowed"
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, store.ErrNoArray):
		code = "not_found"
	}
	if s.opts.ErrorText != nil {
		return fault{code, s.opts.ErrorText(err)}
	}
	return fault{code, err.Error()}
}
