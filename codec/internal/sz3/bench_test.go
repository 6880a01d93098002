package sz3

import "testing"

func BenchmarkDecode(b *testing.B) {
	for _, name := range []string{
		"f4 (6, 7, 8) smooth", "f4 (13, 18) spikes", "f4 (6, 7, 8) noise",
		"lib f4 (7, 8, 9) by order 1", "lib f8 (7, 8, 9) by planes", "lib f8 (19, 14) by curves",
	} {
		b.Run(name, func(b *testing.B) {
			v := named(b, name)
			c := mustParse(b, v.Values)
			dst := make([]byte, len(v.Want))
			b.SetBytes(int64(len(v.Want)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.Decode(dst, v.Stored); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
