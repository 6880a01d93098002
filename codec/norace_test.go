//go:build !race

package codec

// raceEnabled reports whether the race detector is on. It allocates too.
const raceEnabled = false
