//go:build unix

package source

import (
	"errors"
	"math"
	"syscall"
)

// defaultOpenLimit is how many files may be open where the system does not say.
const defaultOpenLimit = 1024

// OpenLimit is how many files this process may have open at a time, sockets included.
func OpenLimit() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return defaultOpenLimit
	}
	return int(min(uint64(limit.Cur), math.MaxInt32))
}

// IsExhausted reports whether an error is that too many files are open, in this process or in all.
func IsExhausted(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}
