package icechunk

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"

	"varve/readers"
	"varve/readers/readertest"
	"varve/readers/source"
)

// file wraps a buffer as a file of the repository.
func file(t testing.TB, k kind, buffer []byte) []byte {
	t.Helper()
	e, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	head := append([]byte(magic), bytes.Repeat([]byte(" "), 24)...)
	return e.EncodeAll(buffer, append(head, 2, byte(k), 1))
}

func TestHeaders(t *testing.T) {
	good := file(t, snapshotFile, nil)
	for _, test := range []struct {
		name string
		at   int
		to   byte
		want error
	}{
		{"magic", 0, 'X', readers.ErrCorrupt},
		{"version", versionAt, 3, errors.ErrUnsupported},
		{"kind", kindAt, byte(manifestFile), readers.ErrCorrupt},
		{"compression", compressionAt, 0, errors.ErrUnsupported},
	} {
		data := bytes.Clone(good)
		data[test.at] = test.to
		if _, err := checkHeader(data, snapshotFile); !errors.Is(err, test.want) {
			t.Errorf("%s: got %v, want %v", test.name, err, test.want)
		}
	}
	if _, err := checkHeader(good[:headerSize-1], snapshotFile); !errors.Is(err, readers.ErrCorrupt) {
		t.Errorf("short: got %v", err)
	}
}

// TestBomb has a few bytes that decode to many.
func TestBomb(t *testing.T) {
	bomb := file(t, repoFile, make([]byte, 64<<20))
	src := source.New("repo", &readertest.MemoryFolder{Files: map[string][]byte{"repo": bomb}})
	if _, err := (Format{}).Open(context.Background(), src); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("%d bytes that decode to 64 MiB: got %v", len(bomb), err)
	}
}

// TestOffsets has offsets, vtables and vectors that lead out of the buffer.
func TestOffsets(t *testing.T) {
	u32 := func(list ...uint32) []byte {
		var b []byte
		for i, v := range list {
			if b = binary.LittleEndian.AppendUint32(b, v); i == 0 {
				b = append(b, identifier...)
			}
		}
		return b
	}
	for name, data := range map[string][]byte{
		"nothing":           nil,
		"no identifier":     []byte("\x08\x00\x00\x00XXXX"),
		"root":              u32(0xffffffff),
		"vtable before":     u32(8, 1000),
		"vtable behind":     u32(8, 0x80000000),
		"vtable too long":   u32(12, 0x0004ffff, 4),
		"vector too long":   u32(20, 0x0004000a, 0, 0x00000004, 16, 4, 0xffffff),
		"offset of a field": u32(16, 0x00040008, 0xffff0004, 8),
	} {
		f := &flat{data: data}
		r := &Repo{}
		r.read(f)
		for n := range uint64(5) {
			v := f.root().vector(n, 4)
			for i := range min(v.n, 10) {
				v.table(i).bytes(0)
			}
		}
		if f.err != nil && !errors.Is(f.err, readers.ErrCorrupt) {
			t.Errorf("%s: got %v", name, f.err)
		}
		if name != "vector too long" && name != "offset of a field" && f.err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// buffers returns what is in the files of the samples.
func buffers(t testing.TB) [][]byte {
	t.Helper()
	var out [][]byte
	for _, pattern := range []string{"*/repo", "*/snapshots/*", "*/manifests/*"} {
		names, err := filepath.Glob(filepath.Join(fixtureDir, pattern))
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(names), err)
		}
		for _, name := range names {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			d, err := newDecoder(nil, 1<<30)
			if err != nil {
				t.Fatal(err)
			}
			buffer, err := decompress(d, data[headerSize:], nil)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, buffer)
		}
	}
	return out
}

// FuzzBuffers reads buffers as whatever file they could be.
func FuzzBuffers(f *testing.F) {
	for _, b := range buffers(f) {
		if len(b) < 16<<10 {
			f.Add(b)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		(&Repo{}).read(&flat{data: data})
		c := &chunks{src: source.New("repo", &readertest.MemoryFolder{}), arrays: map[string]*array{}}
		c.nodes(&flat{data: data})
		m := &flat{data: data}
		arrays := m.root().vector(1, 4)
		for i := range min(arrays.n, 100) {
			list := arrays.table(i).vector(1, 4)
			r := refReader{c: c, f: m, index: make([]uint64, 1), counts: []int64{10}}
			for j := range list.n {
				if r.read(list.table(j)) != nil {
					break
				}
			}
			r.close()
		}
	})
}
