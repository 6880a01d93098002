package parquet

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"math/rand/v2"
	"testing"
)

// FuzzFile reads damaged files whose footers have the right checksum.
func FuzzFile(f *testing.F) {
	rng := rand.New(rand.NewPCG(2, 2))
	for range 8 {
		f.Add(randomTable(rng).encode(f))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		data = bytes.Clone(data)
		if len(data) > 16 {
			n := int(binary.LittleEndian.Uint32(data[len(data)-8:]))
			if at := len(data) - 8 - n; n < len(data) && at >= 8 {
				binary.LittleEndian.PutUint32(data[at-4:], crc32.ChecksumIEEE(data[at:at+n]))
			}
		}
		_, _ = readAll(data) // that it ends, without panic
	})
}

// FuzzForeign reads damaged files as if another program had written them.
func FuzzForeign(f *testing.F) {
	rng := rand.New(rand.NewPCG(2, 3))
	for range 8 {
		f.Add(randomTable(rng).encode(f))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := OpenForeign(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return
		}
		for g := range file.Groups {
			for c := range file.Columns {
				s, err := file.Scan(g, c)
				for rows := min(file.Groups[g].Rows, 1<<16); err == nil && rows > 0; rows -= 1000 {
					err = s.Read(&Values{}, int(min(rows, 1000)))
				}
			}
		}
	})
}

func FuzzDelta(f *testing.F) {
	f.Add(5, appendDelta(nil, []int64{1, -2, 3, 1 << 62, -1 << 63}))
	f.Add(200, appendDelta(nil, make([]int64, 200)))
	f.Fuzz(func(t *testing.T, n int, data []byte) {
		dst := make([]int64, n&0xffff)
		if readDelta(dst, data) != nil {
			return
		}
		again := make([]int64, len(dst))
		if err := readDelta(again, appendDelta(nil, dst)); err != nil {
			t.Fatal(err)
		}
		for i := range dst {
			if again[i] != dst[i] {
				t.Fatalf("value %d: %d, then %d", i, dst[i], again[i])
			}
		}
	})
}

func FuzzHybrid(f *testing.F) {
	f.Add(40, 3, appendHybrid(nil, []uint32{1, 2, 3, 4, 5, 6, 7, 7, 7, 7}, 3))
	f.Add(20, 1, appendHybrid(nil, make([]uint32, 20), 1))
	f.Fuzz(func(t *testing.T, n, width int, data []byte) {
		dst := make([]uint32, n&0xffff)
		width &= 31
		if readHybrid(dst, data, width, 1<<31-1) != nil {
			return
		}
		again := make([]uint32, len(dst))
		if err := readHybrid(again, appendHybrid(nil, dst, width), width, 1<<31-1); err != nil {
			t.Fatal(err)
		}
		for i := range dst {
			if again[i] != dst[i] {
				t.Fatalf("value %d: %d, then %d", i, dst[i], again[i])
			}
		}
	})
}
