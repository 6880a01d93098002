package grid_test

import (
	"encoding/binary"
	"slices"
	"testing"

	"varve/grid"
)

// runsOf decodes runs from bytes: data size, padding and count, each a varint, so that
// both small and huge numbers occur.
func runsOf(data []byte) []grid.Run {
	var runs []grid.Run
	number := func() int64 {
		n, used := binary.Varint(data)
		data = data[max(used, min(1, len(data))):]
		return n
	}
	for len(data) > 0 && len(runs) < 64 {
		size := number()
		runs = append(runs, grid.Run{Edge: grid.Edge{Data: size, Codec: size + number()}, Count: number()})
	}
	return runs
}

func bytesOf(numbers ...int64) []byte {
	var data []byte
	for _, n := range numbers {
		data = binary.AppendVarint(data, n)
	}
	return data
}

func seedRuns(f *testing.F) {
	f.Add(bytesOf(10, 0, 3), int64(30))
	f.Add(bytesOf(10, 0, 2, 20, 0, 1), int64(35))
	f.Add(bytesOf(200, 0, 2, 150, 50, 1, 200, 0, 2, 150, 50, 1), int64(1100))
	f.Add(bytesOf(1, 0, 9e18), int64(9e18))
	f.Add(bytesOf(2, 0, 9e18), int64(5))
	f.Add(bytesOf(9e18, 9e18, 1), int64(1))
	f.Add(bytesOf(1, 0, 4e9, 3, 1, 1), int64(4e9+2))
	f.Add(bytesOf(9e18, 0, 1, 1, 9e18, 1), int64(9e18+1))
	f.Add(bytesOf(0, 0, 3), int64(0))
	f.Add(bytesOf(5, 0, -1), int64(0))
	f.Add(bytesOf(10, -1, 1), int64(10))
	f.Add([]byte{}, int64(0))
}

// FuzzRunLengths makes dimensions from arbitrary runs. The result is an error, or a
// dimension whose methods agree with each other.
func FuzzRunLengths(f *testing.F) {
	seedRuns(f)
	f.Fuzz(func(t *testing.T, data []byte, extent int64) {
		runs := runsOf(data)
		edges, length, err := grid.Sum(runs)
		d, bindErr := grid.NewVarying(runs, extent)
		if (bindErr == nil) != (err == nil && extent >= 0 && extent <= length) {
			t.Fatalf("runs %v (%v) with extent %d: %v", runs, err, extent, bindErr)
		}
		if tiled, err := grid.NewTiled(runs, extent); err == nil {
			checkEnds(t, tiled)
			checkEnds(t, grid.Canonical(tiled))
		}
		if bindErr != nil {
			return
		}
		if d.Cells() != edges || d.DeclaredLength() != length {
			t.Fatalf("%d cells that reach %d, want %d, %d", d.Cells(), d.DeclaredLength(), edges, length)
		}
		checkEnds(t, d)
		if edges <= 1000 && length <= 10000 {
			list, _ := expand(runs)
			checkDimension(t, d, axisModel{list, extent})
		}
		grown, err := d.Resize(extent/2+length/2+1, grid.Repeat())
		if err != nil || grown.Extent() != extent/2+length/2+1 {
			t.Fatalf("resized to %v: %v", grown, err)
		}
		checkEnds(t, grown)
		checkEnds(t, grid.Canonical(d))
	})
}

// checkEnds looks up the first and last chunk of a dimension and of each run.
func checkEnds(t *testing.T, d grid.Dimension) {
	t.Helper()
	ends := []int64{0, d.Chunks() / 2, d.Chunks() - 1}
	n := 0
	for s := d.Span(0); s.Count > 0 && n < 100; n++ {
		ends = append(ends, s.First, s.First+s.Count-1)
		s = d.Span(s.First + s.Count)
	}
	for _, chunk := range ends {
		if chunk < 0 || chunk >= d.Chunks() {
			continue
		}
		offset, size := offsetOf(d, chunk), dataSize(d, chunk)
		if size < 1 || size > codecSize(d, chunk) || offset < 0 || size > d.Extent()-offset {
			t.Fatalf("chunk %d of %d begins at %d and is %d long, of an extent of %d", chunk, d.Chunks(), offset, size, d.Extent())
		}
		for _, index := range []int64{offset, offset + size - 1} {
			if got, err := d.Find(index); err != nil || got != chunk {
				t.Fatalf("index %d is in chunk %d (%v), want %d", index, got, err, chunk)
			}
		}
	}
	if last := d.Chunks() - 1; last >= 0 && offsetOf(d, last)+dataSize(d, last) != d.Extent() {
		t.Fatalf("the last chunk ends at %d, the extent is %d", offsetOf(d, last)+dataSize(d, last), d.Extent())
	}
}

// FuzzZip joins data sizes and codec sizes that are declared separately.
func FuzzZip(f *testing.F) {
	f.Add(bytesOf(200, 0, 2, 150, 0, 1), bytesOf(200, 0, 3))
	f.Add(bytesOf(1, 0, 9e18), bytesOf(1, 0, 4e18, 2, 0, 5e18))
	f.Add(bytesOf(3, 0, 2), bytesOf(3, 0, 1))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		plain := func(data []byte) []grid.Run {
			runs := runsOf(data)
			for i := range runs {
				runs[i].Codec = runs[i].Data
			}
			return runs
		}
		data, codec := plain(a), plain(b)
		zipped, err := grid.Zip(data, codec)
		if err != nil {
			return
		}
		same := func(a, b []grid.Run) bool {
			return slices.Equal(slices.Collect(grid.Merge(slices.Values(a))), slices.Collect(grid.Merge(slices.Values(b))))
		}
		if !same(slices.Collect(grid.DataRuns(slices.Values(zipped))), data) ||
			!same(slices.Collect(grid.CodecRuns(slices.Values(zipped))), codec) {
			t.Fatalf("%v and %v zip to %v", data, codec, zipped)
		}
	})
}
