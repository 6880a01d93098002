//go:build race

package scan_test

// raceEnabled says that the race detector is on. Then code allocates more, because the compiler copies strings that
// it otherwise shares.
const raceEnabled = true
