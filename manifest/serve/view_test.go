package serve

import (
	"fmt"
	"math"
	"testing"
	"time"
)

// TestManyGroups checks that the time to make a hierarchy grows about linearly with the number of groups. With a
// linear search for the nodes of each group, 20 times as many groups took 200 times as long (100,000 took a minute).
// The test compares the minimum of several runs, because the machine may be busy.
func TestManyGroups(t *testing.T) {
	took := func(n int) time.Duration {
		nodes := []node{{}}
		for i := range n {
			nodes = append(nodes, node{path: fmt.Sprintf("g%07d", i)})
		}
		began := time.Now()
		v, err := newV3(nodes, "tag")
		if err != nil || len(v.documents) != n+1 {
			t.Fatal(err)
		}
		return time.Since(began)
	}
	some, many := time.Duration(math.MaxInt64), time.Duration(math.MaxInt64)
	for range 3 {
		if some, many = min(some, took(2000)), min(many, took(40000)); many <= 120*some {
			return
		}
	}
	t.Errorf("40,000 groups take %v, but 2,000 take %v", many, some)
}

// TestConsolidatedBeside checks that a node whose name only starts with the group's name is not consolidated,
// and that nodes sorted after it are.
func TestConsolidatedBeside(t *testing.T) {
	nodes := []node{{path: "a"}, {path: "a!"}, {path: "a-b"}, {path: "a-b/c"}, {path: "a/d"}, {path: "a/d/e"}, {path: "ab"}, {path: "b"}}
	var got []string
	for _, m := range consolidate(nodes).Consolidated.Members {
		got = append(got, m.Path)
	}
	if fmt.Sprint(got) != "[d d/e]" {
		t.Errorf("got %v", got)
	}
}
