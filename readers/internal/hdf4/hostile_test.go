package hdf4_test

import (
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"varve/readers"
	"varve/readers/internal/hdf4"
	"varve/readers/readertest"
	"varve/readers/source"
)

// element is an element of a file that a test assembles.
type element struct {
	tag, ref uint16
	data     []byte
}

// assemble returns a file with one descriptor list.
func assemble(list ...element) []byte {
	out := binary.BigEndian.AppendUint16([]byte("\x0e\x03\x13\x01"), uint16(len(list)))
	out = append(out, 0, 0, 0, 0)
	at := len(out) + 12*len(list)
	for _, e := range list {
		out = binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(out, e.tag), e.ref)
		out = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(out, uint32(at)), uint32(len(e.data)))
		at += len(e.data)
	}
	for _, e := range list {
		out = append(out, e.data...)
	}
	return out
}

// words returns numbers of two bytes; a number of four bytes is two of them.
func words(list ...uint16) (out []byte) {
	for _, w := range list {
		out = binary.BigEndian.AppendUint16(out, w)
	}
	return out
}

func vgroup(name, class string, members ...uint16) []byte {
	out := words(uint16(len(members) / 2))
	for i := 0; i < len(members); i += 2 {
		out = append(out, words(members[i])...)
	}
	for i := 1; i < len(members); i += 2 {
		out = append(out, words(members[i])...)
	}
	for _, text := range []string{name, class} {
		out = append(append(out, words(uint16(len(text)))...), text...)
	}
	return append(out, 0, 0, 0, 0, 0, 3, 0, 0, 0)
}

const special = 0x4000

// model returns a file with a dataset of 2^14 × 2^15 bytes, whose values are an element of the
// given storage kind.
func model(values []byte, more ...element) []byte {
	length := func(n uint16) []byte { // a table of class DimVal0.0 of n rows
		out := words(0, 0, n, 4, 1, 24, 4, 0, 1, 6)
		return append(append(append(out, "Values"...), words(0, 9)...), "DimVal0.0"...)
	}
	return assemble(append([]element{
		{1965, 1, vgroup("file", "CDF0.0", 1965, 2, 1965, 3, 1965, 4)},
		{1965, 2, vgroup("y", "Dim0.0", 1962, 5)},
		{1965, 3, vgroup("x", "Dim0.0", 1962, 6)},
		{1965, 4, vgroup("v", "Var0.0", 1965, 2, 1965, 3, 106, 7, 702, 8)},
		{1962, 5, length(1 << 14)},
		{1962, 6, length(1 << 15)},
		{106, 7, []byte{1, 21, 8, 1}},
		{702 | special, 8, values},
	}, more...)...)
}

func TestHostile(t *testing.T) {
	loop := assemble(element{30, 1, nil})
	copy(loop[6:], words(0, 4))         // the next list is this one
	chunks := append(words(5, 0, 0), 0) // version
	chunks = append(chunks, words(0, 0, 0x2000, 0, 0, 1, 0, 1, 1962, 9, 0, 0, 0, 2, 0, 1, 0, 1<<14, 0, 1, 0, 1, 0, 1<<15, 0, 1, 0, 0)...)
	for name, c := range map[string]struct {
		data []byte
		want error
		at   int64 // offset in the first error, or -1
	}{
		"a list of descriptors that leads to itself": {loop, readers.ErrCorrupt, 4},
		"an element twice":                           {assemble(element{30, 1, nil}, element{30, 1, nil}), readers.ErrCorrupt, 22},
		"a list beyond the end":                      {[]byte("\x0e\x03\x13\x01\xff\xff\x00\x00\x00\x00"), readers.ErrCorrupt, 10},
		"a Vgroup that is its own member":            {assemble(element{1965, 1, vgroup("a", "CDF0.0", 1965, 1)}), nil, -1},
		"tables of blocks that form a cycle":         {model(words(1, 0x7fff, 0, 0, 1, 0, 1, 1), element{20, 1, words(1, 0)}), readers.ErrCorrupt, 343},
		"blocks that do not exist":                   {model(words(1, 0x2000, 0, 0x7fff, 0xffff, 0, 1, 1), element{20, 1, words(0, 0)}), errors.ErrUnsupported, -1},
		"a table of blocks without end":              {model(words(1, 0x2000, 0, 0, 1, 0x7fff, 0xffff, 1), element{20, 1, words(0, 0)}), readers.ErrCorrupt, 106},
		"too few bytes":                              {model(words(1, 0, 4, 0, 4, 0, 1, 1), element{20, 1, words(0, 2)}, element{20, 2, []byte("four")}), readers.ErrCorrupt, 94},
		"an unknown storage kind":                    {model(words(9)), errors.ErrUnsupported, 317},
		"chunks without a table":                     {model(chunks), readers.ErrCorrupt, -1},
		"an external file elsewhere":                 {model(append(words(2, 0x2000, 0, 0, 0, 0, 11), "/etc/passwd"...)), source.ErrForbidden, -1},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := time.Now()
			got := readAll(c.data)
			runtime.ReadMemStats(&after)
			if took, used := time.Since(start), after.TotalAlloc-before.TotalAlloc; took > time.Minute || used > 768<<20 {
				t.Errorf("it took %v and %d bytes", took, used)
			}
			if !errors.Is(got, c.want) || offsetOf(got) != c.at {
				t.Errorf("offset %d (want %d): %v, want %v", offsetOf(got), c.at, got, c.want)
			}
		})
	}
}

// readAll returns all errors of reading a source.
func readAll(data []byte) error {
	ctx := context.Background()
	dataset, err := hdf4.Format{}.Open(ctx, source.New(filepath.Join(os.TempDir(), "hostile.hdf"), &readertest.Memory{Data: data}))
	if err != nil {
		return err
	}
	var why []error
	for _, p := range dataset.Problems {
		why = append(why, p.Err)
	}
	for _, v := range dataset.Root.Variables {
		for _, err := range v.Storage.Refs(ctx) {
			why = append(why, err)
		}
		most := uint64(1 << 20)
		if v.Storage.Layout == readers.External { // which is rejected before the limit counts
			most = 1 << 30
		}
		_, err := v.ReadAll(ctx, most)
		why = append(why, err)
	}
	return errors.Join(why...)
}

// offsetOf returns the offset in an error that has a position, or -1.
func offsetOf(err error) int64 {
	if e := (*readers.Error)(nil); errors.As(err, &e) {
		return e.Offset
	}
	return -1
}
