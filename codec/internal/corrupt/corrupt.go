// Package corrupt holds the one marker for bytes that are not what their format says.
//
// It stands below every decoder so that a decoder in a package of its own and the
// codec that wraps it report the same thing. Callers see it as codec.ErrCorrupt.
package corrupt

import (
	"errors"
	"fmt"
)

// Err marks an error as caused by the bytes read, as against by reading them or by
// asking for what is not supported.
var Err = errors.New("corrupt")

// Errorf returns an error that is Err and says what is wrong: which field, at which
// offset, what was found and what is allowed.
func Errorf(format string, args ...any) error {
	return &failure{fmt.Errorf(format, args...)}
}

type failure struct{ err error }

func (f *failure) Error() string   { return f.err.Error() }
func (f *failure) Unwrap() []error { return []error{f.err, Err} }
