//go:build !unix

package table

import (
	"testing"
	"time"
)

var began = time.Now()

// userTime is the time that has passed.
func userTime(testing.TB) time.Duration { return time.Since(began) }
