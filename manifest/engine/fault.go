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

// faultOf returns an error with its code.
func (s *Server) faultOf(err error) fault {
	if s.opts.ErrorText != nil {
		return fault{ErrorCode(err), s.opts.ErrorText(err)}
	}
	return fault{ErrorCode(err), err.Error()}
}

// ErrorCode returns the code of an error. The Python package raises a different exception for each code.
func ErrorCode(err error) string {
	var damage *manifest.DamageError
	switch {
	case errors.Is(err, errRequest), errors.Is(err, grid.ErrOutOfBounds):
		return "usage"
	case errors.Is(err, errNoDataset):
		return "closed"
	case errors.Is(err, context.Canceled):
		return "cancelled"
	case errors.As(err, &damage):
		return "manifest_damaged"
	case errors.Is(err, source.ErrForbidden):
		return "not_allowed"
	case errors.Is(err, source.ErrChanged):
		return "source_changed"
	case errors.Is(err, codec.ErrCorrupt):
		return "corrupt"
	case errors.Is(err, errors.ErrUnsupported):
		return "unsupported"
	case errors.Is(err, fs.ErrPermission):
		return "not_allowed"
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, store.ErrNoArray):
		return "not_found"
	}
	return "failed"
}
