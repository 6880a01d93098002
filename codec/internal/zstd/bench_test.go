package zstd

import (
	"math/rand/v2"
	"testing"

	"github.com/klauspost/compress/zstd"
)

func BenchmarkDecode(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	for name, data := range map[string][]byte{"shuffled": shuffledField(rng, 1<<18), "text": samples(rng)["text"], "small": shuffledField(rng, 2048)} {
		src := compressed(b, data, zstd.WithEncoderCRC(false), zstd.WithSingleSegment(true))
		dst := make([]byte, len(data))
		ref, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true))
		if err != nil {
			b.Fatal(err)
		}
		run := func(who string, decode func() error) {
			b.Run(name+"/"+who, func(b *testing.B) {
				b.SetBytes(int64(len(data)))
				b.ReportAllocs()
				for b.Loop() {
					if err := decode(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		run("varve", func() error { _, err := Decode(dst, src); return err })
		run("klauspost", func() error { _, err := ref.DecodeAll(src, dst[:0:len(dst)]); return err })
	}
}
