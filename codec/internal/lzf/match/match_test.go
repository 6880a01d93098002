package match

import (
	"bytes"
	"testing"
)

func TestCopy(t *testing.T) {
	const head = 100
	for back := 1; back <= head; back++ {
		for n := range 150 {
			for _, room := range []int{0, 1, 7, 8, 9, 20} {
				got := make([]byte, head+n+room)
				for i := range head {
					got[i] = byte(i*7 + 1)
				}
				want := bytes.Clone(got)
				for i := head; i < head+n; i++ {
					want[i] = want[i-back]
				}
				Copy(got, head, back, n)
				if !bytes.Equal(got[:head+n], want[:head+n]) {
					t.Fatalf("back %d, n %d, room %d: differs", back, n, room)
				}
				if tail := got[head+n:]; len(tail) > 8 && len(bytes.Trim(tail[8:], "\x00")) > 0 {
					t.Fatalf("back %d, n %d, room %d: wrote more than 8 bytes too many", back, n, room)
				}
			}
		}
	}
}

func BenchmarkCopy(b *testing.B) {
	dst := make([]byte, 1<<16)
	for _, tc := range []struct {
		name    string
		back, n int
	}{{"short", 100, 5}, {"run", 1, 20}, {"long", 1000, 300}} {
		b.Run(tc.name, func(b *testing.B) {
			b.SetBytes(int64(tc.n))
			b.ReportAllocs()
			for b.Loop() {
				Copy(dst, 2000, tc.back, tc.n)
			}
		})
	}
}
