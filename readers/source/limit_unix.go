//go:build unix

package source

import (
	"errors"
	"math"
	"syscall"
)

// defaultOpenLimit is the assumed limit if the system does not report one.
const defaultOpenLimit = 1024

// OpenLimit returns the number of files, including sockets, that this process may have open at a time.
func OpenLimit() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return defaultOpenLimit
	}
	return int(min(uint64(limit.Cur), math.MaxInt32))
}

// IsExhausted reports whether an error is caused by too many open files, in this process or in the system.
func IsExhausted(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}
