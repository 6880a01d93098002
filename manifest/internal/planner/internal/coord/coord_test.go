package coord

import (
	"encoding/binary"
	"math"
	"testing"

	"varve/codec"
	"varve/manifest"
)

// TestWholeNumbers: keys of whole numbers sort as the numbers do, and can be stored, shown and
// compared with floats exactly.
func TestWholeNumbers(t *testing.T) {
	list := []uint64{0, 1, 1<<53 + 1, 1<<63 - 2, 1<<63 - 1, 1 << 63, 1<<63 + 1, 1<<63 + 1<<53, math.MaxUint64 - 1, math.MaxUint64}
	var data []byte
	for _, n := range list {
		data = binary.LittleEndian.AppendUint64(data, n)
	}
	x, err := ReadNumbers(&manifest.Variable{Type: codec.Type{Kind: codec.Uint, Size: 8}}, data)
	if err != nil {
		t.Fatal(err)
	}
	texts := []string{"0", "1", "9007199254740993", "9223372036854775806", "9223372036854775807", "9223372036854775808", "9223372036854775809",
		"9232379236109516800", "18446744073709551614", "18446744073709551615"}
	for i, n := range list {
		k := x.Whole(i)
		if got := k.sayWhole(); got != texts[i] || x.Say(i) != texts[i] {
			t.Errorf("%s, %s, not %s", got, x.Say(i), texts[i])
		}
		if KeyOf(k.Pair()) != k || k.Number() != float64(n) || x.Real(i) != float64(n) {
			t.Errorf("%d: stored as %v, as a float64 %g and %g", n, KeyOf(k.Pair()), k.Number(), x.Real(i))
		}
		if f, k := float64(n), k.asReal(); f < 1<<64 && (Key{Hi: sortable(f)}.Compare(k) > 0) != (uint64(f) > n) || f < 1<<64 && uint64(f) == n && k != (Key{Hi: sortable(f)}) {
			t.Errorf("%d has the key %v, which compares wrongly with the float64 %g", n, k, f)
		}
		if i > 0 {
			before := x.Whole(i - 1)
			if a, b := before.asReal(), k.asReal(); a.Compare(b) >= 0 {
				t.Errorf("%s does not come before %s among floats", texts[i-1], texts[i])
			}
			if before.Compare(k) >= 0 || k.Compare(before) <= 0 || k == before {
				t.Errorf("%s does not come before %s", texts[i-1], texts[i])
			}
			if d := Distance(before, k, Whole); math.Abs(d-float64(n-list[i-1])) > 1024 { // the precision of float64 at these values
				t.Errorf("the distance from %s to %s is %g", texts[i-1], texts[i], d)
			}
		}
	}
}
