package hdf5

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"varve/readers"
	"varve/readers/lookup3"
	"varve/readers/source"
)

// groupFile returns a file of groups. Group k has hard links with these names to the group with these numbers.
func groupFile(groups []map[string]int) []byte {
	const super = 48
	headers := make([][]byte, len(groups))
	addresses := make([]uint64, len(groups))
	at := uint64(super)
	// The size of a header does not depend on addresses, so the first pass finds the addresses of the second.
	for range 2 {
		at = super
		for k, g := range groups {
			addresses[k] = at
			headers[k] = groupHeader(g, addresses)
			at += uint64(len(headers[k]))
		}
	}
	out := append([]byte("\x89HDF\r\n\x1a\n"), 2, 8, 8, 0)
	for _, v := range []uint64{0, undefined, at, super} {
		out = binary.LittleEndian.AppendUint64(out, v)
	}
	out = binary.LittleEndian.AppendUint32(out, lookup3.Sum(out))
	for _, h := range headers {
		out = append(out, h...)
	}
	return out
}

// groupHeader returns an object header of version 2 with the messages of a group.
func groupHeader(links map[string]int, addresses []uint64) []byte {
	var messages []byte
	message := func(kind byte, data []byte) {
		messages = append(messages, kind, byte(len(data)), byte(len(data)>>8), 0)
		messages = append(messages, data...)
	}
	info := []byte{0, 0} // version and flags; then no fractal heap and no B-tree
	info = binary.LittleEndian.AppendUint64(info, undefined)
	message(msgLinkInfo, binary.LittleEndian.AppendUint64(info, undefined))
	for name, to := range links {
		data := append([]byte{1, 1}, byte(len(name)), byte(len(name)>>8)) // the length of the name has two bytes
		data = append(data, name...)
		message(msgLink, binary.LittleEndian.AppendUint64(data, addresses[to]))
	}
	out := append([]byte("OHDR"), 2, 2) // the size of the messages has four bytes
	out = binary.LittleEndian.AppendUint32(out, uint32(len(messages)))
	out = append(out, messages...)
	return binary.LittleEndian.AppendUint32(out, lookup3.Sum(out))
}

// TestManyPaths opens files whose groups have more paths than can be listed. Errors say so, with little memory.
func TestManyPaths(t *testing.T) {
	twice := make([]map[string]int, 40)
	for k := range len(twice) - 1 {
		twice[k] = map[string]int{"a": k + 1, "b": k + 1}
	}
	long := make([]map[string]int, 3000)
	for k := range len(long) - 1 {
		long[k] = map[string]int{fmt.Sprintf("%0300d", k): k + 1}
	}
	few := []map[string]int{{"a": 1, "b": 1}, {"c": 2, "d": 2}, {}}
	for _, test := range []struct {
		name   string
		groups []map[string]int
		paths  int // 0 if the file is refused
	}{
		{"groups of which each is linked twice", twice, 0},
		{"a long chain of groups with long names", long, 0},
		{"a few groups with several paths", few, 1 + 2 + 4},
	} {
		t.Run(test.name, func(t *testing.T) {
			data := groupFile(test.groups)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			set, err := Format{}.Open(context.Background(), source.New("groups.h5", memory(data)))
			runtime.ReadMemStats(&after)
			if limit := uint64(64<<20 + 100*len(data)); after.TotalAlloc-before.TotalAlloc > limit {
				t.Errorf("%d bytes were allocated for a file of %d", after.TotalAlloc-before.TotalAlloc, len(data))
			}
			switch {
			case test.paths == 0 && !errors.Is(err, readers.ErrCorrupt):
				t.Errorf("got %v", err)
			case test.paths > 0 && err != nil:
				t.Error(err)
			case test.paths > 0:
				if got := countGroups(set.Root); got != test.paths {
					t.Errorf("got %d groups, want %d", got, test.paths)
				}
			}
			if err != nil && !strings.Contains(err.Error(), "groups.h5") {
				t.Errorf("the error does not name the file: %v", err)
			}
		})
	}
}

func countGroups(g *readers.Group) int {
	n := 1
	for _, child := range g.Groups {
		n += countGroups(child)
	}
	return n
}
