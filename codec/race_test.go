//go:build race

package codec

// raceEnabled reports that the race detector is on. It allocates too.
const raceEnabled = true
