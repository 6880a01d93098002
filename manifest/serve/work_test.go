package serve

import (
	"context"
	"math"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"varve/codec"
	"varve/grid"
	"varve/manifest"
)

// countingArray counts the bytes of the regions that are being read at the same time.
type countingArray struct {
	array
	now, most atomic.Int64
}

func (a *countingArray) ReadRegion(_ context.Context, _ grid.Region, dst codec.Elems) error {
	n := a.now.Add(int64(len(dst.Fixed)))
	for most := a.most.Load(); n > most && !a.most.CompareAndSwap(most, n); most = a.most.Load() {
	}
	clear(dst.Fixed)
	a.now.Add(-int64(len(dst.Fixed)))
	return nil
}

// TestWorkBytes checks that pictures of an array of 2^40 elements, requested at the same time, are drawn within the limit of
// memory.
func TestWorkBytes(t *testing.T) {
	leavesNothing(t)
	d := newFake(t)
	huge := &countingArray{array: d.add(t, "/huge", regularDoc("[1099511627776, 1]", "[1048576, 1]"), func(int64) manifest.ChunkKind { return manifest.Missing })}
	d.arrays[len(d.arrays)-1] = huge
	slice := &slice{array: huge, region: grid.Region{Origin: []int64{0, 0}, Shape: []int64{maxSlice, 1}}}
	opts := &Options{WorkBytes: 2 * slice.bytes(), Patience: time.Hour, open: fakeOpen(d)}
	s := start(t, newHandlerOf(t, opts, "a"))
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			resp, err := http.Get(s.URL + "/huge?as=png")
			if err != nil {
				t.Error(err)
				return
			}
			resp.Body.Close()
			if resp.StatusCode != http.StatusOK {
				t.Errorf("status %d", resp.StatusCode)
			}
		})
	}
	all.Wait()
	size := int64(maxSlice * huge.Schema().DataType.Type().Size)
	if most := huge.most.Load(); most < size || most > 2*size {
		t.Errorf("slices of %d bytes are read at the same time, each has %d; the limit is for two", most, size)
	}
}

// TestCreate checks that work waits for memory, that work of more than the limit is done alone, and that nothing is kept.
func TestCreate(t *testing.T) {
	l := &limits{reencodes: newTurns(2, 0), work: newTurns(100, 0), answers: newTurns(1, 0)}
	for _, c := range []struct {
		name  string
		sizes []int64
		ok    []bool
	}{
		{"within the limits", []int64{50, 50}, []bool{true, true}},
		{"too much memory", []int64{60, 50}, []bool{true, false}},
		{"too many", []int64{1, 1, 1}, []bool{true, true, false}},
		{"more than the limit alone", []int64{math.MaxInt64}, []bool{true}},
		{"more than the limit beside another", []int64{1, math.MaxInt64}, []bool{true, false}},
	} {
		var all []func()
		for i, n := range c.sizes {
			done, ok := l.create(t.Context(), n)
			if ok != c.ok[i] {
				t.Errorf("%s: %d of %v: got %v", c.name, i, c.sizes, ok)
			}
			if ok {
				all = append(all, done)
			}
		}
		for _, done := range all {
			done()
		}
	}
}
