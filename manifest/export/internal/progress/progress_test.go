package progress

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestCounter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reports []int64
		c := New(func(done, total int64) {
			if total != 10 {
				t.Errorf("%d in all, not 10", total)
			}
			reports = append(reports, done)
		}, 10)
		for range 10 {
			time.Sleep(40 * time.Millisecond)
			c.Add(1)
		}
		if want := []int64{3, 6, 9, 10}; len(reports) != 4 || [4]int64(reports) != [4]int64(want) {
			t.Errorf("reported %v, want %v", reports, want)
		}
	})
}

// TestEnd checks that concurrent counting reports the end exactly once.
func TestEnd(t *testing.T) {
	var mu sync.Mutex
	ends := 0
	c := New(func(done, total int64) {
		mu.Lock()
		defer mu.Unlock()
		if done == total {
			ends++
		}
	}, 8000)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 1000 {
				c.Add(1)
			}
		})
	}
	if all.Wait(); ends != 1 {
		t.Errorf("the end was reported %d times", ends)
	}
}

// TestOneAtATime checks that reports are not concurrent, and that their numbers increase.
func TestOneAtATime(t *testing.T) {
	inside, last := atomic.Int64{}, int64(0)
	c := New(func(done, _ int64) {
		if inside.Add(1) > 1 || done <= last {
			t.Errorf("reported %d after %d, %d reports at a time", done, last, inside.Load())
		}
		last = done
		time.Sleep(250 * time.Millisecond)
		inside.Add(-1)
	}, 4)
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			time.Sleep(time.Duration(1+i) * 110 * time.Millisecond)
			c.Add(1)
		})
	}
	if all.Wait(); last != 4 {
		t.Errorf("the last report is %d", last)
	}
}

func TestNobody(t *testing.T) { New(nil, 3).Add(3) }
