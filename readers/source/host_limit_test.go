package source

import (
	"context"
	"errors"
	"testing"
	"time"
)

// take begins a request, which must be possible at once.
func take(t *testing.T, h *hostLimit, bytes int64) *hostRequest {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	r, err := h.acquire(ctx, bytes)
	if err != nil {
		t.Fatalf("with %d requests in progress: %v", h.active, err)
	}
	return r
}

// refused reports whether a request has to wait.
func refused(h *hostLimit, bytes int64) bool {
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	r, err := h.acquire(ctx, bytes)
	if err == nil {
		h.release(r, nil)
	}
	return err != nil
}

// TestHostLimit checks how answers change the limit of a host.
func TestHostLimit(t *testing.T) {
	h := new(hostLimits).of("host")
	var all []*hostRequest
	fill := func() {
		for len(all) < int(h.limit) {
			all = append(all, take(t, h, 1))
		}
	}
	fill()
	if len(all) != firstPerHost || !refused(h, 1) {
		t.Fatalf("%d requests at a time, want %d", len(all), firstPerHost)
	}
	for range 2 * firstPerHost {
		h.answered(10 * time.Millisecond)
	}
	fill()
	if len(all) != firstPerHost+1 {
		t.Errorf("after fast answers the limit is %v", h.limit)
	}
	for range 100 {
		h.answered(time.Second)
	}
	if int(h.limit) != firstPerHost+1 {
		t.Errorf("after slow answers the limit is %v", h.limit)
	}
	crowd := len(all)
	for _, err := range []error{&statusError{code: 429}, &statusError{code: 503}, &stalled{time.Second}, errors.New("other")} {
		h.release(all[0], err)
		all = all[1:]
	}
	if h.limit != float64(crowd)/2 {
		t.Errorf("after refusals of one crowd the limit is %v, want half of %d", h.limit, crowd)
	}
	for _, r := range all {
		h.release(r, nil)
	}
	if h.active != 0 || h.bytes != 0 || len(h.waiting) != 0 {
		t.Errorf("%d requests of %d bytes are left, and %d wait", h.active, h.bytes, len(h.waiting))
	}
}

// TestHostLimitBytes checks that requests for many bytes wait, that a single one may be larger than the limit, and that a
// request that no longer waits does not hold up others.
func TestHostLimitBytes(t *testing.T) {
	h := new(hostLimits).of("host")
	large := take(t, h, 2*maxBytesPerHost)
	if !refused(h, 1) {
		t.Error("a request beside one that is too large")
	}
	if crowded := h.release(large, &statusError{code: 503}); crowded || h.limit != 1 {
		t.Errorf("a single request is a crowd: %t, and the limit is %v", crowded, h.limit)
	}
	h = new(hostLimits).of("host")
	small := take(t, h, 1)
	if !refused(h, maxBytesPerHost) || refused(h, 1) {
		t.Error("a request that stopped waiting holds up others")
	}
	h.release(small, nil)
}
