package describe

import (
	"fmt"
	"io/fs"
	"testing"
	"time"

	"varve/fixtures/system"
	"varve/readers"
)

// TestManyProblems: a damaged object is found without a search among all objects. If several objects have its path,
// the first one is marked.
func TestManyProblems(t *testing.T) {
	const n = 30_000
	d := &describer{}
	var list []readers.Problem
	for i := range n {
		path := fmt.Sprint("/v", i)
		d.objects = append(d.objects, document{"path": path})
		list = append(list, readers.Problem{Path: path, Err: fs.ErrInvalid})
	}
	d.objects = append(d.objects, document{"path": "/v0", "second": true})
	list = append(list, readers.Problem{Path: "/lost", Err: fs.ErrInvalid}, readers.Problem{Path: "/lost", Err: fs.ErrExist})
	began := system.ProcessorTime(t)
	d.problems(list)
	if took := system.ProcessorTime(t) - began; took > time.Second {
		t.Errorf("took %v", took)
	}
	last, second := d.objects[len(d.objects)-1], d.objects[n]
	if len(d.objects) != n+2 || d.objects[0]["error"] == nil || second["error"] != nil || last["path"] != "/lost" || last["error"] != fs.ErrExist.Error() {
		t.Errorf("%d objects, the first %v, the second of its path %v, the last %v", len(d.objects), d.objects[0], second, last)
	}
}
