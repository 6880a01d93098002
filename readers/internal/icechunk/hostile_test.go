package icechunk

import (
	"os"
	"path/filepath"
	"testing"

	"varve/readers/icechunk/file"
	"varve/readers/readertest"
	"varve/readers/source"
)

// buffers returns the buffers in the files of the samples.
func buffers(t testing.TB) [][]byte {
	t.Helper()
	var out [][]byte
	for pattern, want := range map[string]file.Kind{"*/repo": file.Repo, "*/snapshots/*": file.Snapshot, "*/manifests/*": file.Manifest} {
		names, err := filepath.Glob(filepath.Join(fixtureDir, pattern))
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(names), err)
		}
		for _, name := range names {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			f, err := file.Unpack(data, want)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, f.Bytes())
		}
	}
	return out
}

// FuzzBuffers reads buffers as every kind of file.
func FuzzBuffers(f *testing.F) {
	for _, b := range buffers(f) {
		if len(b) < 16<<10 {
			f.Add(b)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		(&repo{}).read(file.NewBuffer(data))
		c := &chunks{src: source.New("repo", &readertest.MemoryFolder{}), arrays: map[string]*array{}}
		c.nodes(file.NewBuffer(data))
		m := file.NewBuffer(data)
		arrays := m.Root().Vector(1, 4)
		for i := range min(arrays.N, 100) {
			list := arrays.Table(i).Vector(1, 4)
			r := refReader{c: c, f: m, index: make([]uint64, 1), counts: []int64{10}}
			for j := range list.N {
				if r.read(list.Table(j)) != nil {
					break
				}
			}
			r.close()
		}
	})
}
