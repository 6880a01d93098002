package manifest

import (
	"errors"
	"strings"
	"testing"
)

// TestCheckNames checks that the error of CheckNames lists all paths that Zarr clients cannot find, and has
// the remedies rename and drop.
func TestCheckNames(t *testing.T) {
	fine := &Snapshot{Groups: []GroupSchema{{Path: "/"}, {Path: "/a b"}}, Arrays: []Array{{Path: "/a b/.x"}, {Path: "/a b/ü%?"}}}
	if err := fine.CheckNames(); err != nil {
		t.Errorf("got %v", err)
	}
	bad := &Snapshot{Groups: []GroupSchema{{Path: "/.."}}, Arrays: []Array{{Path: "/x"}, {Path: `/g/a\b`}, {Path: "/g//x"}}}
	err := bad.CheckNames()
	if !errors.Is(err, errors.ErrUnsupported) {
		t.Fatalf("got %v", err)
	}
	for _, want := range []string{`".."`, `"g/a\\b"`, `"g//x"`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not name %s", err, want)
		}
	}
	var advice *RemedyError
	if !errors.As(err, &advice) || len(advice.Remedies) != 2 || advice.Remedies[0].Option != "build/rename" || advice.Remedies[1].Option != "build/drop" {
		t.Errorf("remedies are %+v", advice)
	}
	if n := strings.Count(err.Error(), "\n"); n != 2 {
		t.Errorf("%d names, want 3", n+1)
	}
}
