package source

import (
	"errors"

	"golang.org/x/sys/windows"
)

// openLimit bounds open files. Windows allows millions, but each takes memory of the kernel.
const openLimit = 1 << 16

// OpenLimit returns the number of files, including sockets, that this process may have open at a time.
func OpenLimit() int { return openLimit }

// IsExhausted reports whether an error is caused by too many open files.
func IsExhausted(err error) bool {
	return errors.Is(err, windows.ERROR_TOO_MANY_OPEN_FILES)
}
