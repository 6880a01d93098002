package zarrjson

import (
	"math"
	"slices"
	"testing"
)

var (
	slash    = KeyEncoding{}
	dot      = KeyEncoding{Separator: '.'}
	v2Dot    = KeyEncoding{Style: V2Keys}
	v2Slash  = KeyEncoding{Style: V2Keys, Separator: '/'}
	allStyle = []KeyEncoding{slash, dot, v2Dot, v2Slash}
)

func TestKeys(t *testing.T) {
	cases := []struct {
		encoding KeyEncoding
		coords   []int64
		key      string
	}{
		{slash, []int64{}, "c"},
		{slash, []int64{0}, "c/0"},
		{slash, []int64{1, 23, 456}, "c/1/23/456"},
		{dot, []int64{}, "c"},
		{dot, []int64{1, 23, 456}, "c.1.23.456"},
		{v2Dot, []int64{}, "0"},
		{v2Dot, []int64{0}, "0"},
		{v2Dot, []int64{1, 23, 456}, "1.23.456"},
		{v2Slash, []int64{}, "0"},
		{v2Slash, []int64{1, 23, 456}, "1/23/456"},
		{slash, []int64{math.MaxInt64}, "c/9223372036854775807"},
	}
	for _, c := range cases {
		t.Run(c.key, func(t *testing.T) {
			if got := string(c.encoding.Append([]byte("x/"), c.coords)); got != "x/"+c.key {
				t.Errorf("appended as %q", got)
			}
			coords := make([]int64, len(c.coords))
			if !c.encoding.Parse(c.key, coords) || !slices.Equal(coords, c.coords) {
				t.Errorf("parsed as %v", coords)
			}
		})
	}
}

func TestKeysRefused(t *testing.T) {
	cases := []struct {
		encoding KeyEncoding
		rank     int
		keys     []string
	}{
		{slash, 0, []string{"", "c/", "c/0", "0", "C", "cc", "zarr.json"}},
		{slash, 1, []string{"", "c", "c/", "c0", "c/00", "c/01", "c/-1", "c/+1", "c/ 1", "c/1 ", "c/1/", "c/1/2", "c.1", "1", "c//1", "c/1e1", "c/0x1", "c/9223372036854775808", "c/٣"}},
		{dot, 2, []string{"c.1", "c/1/2", "c.1/2", "c.1.2.3", "c..1.2", "c.1.2."}},
		{v2Dot, 0, []string{"", "c", "00", "1", "0.0"}},
		{v2Dot, 1, []string{"", ".", "00", "01", "-0", "1.", ".1", "1.2", "c/1", ".zarray"}},
		{v2Slash, 2, []string{"1", "1.2", "1/", "1//2", "1/2/3", "1/02"}},
	}
	for _, c := range cases {
		for _, key := range c.keys {
			if coords := make([]int64, c.rank); c.encoding.Parse(key, coords) {
				t.Errorf("%v, %d dimensions: %q is accepted as %v", c.encoding, c.rank, key, coords)
			}
		}
	}
}

func TestKeysTakeNoMemory(t *testing.T) {
	coords, room := []int64{12, 345, 6}, make([]byte, 0, 64)
	for _, k := range allStyle {
		n := testing.AllocsPerRun(100, func() {
			key := k.Append(room, coords)
			if len(key) == 0 {
				t.Error("no key")
			}
		})
		key := string(k.Append(nil, coords))
		n += testing.AllocsPerRun(100, func() {
			if !k.Parse(key, coords) {
				t.Error("refused")
			}
		})
		if n != 0 {
			t.Errorf("%v: %v allocations", k, n)
		}
	}
}

// FuzzKeys checks that Parse accepts a key only if Append writes it.
func FuzzKeys(f *testing.F) {
	for _, key := range []string{"c", "c/0", "c/1/2", "c.1.2", "0", "1.2", "1/2", "c/00", "c/9223372036854775808"} {
		f.Add(key)
	}
	f.Fuzz(func(t *testing.T, key string) {
		for _, k := range allStyle {
			for rank := range 4 {
				coords := make([]int64, rank)
				if k.Parse(key, coords) && string(k.Append(nil, coords)) != key {
					t.Errorf("%v: %q is accepted as %v", k, key, coords)
				}
			}
		}
	})
}

func BenchmarkAppendKey(b *testing.B) {
	room, coords := make([]byte, 0, 64), []int64{365, 12, 7}
	b.ReportAllocs()
	for b.Loop() {
		slash.Append(room, coords)
	}
}
