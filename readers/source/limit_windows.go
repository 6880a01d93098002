package source

import (
	"errors"

	"golang.org/x/sys/windows"
)

// openLimit is what is made of a process that may have millions open: each takes memory of the
// system's own.
const openLimit = 1 << 16

// OpenLimit is how many files this process may have open at a time, sockets included.
func OpenLimit() int { return openLimit }

// IsExhausted reports whether an error is that too many files are open.
func IsExhausted(err error) bool {
	return errors.Is(err, windows.ERROR_TOO_MANY_OPEN_FILES)
}
