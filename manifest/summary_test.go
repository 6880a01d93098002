package manifest

import (
	"math"
	"testing"
)

// TestSummaryText checks that ParseSummary parses the result of String, and returns nil for damaged texts.
func TestSummaryText(t *testing.T) {
	o := Summary{Nature: "times", Count: 3000, Run: -1, Step: 0.001, First: [2]int64{5, 999}, Last: [2]int64{-7, 0}, Least: [2]int64{-7, 0},
		Greatest: [2]int64{5, 999}, Meant: "6c1b", Bag: 1<<63 + 5}
	const text = "times 3000 -1 0.001 5:999 -7:0 -7:0 5:999 6c1b 8000000000000005"
	if got := o.String(); got != text {
		t.Errorf("String: %s", got)
	}
	if got := ParseSummary(text); got == nil || *got != o {
		t.Errorf("parsed as %+v", got)
	}
	o.Step = math.Inf(1)
	if got := ParseSummary(o.String()); got == nil || *got != o {
		t.Errorf("parsed as %+v", got)
	}
	for _, damaged := range []string{
		"", "times", text + " more", "times x -1 0.001 5:999 -7:0 -7:0 5:999 6c1b 8000000000000005", "times 3000 300 0.001 5:999 -7:0 -7:0 5:999 6c1b 8000000000000005",
		"times 3000 -1 far 5:999 -7:0 -7:0 5:999 6c1b 8000000000000005", "times 3000 -1 0.001 5 -7:0 -7:0 5:999 6c1b 8000000000000005",
		"times 3000 -1 0.001 5:999 -7:0 -7:0 5:999 6c1b bag",
	} {
		if got := ParseSummary(damaged); got != nil {
			t.Errorf("%q: %+v", damaged, got)
		}
	}
}

// TestValueHasher checks that elements that are written in parts have the same ID as all elements at once.
func TestValueHasher(t *testing.T) {
	v := Values{Data: []byte("one and another")}
	v.SetID()
	s := NewValueHasher(int64(len(v.Data)))
	for _, b := range v.Data {
		s.Write([]byte{b})
	}
	if got := s.ID(); got != v.ID {
		t.Errorf("got %s, want %s", got, v.ID)
	}
}
