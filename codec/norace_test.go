//go:build !race

package codec

// raceEnabled reports that the race detector, which allocates, is on.
const raceEnabled = false
