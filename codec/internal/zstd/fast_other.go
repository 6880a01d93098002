//go:build !amd64 || purego

package zstd

func (s *sequencer) fast() { s.portableFast() }

func (s *streams) decode(rounds int) { s.portableDecode(rounds) }
