package planner

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"varve/fixtures/soak"
	"varve/manifest/internal/planner/plantest"
)

// TestForm: an archive that is written as text is read as the same archive, for all cases and for random archives.
func TestForm(t *testing.T) {
	for name, c := range allCases(t) {
		checkForm(t, name, c.Archive)
	}
	for seed := range soak.Seeds(t, 40) {
		g := newCuts(rand.New(rand.NewPCG(seed, 3)))
		checkForm(t, fmt.Sprint("seed ", seed), &plantest.Archive{Files: g.m.files})
	}
}

func checkForm(t *testing.T, name string, a *plantest.Archive) {
	t.Helper()
	lines := plantest.Write(a)
	again, err := plantest.Parse(lines)
	if err == nil {
		err = plantest.Equal(a, again)
	}
	if err != nil {
		t.Errorf("%s: %v\n%s", name, err, lines)
	}
}
