//go:build race

package blosc

// raceEnabled: the race detector makes pools forget, so allocations do not count.
const raceEnabled = true
