package mosaic

import (
	"sync"
	"testing"
)

// TestBounded: the cache keeps a limited number of values, also if many goroutines fill it.
func TestBounded(t *testing.T) {
	var c bounded[int, int]
	var workers sync.WaitGroup
	for w := range 4 {
		workers.Go(func() {
			for i := range 5 * mostFits {
				if v := c.loadOrStore(i, 2*i); v != 2*i {
					t.Errorf("worker %d: %d for the key %d", w, v, i)
				}
				if v, ok := c.load(i); ok && v != 2*i {
					t.Errorf("worker %d: %d for the key %d", w, v, i)
				}
			}
		})
	}
	workers.Wait()
	n := 0
	c.now.Load().values.Range(func(any, any) bool { n++; return true })
	if n == 0 || n > mostFits+4 {
		t.Errorf("%d values, want at most %d", n, mostFits)
	}
}
