package planner

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"varve/manifest/internal/planner/plantest"
)

// TestForm: an archive that is written as text is read as the same archive, for all cases and for random archives.
func TestForm(t *testing.T) {
	names, err := filepath.Glob("testdata/*.plan")
	if err != nil || len(names) == 0 {
		t.Fatal("no cases", err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		_, cases, err := parseCases(string(text))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range cases {
			checkForm(t, name+": "+c.name, c.Archive)
		}
	}
	for seed := range uint64(200) {
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
