package keys_test

import (
	"bytes"
	"testing"

	"varve/codec/grib/keys"
)

// FuzzRead reads arbitrary bytes with the layout of any template of a product. Keys must be within the section: Set and Clear change
// nothing after it.
func FuzzRead(f *testing.F) {
	f.Add("4.8", make([]byte, 58), "forecastTime")
	f.Add("4.11", bytes.Repeat([]byte{0xff}, 80), "lengthOfTimeRange")
	f.Add("2.98", make([]byte, 30), "marsClass")
	f.Add("1.1", make([]byte, 40), "level")
	f.Fuzz(func(t *testing.T, layout string, section []byte, key string) {
		const guard = 8
		room := append(bytes.Clone(section), bytes.Repeat([]byte{0x5a}, guard)...)
		own := room[:len(section):len(section)]
		v := keys.Read(layout, own, 9)
		for nth := range 3 {
			n, ok := v.IntAt(key, nth)
			if ok && v.Set(key, nth, n) {
				if again, _ := v.IntAt(key, nth); again != n {
					t.Errorf("%s of %s is %d, set to %d", key, layout, again, n)
				}
			}
		}
		v.Missing(key)
		v.Float(key)
		v.Clear(own, key)
		if n, ok := v.Int(key); ok && n != 0 {
			t.Errorf("%s of %s is %d after Clear", key, layout, n)
		}
		if !bytes.Equal(room[len(section):], bytes.Repeat([]byte{0x5a}, guard)) {
			t.Fatal("bytes after the section are changed")
		}
	})
}
