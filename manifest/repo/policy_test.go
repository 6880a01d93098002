package repo

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
)

// TestPolicy checks that a writer removes what the policy does not keep, once a day, and nothing without a policy.
func TestPolicy(t *testing.T) { everywhere(t, testPolicy) }

func testPolicy(t *testing.T, h *homes) {
	r := h.repository(t)
	if err := r.SetPolicy(t.Context(), &Policy{Keep: 2}); err == nil || !strings.Contains(err.Error(), "no snapshot") {
		t.Errorf("a policy for an empty repository: %v", err)
	}
	n := 0
	publish := func() string {
		n++
		return mustPublish(t, r, "shared", fmt.Sprint("own ", n)).ID
	}
	day := time.Date(2001, 2, 3, 12, 0, 0, 0, time.UTC)
	r.now = func() time.Time { return day }
	nextDay := func() { day = day.AddDate(0, 0, 1) }
	expect := func(what string, want int) {
		t.Helper()
		if got := len(messages(t, r)); got != want {
			t.Errorf("%s: %d snapshots remain, want %d", what, got, want)
		}
	}
	tagged := publish()
	if err := r.Tag(t.Context(), "v1", tagged, false); err != nil {
		t.Fatal(err)
	}
	publish()
	publish()
	expect("no policy", 3)
	if err := r.SetPolicy(t.Context(), &Policy{Keep: 2, Daily: 0}); err != nil {
		t.Fatal(err)
	}
	expect("before a writer came", 3)
	publish()
	expect("two of four, and the tagged one", 3)
	publish()
	expect("the same day", 4)
	nextDay()
	publish()
	expect("the next day", 3)
	if p, err := r.Policy(t.Context()); err != nil || !reflect.DeepEqual(p, &Policy{Keep: 2}) {
		t.Errorf("the policy is %+v, %v", p, err)
	}
	if tags, err := r.Tags(t.Context()); err != nil || tags["v1"] != tagged {
		t.Errorf("the tags are %v, %v", tags, err)
	}
	// Nothing is removed while another writes, and the snapshot is published.
	nextDay()
	other := reopen(t, r)
	if _, err := writeTable(t.Context(), other, "refs", "unpublished"); err != nil {
		t.Fatal(err)
	}
	publish()
	expect("beside another writer", 4)
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	if err := r.SetPolicy(t.Context(), &Policy{}); err != nil {
		t.Fatal(err)
	}
	publish()
	expect("all are kept", 5)
	if err := r.SetPolicy(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	publish()
	expect("no policy any more", 6)
}
