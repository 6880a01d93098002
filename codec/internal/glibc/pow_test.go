package glibc

import (
	"encoding/json"
	"math"
	"os"
	"strconv"
	"testing"
)

func TestAsGlibc(t *testing.T) {
	text, err := os.ReadFile("testdata/pow.json")
	if err != nil {
		t.Fatal(err)
	}
	var samples [][4]string
	if err := json.Unmarshal(text, &samples); err != nil {
		t.Fatal(err)
	}
	for _, s := range samples {
		var v [3]float64
		for i := range v {
			bits, err := strconv.ParseUint(s[i+1], 16, 64)
			if err != nil {
				t.Fatal(err)
			}
			v[i] = math.Float64frombits(bits)
		}
		var got float64
		switch s[0] {
		case "pow":
			got = Pow(v[0], v[1])
		case "exp":
			got = Exp(v[0])
		case "exp2":
			got = Exp2(v[0])
		}
		if math.Float64bits(got) != math.Float64bits(v[2]) {
			t.Errorf("%s(%x, %x) = %x, want %x", s[0], v[0], v[1], got, v[2])
		}
	}
}

func TestPowAtTheEnds(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct{ got, want float64 }{
		{Pow(1, 1e300), 1}, {Pow(1.5, 0), 1}, {Pow(1.5, 1e-30), 1}, {Pow(2, 2000), inf}, {Pow(2, -2000), 0},
		{Pow(inf, 2), inf}, {Pow(1.5, 1e30), inf}, {Exp2(0), 1}, {Exp2(1024), inf}, {Exp2(-1080), 0},
		{Exp2(inf), inf}, {Exp2(-1074), 0x1p-1074}, {Exp2(10), 1024}, {Pow(3, 0), 1},
		{Exp(0), 1}, {Exp(710), inf}, {Exp(-800), 0},
	} {
		if c.got != c.want {
			t.Errorf("%g, want %g", c.got, c.want)
		}
	}
	if v := Exp(math.NaN()); !math.IsNaN(v) {
		t.Errorf("exp(NaN) = %g", v)
	}
	if v := Exp2(math.NaN()); !math.IsNaN(v) {
		t.Errorf("exp2(NaN) = %g", v)
	}
}
