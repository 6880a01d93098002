package table

import (
	"bytes"
	"context"
	"encoding/binary"
	"hash/crc32"
	"testing"

	"varve/manifest"
	"varve/readers/parquet"
)

// fixFooter sets the right checksum of a damaged footer, so that the code after that check is tested
// too.
func fixFooter(data []byte) {
	if len(data) < 16 {
		return
	}
	n := int(binary.LittleEndian.Uint32(data[len(data)-8:]))
	if at := len(data) - 8 - n; n < len(data) && at >= 8 {
		binary.LittleEndian.PutUint32(data[at-4:], crc32.ChecksumIEEE(data[at:at+n]))
	}
}

// rewrite replaces a text in a footer by one of equal length.
func rewrite(t testing.TB, data []byte, from, to string) []byte {
	t.Helper()
	if bytes.Count(data, []byte(from)) != 1 || len(from) != len(to) {
		t.Fatalf("%q does not occur exactly once, or does not have the length of %q", from, to)
	}
	out := bytes.Replace(data, []byte(from), []byte(to), 1)
	fixFooter(out)
	return out
}

// readHostile reads all rows of a table with an untrusted number of rows.
func readHostile(kind manifest.TableKind, data []byte) {
	f, err := parquet.Open(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return
	}
	table := manifest.Table{Kind: kind, Name: "t", Rows: f.Rows, Bytes: int64(len(data))}
	open := func(context.Context, manifest.Table) (File, error) { return inMemory(data), nil }
	r, err := Open([]manifest.Table{table}, open, NewCache(1<<20))
	if err != nil {
		return
	}
	_ = readEverything(r, kind, "t") // that it ends, without panic
	_ = r.Close()
}

// FuzzTable reads damaged tables of all kinds.
func FuzzTable(f *testing.F) {
	for kind, data := range everyKind(f) {
		f.Add(string(kind), data)
	}
	f.Fuzz(func(t *testing.T, kind string, data []byte) {
		data = bytes.Clone(data)
		fixFooter(data)
		readHostile(manifest.TableKind(kind), data)
	})
}

// FuzzPart reads damaged parts.
func FuzzPart(f *testing.F) {
	f.Add(writePart(f, []*manifest.File{{Header: manifest.NewFileHeader(testHeader(3)), Groups: manifest.NewFileGroups(testGroups(1)), Values: make([]*manifest.Values, 2)}},
		[]manifest.Ref{{Offset: 1, Size: 2}, {Offset: 3, Size: 4}}, [][]byte{[]byte("x")}))
	f.Fuzz(func(t *testing.T, data []byte) {
		data = bytes.Clone(data)
		fixFooter(data)
		if _, err := IsPart(inMemory(data), int64(len(data))); err != nil {
			return
		}
		p, err := OpenPart("p", inMemory(data), NewCache(1<<20))
		if err != nil {
			return
		}
		_, _ = p.Files(context.Background(), manifest.NewShared()) // that it ends, without panic
		for _, kind := range partKinds {
			_ = readEverything(p.Reader, kind, "p")
		}
	})
}
