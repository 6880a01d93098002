package present

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"varve/codec"
	"varve/manifest/internal/cf"
)

func TestSlice(t *testing.T) {
	for _, c := range []struct {
		text           string
		from, to, step int64
		single, bad    bool
	}{
		{text: "3", from: 3, to: 4, step: 1, single: true},
		{text: "-1", from: 9, to: 10, step: 1, single: true},
		{text: "0:10", from: 0, to: 10, step: 1},
		{text: ":", from: 0, to: 10, step: 1},
		{text: "2:", from: 2, to: 10, step: 1},
		{text: ":-3", from: 0, to: 7, step: 1},
		{text: "-3:", from: 7, to: 10, step: 1},
		{text: "1:99", from: 1, to: 10, step: 1},
		{text: "8:2", from: 8, to: 2, step: 1},
		{text: "::3", from: 0, to: 10, step: 3},
		{text: "10", bad: true},
		{text: "-11", bad: true},
		{text: "x", bad: true},
		{text: "1:2:3:4", bad: true},
		{text: "::0", bad: true},
		{text: "::-1", bad: true},
	} {
		x := Axis{To: 10, Step: 1}
		err := x.slice(c.text)
		if (err != nil) != c.bad {
			t.Errorf("%s: error %v", c.text, err)
			continue
		}
		if want := (Axis{From: c.from, To: c.to, Step: c.step, Single: c.single}); err == nil && x != want {
			t.Errorf("%s: %+v, not %+v", c.text, x, want)
		}
	}
}

func TestCutTimes(t *testing.T) {
	for text, want := range map[string][2]string{
		"2010-01:2010-02":                      {"2010-01", "2010-02"},
		"2010:2011":                            {"2010", "2011"},
		"2010-01-01T12:00:2010-01-01T18:00":    {"2010-01-01T12:00", "2010-01-01T18:00"},
		"2010-01-01 06:00:00:2010-01-02 06:00": {"2010-01-01 06:00:00", "2010-01-02 06:00"},
		":2010-02":                             {"", "2010-02"},
		"2010-02:":                             {"2010-02", ""},
	} {
		from, to, isRange := cutTimes(text)
		if !isRange || from != want[0] || to != want[1] {
			t.Errorf("%s: %q, %q, %v", text, from, to, isRange)
		}
	}
	for _, text := range []string{"2010", "2010-01-01T12:00", "2010-01-01T12:00:30"} {
		if from, to, isRange := cutTimes(text); isRange {
			t.Errorf("%s is one time, not from %q to %q", text, from, to)
		}
	}
}

func TestSpan(t *testing.T) {
	for text, want := range map[string][2]string{
		"2010":             {"2010-01-01", "2011-01-01"},
		"2010-02":          {"2010-02-01", "2010-03-01"},
		"2010-12":          {"2010-12-01", "2011-01-01"},
		"2012-02-29":       {"2012-02-29", "2012-03-01"},
		"2010-02-03T06":    {"2010-02-03 06:00:00", "2010-02-03 07:00:00"},
		"2010-02-03 06:30": {"2010-02-03 06:30:00", "2010-02-03 06:31:00"},
	} {
		first, behind, err := span(text, cf.Standard)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := [2]string{first.Format(cf.Standard), behind.Format(cf.Standard)}; got != want {
			t.Errorf("%s: %v, not %v", text, got, want)
		}
	}
	if _, _, err := span("yesterday", cf.Standard); err == nil {
		t.Error("yesterday is no date")
	}
}

func TestNPYHeader(t *testing.T) {
	for _, shape := range [][]int64{nil, {3}, {1, 2, 3}, {1 << 40, 5}} {
		header := npyHeader("<f4", shape)
		if len(header)%64 != 0 || header[len(header)-1] != '\n' {
			t.Errorf("%v: %d bytes, %q", shape, len(header), header)
		}
		if n := int(binary.LittleEndian.Uint16(header[8:])); n != len(header)-10 {
			t.Errorf("%v: says %d bytes, has %d", shape, n, len(header)-10)
		}
	}
}

// TestMeasure holds the fast loops against the plain one.
func TestMeasure(t *testing.T) {
	const seed = 1
	r := rand.New(rand.NewPCG(seed, 0))
	special := []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1), 3e38, -3e38}
	for _, size := range []int{4, 8} {
		d := &Decoder{typ: codec.Type{Kind: codec.Float, Size: size}, scale: 1}
		for n := range 70 {
			numbers := make([]float64, n)
			var elems []byte
			for i := range numbers {
				numbers[i] = float64(float32(r.NormFloat64()))
				if r.IntN(8) == 0 {
					numbers[i] = special[r.IntN(len(special))]
				}
				if size == 4 {
					numbers[i] = float64(float32(numbers[i]))
					elems = binary.LittleEndian.AppendUint32(elems, math.Float32bits(float32(numbers[i])))
				} else {
					elems = binary.LittleEndian.AppendUint64(elems, math.Float64bits(numbers[i]))
				}
			}
			got, want := d.measure(elems), measureNumbers(numbers)
			near := math.Abs(got.Sum-want.Sum) <= 1e-9*math.Abs(want.Sum)+1e-12 || got.Sum == want.Sum || got.Sum != got.Sum && want.Sum != want.Sum
			if got.Count != want.Count || got.Valid != want.Valid || got.Min != want.Min || got.Max != want.Max || !near {
				t.Errorf("seed %d, %d of size %d: %+v, not %+v", seed, n, size, got, want)
			}
		}
	}
}

func TestMaskedElementsAreNotValid(t *testing.T) {
	d := &Decoder{typ: codec.Type{Kind: codec.Int, Size: 2}, unsigned: codec.Type{Kind: codec.Int, Size: 2}, scale: 0.5, offset: 1, masks: [][]byte{{0xff, 0xff}}}
	got := d.measure([]byte{2, 0, 0xff, 0xff, 4, 0})
	if want := (Statistics{Count: 3, Valid: 2, Min: 2, Max: 3, Sum: 5}); got != want {
		t.Errorf("%+v, not %+v", got, want)
	}
	if text := d.Text([]byte{0xff, 0xff}); text != "" {
		t.Errorf("a missing element reads %q", text)
	}
}

func BenchmarkMeasure(b *testing.B) {
	elems := bytes.Repeat([]byte{0, 0, 0x80, 0x3f}, 1<<20)
	d := &Decoder{typ: codec.Type{Kind: codec.Float, Size: 4}, scale: 1}
	b.SetBytes(int64(len(elems)))
	for b.Loop() {
		d.measure(elems)
	}
}
