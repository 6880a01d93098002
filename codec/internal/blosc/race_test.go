//go:build race

package blosc

// raceEnabled is true because the race detector makes pools drop objects, so allocations must not be counted.
const raceEnabled = true
