package progress

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestCounter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []int64
		c := New(func(done, total int64) {
			if total != 10 {
				t.Errorf("%d in all, not 10", total)
			}
			told = append(told, done)
		}, 10)
		for range 10 {
			time.Sleep(40 * time.Millisecond)
			c.Add(1)
		}
		if want := []int64{3, 6, 9, 10}; len(told) != 4 || [4]int64(told) != [4]int64(want) {
			t.Errorf("told %v, not %v", told, want)
		}
	})
}

// TestEnd: many that count at once leave the end to be told, and once.
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
		t.Errorf("the end was told %d times", ends)
	}
}

func TestNobody(t *testing.T) { New(nil, 3).Add(3) }
