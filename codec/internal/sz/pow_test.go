package sz

import (
	"encoding/json"
	"math"
	"os"
	"strconv"
	"testing"
)

func TestPowAndExp2AsGlibc(t *testing.T) {
	text, err := os.ReadFile("testdata/pow.json")
	if err != nil {
		t.Fatal(err)
	}
	var samples [][3]string
	if err := json.Unmarshal(text, &samples); err != nil {
		t.Fatal(err)
	}
	for _, s := range samples {
		var v [3]float64
		for i := range v {
			bits, err := strconv.ParseUint(s[i], 16, 64)
			if err != nil {
				t.Fatal(err)
			}
			v[i] = math.Float64frombits(bits)
		}
		name, got := "pow", 0.0
		if v[1] != 0 {
			got = pow(v[0], v[1])
		} else if name, got = "exp2", exp2(v[0]); v[0] >= 1 && v[0] < 20 && pow(v[0], 0) != 1 {
			t.Errorf("pow(%g, 0) = %g", v[0], pow(v[0], 0))
		}
		if math.Float64bits(got) != math.Float64bits(v[2]) {
			t.Errorf("%s(%x, %x) = %x, want %x", name, v[0], v[1], got, v[2])
		}
	}
}

func TestPowAtTheEnds(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct{ got, want float64 }{
		{pow(1, 1e300), 1}, {pow(1.5, 0), 1}, {pow(1.5, 1e-30), 1}, {pow(2, 2000), inf}, {pow(2, -2000), 0},
		{pow(inf, 2), inf}, {pow(1.5, 1e30), inf}, {exp2(0), 1}, {exp2(1024), inf}, {exp2(-1080), 0},
		{exp2(inf), inf}, {exp2(-1074), 0x1p-1074}, {exp2(10), 1024},
	} {
		if c.got != c.want {
			t.Errorf("%g, want %g", c.got, c.want)
		}
	}
	if v := exp2(math.NaN()); !math.IsNaN(v) {
		t.Errorf("exp2(NaN) = %g", v)
	}
}
