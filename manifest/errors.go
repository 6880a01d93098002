package manifest

import (
	"fmt"
	"io/fs"

	"varve/codec"
)

// ErrForeign is returned if the destination has files that varve did not write and so does not replace. It
// is an fs.ErrExist.
var ErrForeign = fmt.Errorf("%w", fs.ErrExist)

// ExistsError is returned if the destination exists, and the caller did not ask to replace it. It wraps
// fs.ErrExist.
type ExistsError struct {
	Name      string
	Why       string // the rest of the message after Name; empty for "exists"
	CanAppend bool   // the caller can append to the destination instead of replacing it
}

// Error names the destination.
func (e *ExistsError) Error() string {
	if e.Why != "" {
		return e.Name + " " + e.Why
	}
	return e.Name + " exists"
}

// Unwrap makes it an fs.ErrExist.
func (e *ExistsError) Unwrap() error { return fs.ErrExist }

// Damage is a kind of damage to a file of a repository.
type Damage string

// The kinds of damage. Their texts follow the name of a file in messages.
const (
	FileMissing   Damage = "is missing"
	FileTruncated Damage = "is truncated"
	FileCorrupt   Damage = "is corrupt"
)

// DamageError is returned for a file of a repository that differs from the file that was published. It
// is a codec.ErrCorrupt.
type DamageError struct {
	Name   string // path or URL of the file
	Damage Damage
	Detail string
}

// Error names the file and the damage.
func (e *DamageError) Error() string {
	s := e.Name + " " + string(e.Damage)
	if e.Detail != "" {
		s += ": " + e.Detail
	}
	return s
}

// Unwrap makes the error a codec.ErrCorrupt.
func (e *DamageError) Unwrap() error { return codec.ErrCorrupt }
