package present

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"varve/codec"
	"varve/fixtures/soak"
	"varve/manifest/internal/cf"
)

var numberTypes = []codec.Type{
	{Kind: codec.Int, Size: 1}, {Kind: codec.Int, Size: 2}, {Kind: codec.Int, Size: 4}, {Kind: codec.Int, Size: 8},
	{Kind: codec.Uint, Size: 1}, {Kind: codec.Uint, Size: 2}, {Kind: codec.Uint, Size: 4}, {Kind: codec.Uint, Size: 8},
	{Kind: codec.Float, Size: 2}, {Kind: codec.Float, Size: 4}, {Kind: codec.Float, Size: 8},
}

// elements returns random elements, among them missing and special numbers.
func elements(r *rand.Rand, t codec.Type, n int, masks [][]byte) []byte {
	var out []byte
	special := []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1), 6e4}
	for range n {
		switch {
		case len(masks) > 0 && r.IntN(4) == 0:
			out = append(out, masks[r.IntN(len(masks))]...)
		case t.Kind != codec.Float:
			out = cf.AppendWord(out, r.Uint64(), t.Size)
		default:
			f := float64(r.IntN(1000)-500) / 8
			if r.IntN(8) == 0 {
				f = special[r.IntN(len(special))]
			}
			e, _ := cf.Cast(t, codec.Type{Kind: codec.Float, Size: 8}, binary.LittleEndian.AppendUint64(nil, math.Float64bits(f)))
			out = append(out, e...)
		}
	}
	return out
}

// TestTally: the fast loops give the same statistics as slow, simple arithmetic.
func TestTally(t *testing.T) {
	seed := soak.Seed(t)
	r := rand.New(rand.NewPCG(seed, 0))
	for _, typ := range numberTypes {
		for n := range 60 {
			var masks [][]byte
			for range r.IntN(4) {
				masks = append(masks, elements(r, typ, 1, nil))
			}
			size := n
			if n == 0 {
				size = 3000
			}
			elems := elements(r, typ, size, masks)
			d := &Decoder{typ: typ, packing: cf.Packing{Type: typ, Masks: masks}, scale: 1}
			c, err := d.counter()
			if err != nil {
				t.Fatal(err)
			}
			first, second := c.tally(elems[:n/2*typ.Size]), c.tally(elems[n/2*typ.Size:])
			first.add(&second)
			got, err := d.statistics(&first)
			if err != nil {
				t.Fatal(err)
			}
			want := slowly(d, elems)
			if got.Count != want.Count || got.Valid != want.Valid || !sameNumber(got.Min, want.Min) || !sameNumber(got.Max, want.Max) || !sameNumber(got.Sum, want.Sum) {
				t.Fatalf("seed %d, %d of %v without %v: got %+v, want %+v", seed, size, typ, masks, got, want)
			}
		}
	}
}

// sameNumber compares statistics, with a tolerance for float sums that were added in another order.
func sameNumber(a, b Number) bool {
	if a.Integer != nil || b.Integer != nil {
		return a.Integer != nil && b.Integer != nil && a.Integer.Cmp(b.Integer) == 0
	}
	return a.Float == b.Float || a.Float != a.Float && b.Float != b.Float || math.Abs(a.Float-b.Float) < 1e-9*(math.Abs(a.Float)+1)
}

// slowly computes the statistics of elements one by one.
func slowly(d *Decoder, elems []byte) Statistics {
	s := Statistics{Min: Number{Float: math.Inf(1)}, Max: Number{Float: math.Inf(-1)}}
	sum := new(big.Int)
	for ; len(elems) > 0; elems = elems[d.typ.Size:] {
		e := elems[:d.typ.Size]
		s.Count++
		f := cf.Float(d.typ, e)
		if d.packing.IsMask(d.typ, e) || f != f {
			continue
		}
		s.Valid++
		if d.isFloat() {
			s.Min.Float, s.Max.Float, s.Sum.Float = min(s.Min.Float, f), max(s.Max.Float, f), s.Sum.Float+f
			continue
		}
		n := big.NewInt(int64(cf.Extend(d.typ, e)))
		if d.typ.Kind == codec.Uint {
			n = new(big.Int).SetUint64(cf.Word(e))
		}
		sum.Add(sum, n)
		if s.Valid == 1 || n.Cmp(s.Min.Integer) < 0 {
			s.Min.Integer = n
		}
		if s.Valid == 1 || n.Cmp(s.Max.Integer) > 0 {
			s.Max.Integer = n
		}
	}
	if s.Valid == 0 {
		s.Min.Float, s.Max.Float = math.NaN(), math.NaN()
	}
	if !d.isFloat() {
		s.Sum.Integer = sum
	}
	return s
}

