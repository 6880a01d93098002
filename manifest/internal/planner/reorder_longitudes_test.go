package planner

import (
	"errors"
	"testing"

	"varve/manifest/plan"
	"varve/manifest/report"
)

// TestLongitudesOfGrids: the option longitudes is refused by name if no file has longitudes along a dimension of their own.
func TestLongitudesOfGrids(t *testing.T) {
	m := newMaker()
	for i, name := range []string{"a", "b"} {
		grid := cube("lon", "y x", []int64{1, 2}, []int64{1, 2}).with("units", "degrees_east")
		grid.values = coords("lon", "lon", float32s, 0, 200).values
		m.file(name, days(2*i, 2), grid, cube("t", "time y x", []int64{2, 1, 2}, []int64{2, 1, 2}).with("coordinates", "lon"))
	}
	_, _, err := newPlan(m.files, &plan.Options{Longitudes: plan.Around0})
	var refused *plan.OptionError
	if !errors.As(err, &refused) || refused.Setting.Option != report.Longitudes {
		t.Errorf("got %v", err)
	}
	t.Log(err)
}
