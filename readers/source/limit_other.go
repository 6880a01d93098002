//go:build !unix

package source

// OpenLimit is how many files this process may have open at a time, sockets included.
func OpenLimit() int { return defaultOpenLimit }

// IsExhausted cannot be told here.
func IsExhausted(error) bool { return false }
