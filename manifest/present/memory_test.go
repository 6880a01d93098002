package present

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"varve/fixtures/classic"
	"varve/fixtures/soak"
	"varve/manifest/export/netcdf"
	"varve/manifest/ingest"
)

// memoryWatch is a writer that discards what is written and records the largest heap.
type memoryWatch struct {
	written int64
	seen    int64
	most    uint64
}

func (m *memoryWatch) Write(b []byte) (int, error) {
	m.written += int64(len(b))
	if m.written-m.seen > 16<<20 {
		m.seen = m.written
		m.look()
	}
	return len(b), nil
}

func (m *memoryWatch) look() {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	m.most = max(m.most, stats.HeapInuse)
}

// TestMemory: the memory for writing a region does not depend on the size of the region.
func TestMemory(t *testing.T) {
	if soak.Duration(t, 0) == 0 {
		t.Skip("reads 768 MiB: make soak runs it")
	}
	dir := t.TempDir()
	name := filepath.Join(dir, "large.nc")
	f := &netcdf.File{Dimensions: []netcdf.Dimension{{Name: "time", Length: 3}, {Name: "y", Length: 8192}, {Name: "x", Length: 8192}},
		Variables: []netcdf.Variable{{Name: "v", Dimensions: []int{0, 1, 2}, Type: netcdf.Float}}}
	writeFile(t, name, func(file *os.File) error { return writeHoles(f, file) })
	opts := &ingest.Options{Sources: ingest.Sources{Names: []string{name}}}
	st := opened(t, filepath.Join(dir, "a.varve"), opts)
	s := selected(t, st, "v", nil, nil)
	const size = 3 * 8192 * 8192 * 4
	for format, write := range map[string]func(*memoryWatch) error{
		"npy": func(w *memoryWatch) error { return WriteNPY(t.Context(), w, s, decoderOf(t, s, false)) },
		"nc":  func(w *memoryWatch) error { return WriteNetCDF(t.Context(), w, st, s) },
	} {
		runtime.GC()
		w := &memoryWatch{}
		if err := write(w); err != nil {
			t.Fatal(err)
		}
		if w.written < size || w.most > size/3 {
			t.Errorf("%s: %d MiB written, %d MiB in memory", format, w.written>>20, w.most>>20)
		}
	}
}

// TestMemoryOfStatistics: the memory for statistics does not depend on the size of the region.
func TestMemoryOfStatistics(t *testing.T) {
	if soak.Duration(t, 0) == 0 {
		t.Skip("reads 768 MiB: make soak runs it")
	}
	dir := t.TempDir()
	name := filepath.Join(dir, "large.nc")
	f := &netcdf.File{Dimensions: []netcdf.Dimension{{Name: "time", Length: 3}, {Name: "y", Length: 8192}, {Name: "x", Length: 8192}},
		Variables: []netcdf.Variable{{Name: "v", Dimensions: []int{0, 1, 2}, Type: netcdf.Float}}}
	writeFile(t, name, func(file *os.File) error { return writeHoles(f, file) })
	st := opened(t, filepath.Join(dir, "a.varve"), &ingest.Options{Sources: ingest.Sources{Names: []string{name}}})
	s := selected(t, st, "v", nil, nil)
	done, most := make(chan struct{}), make(chan uint64)
	runtime.GC()
	go func() {
		w := &memoryWatch{}
		for {
			select {
			case <-done:
				most <- w.most
				return
			case <-time.After(2 * time.Millisecond):
				w.look()
			}
		}
	}()
	got, err := Measure(t.Context(), s, decoderOf(t, s, false))
	close(done)
	if used := <-most; err != nil || got.Count != 3*8192*8192 || used > 128<<20 {
		t.Errorf("%d elements, %d MiB in memory (%v)", got.Count, used>>20, err)
	}
}

// writeHoles writes a sparse file: its values are zeros that take no space on the disk.
func writeHoles(f *netcdf.File, file *os.File) error {
	header, err := f.Header()
	if err == nil {
		_, err = file.Write(header)
	}
	if err == nil {
		err = file.Truncate(int64(len(header)) + 3*8192*8192*4)
	}
	return err
}

// TestMemoryOfTimes: a selection by time takes little more memory than the stored values of the coordinate.
func TestMemoryOfTimes(t *testing.T) {
	const n = 1 << 20
	times := make([]float64, n)
	for i := range times {
		times[i] = float64(i)
	}
	dir := t.TempDir()
	file := classic.File{Dims: []classic.Dim{{Name: "time", Length: n}}, Vars: []classic.Var{
		{Name: "time", Dims: []string{"time"}, Data: times, Attributes: []classic.Attribute{{Name: "units", Value: "seconds since 2000-01-01"}}}}}
	name := filepath.Join(dir, "times.nc")
	if err := file.Write(name); err != nil {
		t.Fatal(err)
	}
	st := opened(t, filepath.Join(dir, "a.varve"), &ingest.Options{Sources: ingest.Sources{Names: []string{name}}, ValueBytes: 1 << 10})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	s := selected(t, st, "time", nil, []string{"time=2000-01-02"})
	runtime.ReadMemStats(&after)
	if x := s.Axes[0]; x.From != 86400 || x.To != 2*86400 {
		t.Errorf("the second day selects times %d to %d", x.From, x.To)
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > 8*n*2 {
		t.Errorf("%d bytes per time, want at most 16, because a stored time has 8", took/n)
	}
}
