package zarrjson

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"varve/codec"
)

// Error is a fault in a document.
type Error struct {
	Path string // the field, as in chunk_grid.configuration.chunk_shapes[1]; "" for the document
	Why  string // the value that was found and the allowed values
	kind error
}

// Error implements error.
func (e *Error) Error() string {
	if e.Path == "" {
		return e.Why
	}
	return e.Path + ": " + e.Why
}

// Unwrap returns codec.ErrCorrupt for an invalid document, and errors.ErrUnsupported for
// a valid one that needs a feature which varve does not have.
func (e *Error) Unwrap() error { return e.kind }

func corruptError(path, format string, args ...any) error {
	return &Error{Path: path, Why: fmt.Sprintf(format, args...), kind: codec.ErrCorrupt}
}

func unsupportedError(path, format string, args ...any) error {
	return &Error{Path: path, Why: fmt.Sprintf(format, args...), kind: errors.ErrUnsupported}
}

// atPath returns err with path, or the beginning of a path, put before the error's own
// path.
func atPath(path string, err error) error {
	if err == nil {
		return nil
	}
	var e *Error
	// Errors of grid and codec have no path, and only ErrUnsupported of their kinds
	// matters here.
	if !errors.As(err, &e) {
		e = &Error{Why: err.Error(), kind: codec.ErrCorrupt}
		if errors.Is(err, errors.ErrUnsupported) {
			e.kind = errors.ErrUnsupported
		}
	}
	return &Error{Path: joinPath(path, e.Path), Why: e.Why, kind: e.kind}
}

// joinPath appends a member name, or an index such as [1], to a path.
func joinPath(path, name string) string {
	switch {
	case path == "":
		return name
	case name == "" || name[0] == '[':
		return path + name
	}
	return path + "." + name
}

func indexPath(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }

// abbreviate shortens a value for a message, without cutting a character.
func abbreviate[T string | []byte](text T) string {
	const limit = 60
	if len(text) <= limit {
		return string(text)
	}
	cut := limit - len("…")
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return string(text[:cut]) + "…"
}
