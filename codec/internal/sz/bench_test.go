package sz

import (
	"bytes"
	"testing"

	"varve/codec/internal/vectors"
)

// BenchmarkDecode decodes one stream of each kind of body.
func BenchmarkDecode(b *testing.B) {
	for _, name := range []string{
		"f4 (180,) smooth 0 0.01", "f4 (2, 5, 6, 7) slope", "f8 (24, 25) slope", "f4 (7, 8, 9) smooth 0 0.01",
		"f8 (10, 8, 7) powers", "f8 logarithms", "i4 (7, 8, 9) steps",
	} {
		for _, v := range vectors.Parse[vector](b, recorded) {
			if v.Name == name {
				b.Run(name, func(b *testing.B) { benchmark(b, v) })
			}
		}
	}
}

func benchmark(b *testing.B, v vector) {
	c := mustParse(b, v.Values)
	dst := bytes.Clone(v.Want)
	b.SetBytes(int64(len(dst)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Decode(dst, v.Stored); err != nil {
			b.Fatal(err)
		}
	}
}
