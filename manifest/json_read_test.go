package manifest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
)

// TestHeaderDecoder: a decoder gives the same headers as encoding/json, also for damaged texts.
func TestHeaderDecoder(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	d := &HeaderDecoder{}
	quick := 0
	check := func(text []byte) {
		want := &Header{}
		err := json.Unmarshal(text, want)
		got, failed := d.Decode(text)
		if fmt.Sprint(err) != fmt.Sprint(failed) || err == nil && !reflect.DeepEqual(got, want) {
			t.Fatalf("%s\ngot  %+v, %v\nwant %+v, %v", text, got, failed, want, err)
		}
		if d.header(text) != nil {
			quick++
		}
	}
	valid := 0
	for range 300 {
		h := &Header{Dimensions: []Dimension{{Path: randomName(rng), Length: rng.Int64N(3)}}}
		for range rng.IntN(4) {
			v := randomVariable(rng)
			h.Variables = append(h.Variables, &v)
		}
		// The same variables again, with other values of attributes.
		for range 3 {
			text, err := json.Marshal(h)
			if err != nil {
				t.Fatal(err)
			}
			valid++
			check(text)
			for range 20 {
				damaged := append([]byte(nil), text...)
				at := rng.IntN(len(damaged))
				switch rng.IntN(3) {
				case 0:
					damaged = append(damaged[:at], damaged[at+1:]...)
				case 1:
					damaged[at] = `{}[]",:\ 0n`[rng.IntN(11)]
				default:
					damaged = damaged[:at]
				}
				check(damaged)
			}
			for i := range h.Variables {
				again := *h.Variables[i]
				again.Attributes = append([]Attribute(nil), again.Attributes...)
				for k := range again.Attributes {
					if a := &again.Attributes[k]; len(a.Data) > 0 {
						a.Data = randomElement(rng, a.Type)
						a.Scalar = true
					}
				}
				h.Variables[i] = &again
			}
		}
	}
	if quick < valid {
		t.Errorf("only %d texts were decoded part by part, of %d that are valid", quick, valid)
	}
}
