//go:build unix

package table

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// userTime is the processor time that the process has used: what a busy machine does not change.
func userTime(t testing.TB) time.Duration {
	t.Helper()
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano())
}
