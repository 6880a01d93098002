//go:build unix

package main

import (
	"os"
	"runtime"
	"syscall"
)

// mostResident is the most memory that a process had.
func mostResident(p *os.ProcessState) int64 {
	usage, ok := p.SysUsage().(*syscall.Rusage)
	switch {
	case !ok:
		return 0
	case runtime.GOOS == "darwin":
		return usage.Maxrss
	}
	return usage.Maxrss << 10
}
