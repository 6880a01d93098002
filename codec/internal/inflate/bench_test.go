package inflate

import (
	"bytes"
	stdzlib "compress/zlib"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/klauspost/compress/zlib"
)

// benchmarks returns a 1 MiB chunk as in most archives, the same chunk without shuffle, and a small chunk.
func benchmarks(b *testing.B) map[string][2][]byte {
	field := shuffledField(rand.New(rand.NewPCG(1, 1)), 1<<18)
	plain := make([]byte, len(field))
	for i := range plain {
		plain[i] = field[i%4<<18|i/4]
	}
	cases := map[string][2][]byte{}
	for name, data := range map[string][]byte{"shuffled": field, "plain": plain, "small": plain[:8192]} {
		cases[name] = [2][]byte{data, compressed(b, func(w io.Writer) io.WriteCloser {
			z, err := stdzlib.NewWriterLevel(w, 4)
			if err != nil {
				b.Fatal(err)
			}
			return z
		}, data)}
	}
	return cases
}

func BenchmarkZlib(b *testing.B) {
	for name, c := range benchmarks(b) {
		data, src := c[0], c[1]
		dst := make([]byte, len(data))
		run := func(who string, decode func() error) {
			b.Run(name+"/"+who, func(b *testing.B) {
				b.SetBytes(int64(len(data)))
				b.ReportAllocs()
				if err := decode(); err != nil { // fills the pools
					b.Fatal(err)
				}
				for b.Loop() {
					if err := decode(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		run("ours", func() error { _, err := Zlib(dst, src); return err })
		run("klauspost", readerDecode(b, zlib.NewReader, dst, src))
		run("standard library", readerDecode(b, stdzlib.NewReader, dst, src))
	}
}

// readerDecode decodes with one reader that is reset for every chunk, as a pool would do.
func readerDecode(b *testing.B, open func(io.Reader) (io.ReadCloser, error), dst, src []byte) func() error {
	in := bytes.NewReader(src)
	r, err := open(in)
	if err != nil {
		b.Fatal(err)
	}
	return func() error {
		in.Reset(src)
		if err := r.(stdzlib.Resetter).Reset(in, nil); err != nil {
			return err
		}
		_, err := io.ReadFull(r, dst)
		return err
	}
}
