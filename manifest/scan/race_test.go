//go:build race

package scan_test

// raceEnabled reports that the race detector is on. Code with it allocates more, since the compiler then copies strings that it
// otherwise shares.
const raceEnabled = true
