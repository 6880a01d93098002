package naming

import (
	"slices"
	"testing"
)

func TestTake(t *testing.T) {
	n := New()
	var got []string
	for _, wanted := range []string{"a", "a", "a_2", "a", "", "", "b/c", "b_c"} {
		got = append(got, n.Take(wanted, "usual"))
	}
	if want := []string{"a", "a_2", "a_2_2", "a_3", "usual", "usual_2", "b_c", "b_c_2"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
