package ingest

import (
	"fmt"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"testing"
	"time"

	"varve/fixtures/classic"
	"varve/fixtures/soak"
)

// side is the length in elements of the repeated arrays' sides.
const side = 512

// repeated writes files that hold the same two MiB with alternating types, so that they have to be
// compared as numbers.
func repeated(t *testing.T, dir string, days int) (files []string) {
	t.Helper()
	double, single := make([]float64, side*side), make([]float32, side*side)
	for i := range double {
		double[i], single[i] = float64(i), float32(i)
	}
	for day := range days {
		latitude := classic.Var{Name: "latitude", Dims: []string{"y", "x"}, Data: double}
		if day%2 == 1 {
			latitude.Data = single
		}
		f := classic.File{
			Dims: []classic.Dim{{Name: "time", Length: 1}, {Name: "y", Length: side}, {Name: "x", Length: side}},
			Vars: []classic.Var{
				{Name: "time", Dims: []string{"time"}, Data: []float64{float64(day)}, Attributes: []classic.Attribute{{Name: "units", Value: "days since 2000-01-01"}}},
				latitude,
				{Name: "v", Dims: []string{"time"}, Data: []int16{int16(day)}},
			},
		}
		name := filepath.Join(dir, fmt.Sprintf("%02d.nc", day))
		if err := f.Write(name); err != nil {
			t.Fatal(err)
		}
		files = append(files, name)
	}
	return files
}

// mostMemory returns the greatest increase of memory in use during do, and the total allocated.
// It collects garbage early. Otherwise a busy machine has much garbage, which counts as in use.
func mostMemory(do func()) (most, all uint64) {
	defer debug.SetGCPercent(debug.SetGCPercent(10))
	runtime.GC()
	var before, now runtime.MemStats
	runtime.ReadMemStats(&before)
	done, seen := make(chan struct{}), make(chan uint64)
	go func() {
		var most uint64
		for {
			select {
			case <-done:
				seen <- most
				return
			case <-time.After(2 * time.Millisecond):
				var now runtime.MemStats
				runtime.ReadMemStats(&now)
				most = max(most, now.HeapInuse)
			}
		}
	}()
	do()
	close(done)
	most = <-seen
	runtime.ReadMemStats(&now)
	return most - min(most, before.HeapInuse), now.TotalAlloc - before.TotalAlloc
}

// TestRepeatsInMemory: repeated values are in memory once, and in the manifest once. An append into
// a gap reads them once. The memory in use is compared by make soak only, because it includes garbage.
func TestRepeatsInMemory(t *testing.T) {
	configured(t)
	dir := t.TempDir()
	const days, size = 60, 8 * side * side
	files := repeated(t, dir, days)
	out := filepath.Join(dir, "a.varve")
	gap := files[days/2]
	rest := slices.Delete(slices.Clone(files), days/2, days/2+1)
	most, _ := mostMemory(func() { mustBuild(t, out, rest...) })
	isSoak := soak.Duration(t, 0) > 0
	if isSoak && most > days/4*size {
		t.Errorf("a build took %d MiB for %d MiB that %d files repeat", most>>20, size>>20, days-1)
	}
	if n := bytesIn(t, out); n > size {
		t.Errorf("the manifest has %d bytes", n)
	}
	most, all := mostMemory(func() {
		if _, err := Append(t.Context(), out, optionsFor(gap)); err != nil {
			t.Fatal(err)
		}
	})
	if isSoak && most > days/4*size || all > days*size {
		t.Errorf("an append took %d MiB, and %d MiB in all, for %d MiB that %d files repeat", most>>20, all>>20, size>>20, days)
	}
}
