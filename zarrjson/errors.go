package zarrjson

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"varve/codec"
)

// Error says what is wrong with a document.
type Error struct {
	Path string // the field, as in chunk_grid.configuration.chunk_shapes[1]; "" for the document
	Why  string // what was found and what is allowed
	kind error
}

// Error implements error.
func (e *Error) Error() string {
	if e.Path == "" {
		return e.Why
	}
	return e.Path + ": " + e.Why
}

// Unwrap returns codec.ErrCorrupt for a wrong document, errors.ErrUnsupported for a
// right one that asks for what varve cannot do.
func (e *Error) Unwrap() error { return e.kind }

func wrong(path, format string, args ...any) error {
	return &Error{Path: path, Why: fmt.Sprintf(format, args...), kind: codec.ErrCorrupt}
}

func unsupported(path, format string, args ...any) error {
	return &Error{Path: path, Why: fmt.Sprintf(format, args...), kind: errors.ErrUnsupported}
}

// at puts a path, or the beginning of one, in front of an error.
func at(path string, err error) error {
	if err == nil {
		return nil
	}
	var e *Error
	if !errors.As(err, &e) {
		e = &Error{Why: err.Error(), kind: codec.ErrCorrupt}
		if errors.Is(err, errors.ErrUnsupported) {
			e.kind = errors.ErrUnsupported
		}
	}
	return &Error{Path: join(path, e.Path), Why: e.Why, kind: e.kind}
}

// join appends a member or, if it is one already, an index to a path.
func join(path, name string) string {
	switch {
	case path == "":
		return name
	case name == "" || name[0] == '[':
		return path + name
	}
	return path + "." + name
}

func index(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }

// abbreviate shortens a value for a message.
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
