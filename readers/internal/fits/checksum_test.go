package fits

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"varve/readers"
)

// withSum returns an image of two blocks of data, with a card for its sum.
func withSum(card string) []byte {
	data := make([]byte, 2*blockSize)
	for i := range data {
		data[i] = byte(7 * i)
	}
	sum := uint64(0)
	for at := 0; at < len(data); at += 4 {
		sum += uint64(binary.BigEndian.Uint32(data[at:]))
	}
	for sum>>32 != 0 {
		sum = sum&(1<<32-1) + sum>>32
	}
	card = strings.ReplaceAll(card, "= SUM", fmt.Sprintf("= '%d'", sum))
	return slices.Concat(cards("SIMPLE  =                    T", "BITPIX  = 8", "NAXIS   = 1", "NAXIS1  = 5000", card), data)
}

func TestDataSum(t *testing.T) {
	for card, hasSum := range map[string]bool{
		"DATASUM = SUM":                  true,
		"DATASUM = ''":                   false,
		"CHECKSUM= '0000000000000000'":   false,
		"COMMENT DATASUM is left out":    false,
		"CHECKSUM= 'ABCDEFGHIJKLMNOP'":   true,
		"DATASUM = 'not a decimal sum.'": false,
	} {
		data := withSum(card)
		isWrong := strings.Contains(card, "ABC")
		for _, at := range []int{-1, blockSize, blockSize + 4999, 3*blockSize - 1} { // the last is padding
			if at >= 0 {
				data[at] ^= 1
			}
			err := open(t, data).Verify(t.Context())
			if want := isWrong || at >= 0 && hasSum; errors.Is(err, readers.ErrCorrupt) != want || (err == nil) == want {
				t.Errorf("%s, byte %d: %v", card, at, err)
			}
			if at >= 0 {
				data[at] ^= 1
			}
		}
	}
	data := withSum("DATASUM = SUM")
	if err := open(t, data[:2*blockSize]).Verify(t.Context()); !errors.Is(err, readers.ErrCorrupt) {
		t.Errorf("truncated: %v", err)
	}
}
