package shuffle

import (
	"bytes"
	_ "embed"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
)

//go:embed testdata/bitshuffle.txt
var bitshuffleLines string

// TestAgainstHDF5Filter compares the blocks with the blocks that HDF5's filter 32008 wrote.
func TestAgainstHDF5Filter(t *testing.T) {
	for line := range strings.Lines(bitshuffleLines) {
		var size, block, n int
		var text string
		if _, err := fmt.Sscan(line, &size, &block, &n, &text); err != nil {
			t.Fatal(err)
		}
		want, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		raw := make([]byte, n)
		for i := range raw {
			raw[i] = byte(i*i*7 + i/256)
		}
		t.Run(fmt.Sprintf("size=%d/block=%d/len=%d", size, block, n), func(t *testing.T) {
			if block == 0 {
				block = BitBlockSize(size)
			}
			if got := bitShuffleBlocks(raw, size, block); !bytes.Equal(got, want) {
				t.Error("shuffled bytes differ from the filter's")
			}
			got := make([]byte, n)
			BitUnshuffleBlocks(got, want, size, block)
			if !bytes.Equal(got, raw) {
				t.Error("unshuffling the filter's output gives other bytes")
			}
		})
	}
}
