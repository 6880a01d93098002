package plan

import "testing"

func TestNothing(t *testing.T) {
	if _, _, err := New(nil, nil); err == nil {
		t.Fatal("a plan of nothing")
	}
}
