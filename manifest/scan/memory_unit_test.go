package scan

import (
	"context"
	"testing"
	"time"
)

// TestMemoryAhead checks that sources share the memory for results that wait, and that the current source never waits.
func TestMemoryAhead(t *testing.T) {
	m := newMemory()
	first, second, third := m.hold(t.Context()), m.hold(t.Context()), m.hold(t.Context())
	if err := second.claim(memoryAhead); err != nil {
		t.Fatal(err)
	}
	granted := make(chan error, 1)
	go func() { granted <- third.claim(leastClaim) }()
	select {
	case err := <-granted:
		t.Fatalf("a claim beyond the limit: %v", err)
	case <-time.After(20 * time.Millisecond):
	}
	first.setCurrent()
	if err := first.claim(3 * memoryAhead); err != nil {
		t.Errorf("the current source: %v", err)
	}
	first.release()
	second.setCurrent()
	second.release()
	if err := <-granted; err != nil {
		t.Errorf("after another source was collected: %v", err)
	}
	third.release()
	if !m.left.TryAcquire(memoryAhead) {
		t.Error("claims are left")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := m.hold(ended).claim(leastClaim); err == nil {
		t.Error("a claim of a scan that ended")
	}
}
