//go:build !race

package codec

// raceEnabled says that the race detector, which allocates, is on.
const raceEnabled = false
