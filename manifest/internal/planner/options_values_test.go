package planner

import (
	"errors"
	"math"
	"testing"

	"varve/manifest/plan"
	english "varve/manifest/report/text"
)

// TestOptionValues: Check and New reject invalid values, because options may come from other programs.
func TestOptionValues(t *testing.T) {
	for _, c := range []struct {
		name, option string
		opts         plan.Options
	}{
		{"missing", "missing=filll", plan.Options{Missing: "filll"}},
		{"pad", "pad=yes", plan.Options{Pad: "yes"}},
		{"coords", "coords=last", plan.Options{Coords: "last"}},
		{"overlap", "overlap=newest", plan.Options{Overlap: "newest"}},
		{"vars", "vars=[a", plan.Options{Vars: []string{"x", "[a"}}},
		{"drop", "drop=[a", plan.Options{Drop: []string{"[a"}}},
		{"negative tolerance", "tolerance=-1", plan.Options{Tolerance: -1}},
		{"tolerance NaN", "tolerance=NaN", plan.Options{Tolerance: math.NaN()}},
		{"infinite tolerance", "tolerance=+Inf", plan.Options{Tolerance: math.Inf(1)}},
		{"new dimension without a name", "new-dim", plan.Options{NewDims: []plan.NewDim{{Pattern: `(\d+)`}}}},
		{"new dimension without a source of values", "new-dim=run", plan.Options{NewDims: []plan.NewDim{{Name: "run"}}}},
		{"new dimension with two sources of values", "new-dim=run", plan.Options{NewDims: []plan.NewDim{{Name: "run", Pattern: `(\d+)`, Attribute: "run"}}}},
		{"an invalid pattern", "new-dim=run", plan.Options{NewDims: []plan.NewDim{{Name: "run", Pattern: `(`}}}},
		{"a pattern without a group", "new-dim=run", plan.Options{NewDims: []plan.NewDim{{Name: "run", Pattern: `\d+`}}}},
		{"unknown type", "dtype=t2m=float17", plan.Options{Schemas: []plan.Override{{Array: "t2m", Type: "float17"}}}},
		{"no edges", "chunk-edges=t2m:time", plan.Options{Schemas: []plan.Override{{Array: "t2m", Chunks: map[string][]int64{"time": {}}}}}},
		{"an edge of length 0", "chunk-edges=t2m:time", plan.Options{Schemas: []plan.Override{{Array: "t2m", Chunks: map[string][]int64{"time": {4, 0}}}}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var wrong *plan.OptionError
			if err := c.opts.Check(); !errors.As(err, &wrong) || (&english.Printer{}).Setting(wrong.Setting) != c.option {
				t.Errorf("Check: %v; want an OptionError of %s", err, c.option)
			}
			wrong = nil
			if _, _, err := newPlan(nil, &c.opts); !errors.As(err, &wrong) || (&english.Printer{}).Setting(wrong.Setting) != c.option {
				t.Errorf("New: %v; want an OptionError of %s", err, c.option)
			}
		})
	}
	if err := (&plan.Options{}).Check(); err != nil {
		t.Error(err)
	}
}