// TestTallyRepeat checks the tally of equal elements that are counted at once.
func TestTallyRepeat(t *testing.T) {
	seed := soak.Seed(t)
	r := rand.New(rand.NewPCG(seed, 1))
	for _, typ := range numberTypes {
		for n := 1; n < 60; n++ {
			masks := [][]byte{elements(r, typ, 1, nil)}
			one := elements(r, typ, 1, masks)
			d := &Decoder{typ: typ, packing: cf.Packing{Type: typ, Masks: masks}, scale: 1}
			c, err := d.counter()
			if err != nil {
				t.Fatal(err)
			}
			at := c.tally(one)
			at.repeat(int64(n))
			got, err := d.statistics(&at)
			if err != nil {
				t.Fatal(err)
			}
			want := slowly(d, bytes.Repeat(one, n))
			exact := typ.Kind != codec.Float || sameNumber(got.Sum, want.Sum) || math.Abs(got.Sum.Float-want.Sum.Float) <= 1e-12*math.Abs(want.Sum.Float)
			if got.Count != want.Count || got.Valid != want.Valid || !sameNumber(got.Min, want.Min) || !sameNumber(got.Max, want.Max) || !exact || typ.Kind != codec.Float && !sameNumber(got.Sum, want.Sum) {
				t.Fatalf("seed %d, %d of %v: got %+v, want %+v", seed, n, typ, got, want)
			}
		}
	}
}

// TestMeasure: statistics of selections, stored and decoded.
func TestMeasure(t *testing.T) {
	st := built(t, threeMonths(t, "standard"))
	for _, c := range []struct {
		name      string
		isel, sel string
		decode    bool
		want      string
	}{
		{name: "sst", want: `{"count":144,"valid":132,"min":2700,"max":3811,"mean":3255.5454545454545,"sum":429732}`},
		{name: "sst", decode: true, isel: "time=0,lat=0", want: `{"count":4,"valid":4,"min":300.15,"max":300.17999999999995,"mean":300.16499999999996,"sum":1200.6599999999999}`},
		{name: "sst", isel: "time=::5,lat=1", want: `{"count":12,"valid":9,"min":2704,"max":3707,"mean":3205.6666666666665,"sum":28851}`},
		{name: "sst", sel: "lat=50:60", want: `{"count":0,"valid":0,"min":null,"max":null,"mean":null,"sum":0}`},
		{name: "sst", isel: "time=0,lat=1,lon=1", want: `{"count":1,"valid":0,"min":null,"max":null,"mean":null,"sum":0}`},
		{name: "lat", want: `{"count":3,"valid":3,"min":-10.100000381469727,"max":10.100000381469727,"mean":0,"sum":0}`},
		{name: "time", isel: "time=:3", want: `{"count":3,"valid":3,"min":27.5,"max":29.5,"mean":28.5,"sum":85.5}`},
		{name: "time", isel: "time=:3", decode: true, want: `{"count":3,"valid":3,"min":"2010-01-28 12:00:00","max":"2010-01-30 12:00:00","mean":"2010-01-29 12:00:00","sum":null}`},
		{name: "flags", decode: true, want: `{"count":3,"valid":3,"min":1,"max":4,"mean":2.3333333333333335,"sum":7}`},
	} {
		s := selected(t, st, c.name, split(c.isel), split(c.sel))
		got, err := Measure(t.Context(), s, decoderOf(t, s, c.decode))
		if err != nil {
			t.Fatal(err)
		}
		if text, err := json.Marshal(got); err != nil || string(text) != c.want {
			t.Errorf("%s %s %s: got %s (%v), want %s", c.name, c.isel, c.sel, text, err, c.want)
		}
	}
}

// TestNegativeScale: a negative scale_factor swaps minimum and maximum.
func TestNegativeScale(t *testing.T) {
	typ := codec.Type{Kind: codec.Int, Size: 2}
	d := &Decoder{typ: typ, packing: cf.Packing{Type: typ}, scale: -0.5, offset: 1}
	c, err := d.counter()
	if err != nil {
		t.Fatal(err)
	}
	n := c.tally([]byte{2, 0, 8, 0})
	got, err := d.statistics(&n)
	if err != nil || got.Min.Float != -3 || got.Max.Float != 0 || got.Sum.Float != -3 || got.Mean.Float != -1.5 {
		t.Errorf("%+v (%v)", got, err)
	}
}

func TestNumberJSON(t *testing.T) {
	for want, n := range map[string]Number{
		"9007199254740993": {Float: 9007199254740992, Integer: big.NewInt(9007199254740993)},
		`"2010-01-01"`:     {Time: "2010-01-01"},
		"null":             {Float: math.NaN()},
		`"Infinity"`:       {Float: math.Inf(1)},
		`"-Infinity"`:      {Float: math.Inf(-1)},
		"1.5":              {Float: 1.5},
	} {
		if got, err := json.Marshal(n); err != nil || string(got) != want {
			t.Errorf("%+v: got %s (%v), want %s", n, got, err, want)
		}
	}
}

func BenchmarkTally(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, typ := range numberTypes {
		elems := elements(r, typ, 1<<18, nil)
		if typ.Kind == codec.Float {
			one, _ := cf.Cast(typ, codec.Type{Kind: codec.Int, Size: 1}, []byte{1})
			for at := 0; at < len(elems); at += typ.Size {
				copy(elems[at:], one)
			}
		}
		for name, masks := range map[string][][]byte{"plain": nil, "mask": {elems[:typ.Size:typ.Size]}} {
			if name == "mask" && typ.Kind == codec.Float {
				masks = [][]byte{cf.AppendWord(nil, 0, typ.Size)}
			}
			c := newCounter(typ, masks)
			b.Run(typ.String()+"/"+name, func(b *testing.B) {
				b.SetBytes(int64(len(elems)))
				b.ReportAllocs()
				for b.Loop() {
					c.tally(elems)
				}
			})
		}
	}
}
