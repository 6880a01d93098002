// Package corrupt defines the error for bytes that violate their format.
//
// All decoders import it, so that a decoder and the codec that wraps it return the same
// sentinel. Users of package codec see it as codec.ErrCorrupt.
package corrupt

import (
	"errors"
	"fmt"
)

// Err marks an error as caused by the bytes themselves, not by a failed read and not by a
// valid feature that is unsupported (errors.ErrUnsupported).
var Err = errors.New("corrupt")

// Errorf returns a formatted error for which errors.Is(err, Err) is true. The text should
// name the field, its offset, the value found and the values allowed. %w works as in
// fmt.Errorf.
func Errorf(format string, args ...any) error {
	return &failure{fmt.Errorf(format, args...)}
}

// failure adds Err to an error without changing its text.
type failure struct{ err error }

func (f *failure) Error() string   { return f.err.Error() }
func (f *failure) Unwrap() []error { return []error{f.err, Err} }
