//go:build !amd64 || purego

package zstd

// fast executes usual sequences, see portableFast.
func (s *sequencer) fast() { s.portableFast() }

// decode decodes the given number of rounds, at least one.
func (s *streams) decode(rounds int) { s.portableDecode(rounds) }
