package planner

import (
	"encoding/json"
	"slices"
	"testing"

	"varve/codec"
	"varve/manifest"
	"varve/manifest/plan"
	"varve/manifest/report"
)

// TestFaults: a fault is reported only for older manifests that may have it.
func TestFaults(t *testing.T) {
	of := func(opts plan.Options, make func(m *maker)) *manifest.Snapshot {
		m := newMaker()
		make(m)
		p, err := planning(m, &opts)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(opts)
		if err != nil {
			t.Fatal(err)
		}
		return &manifest.Snapshot{Arrays: p.Arrays, Options: text, Sources: int64(len(m.files))}
	}
	uint64s := codec.Type{Kind: codec.Uint, Size: 8}
	for name, c := range map[string]struct {
		s    *manifest.Snapshot
		want report.Fault // empty for none
	}{
		"no fault": {of(plan.Options{}, func(m *maker) {
			m.day("a", 0, 1)
			m.day("b", 1, 1)
		}), ""},
		"unnamed axes": {of(plan.Options{}, func(m *maker) {
			for i, name := range []string{"a", "b"} {
				m.file(name, days(i, 1), cube("h", "time phony_dim_1 phony_dim_2", []int64{1, 3, 5}, []int64{1, 3, 5}))
			}
		}), report.UnnamedAxes},
		"unnamed axes of one file": {of(plan.Options{}, func(m *maker) {
			m.file("a", cube("h", "phony_dim_1 phony_dim_2", []int64{3, 5}, []int64{3, 5}))
		}), ""},
		"one unnamed axis": {of(plan.Options{}, func(m *maker) {
			for i, name := range []string{"a", "b"} {
				m.file(name, days(i, 1), cube("h", "time phony_dim_1", []int64{1, 3}, []int64{1, 3}))
			}
		}), ""},
		"64-bit unsigned integers": {of(plan.Options{}, func(m *maker) { m.file("a", coords("cell", "cell", uint64s, 1, 2)) }), report.LargeIntegers},
		"64-bit unsigned integers that are not a coordinate": {of(plan.Options{}, func(m *maker) {
			m.file("a", coords("cell", "x", uint64s, 1, 2))
		}), ""},
		"padding":                  {of(plan.Options{Pad: plan.PadFill}, func(m *maker) { m.day("a", 0, 1) }), report.PaddedValues},
		"a name that is not UTF-8": {of(plan.Options{}, func(m *maker) { m.file("a", coords("t\uFFFD", "x", float64s, 1)) }), report.InvalidNames},
	} {
		var want []report.Fault
		if c.want != "" {
			want = []report.Fault{c.want}
		}
		if got := Faults(c.s); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
		c.s.Generation = manifest.Generation
		if got := Faults(c.s); got != nil {
			t.Errorf("%s, built by this version: %q, want none", name, got)
		}
	}
}
