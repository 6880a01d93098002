package readers

import (
	"fmt"
	"strings"

	"varve/codec"
)

// ErrCorrupt marks errors about bytes of a source that violate the format's specification. Valid
// bytes that varve does not support are marked by errors.ErrUnsupported instead.
var ErrCorrupt = codec.ErrCorrupt

// Error is an error of reading a source, with its position.
type Error struct {
	Source string // empty until it is known
	Path   string // of the object; empty if the error is not of one object
	Offset int64  // of the structure in the source; -1 if not known
	Err    error
}

// Error returns the position followed by the message.
func (e *Error) Error() string {
	var parts []string
	if e.Source != "" {
		parts = append(parts, e.Source)
	}
	if e.Path != "" {
		parts = append(parts, e.Path)
	}
	if e.Offset >= 0 {
		parts = append(parts, fmt.Sprintf("at offset %d", e.Offset))
	}
	return strings.Join(append(parts, e.Err.Error()), ": ")
}

// Unwrap returns the error without the position.
func (e *Error) Unwrap() error { return e.Err }

// Remedied is an error that another value of an option avoids. A reader returns it, or an error that wraps it.
type Remedied interface {
	error
	Remedy() (option, value string)
}

// Corruptf returns an error that wraps ErrCorrupt.
func Corruptf(format string, args ...any) error {
	return &corruption{fmt.Errorf(format, args...)}
}

type corruption struct{ err error }

func (c *corruption) Error() string   { return c.err.Error() }
func (c *corruption) Unwrap() []error { return []error{c.err, ErrCorrupt} }
