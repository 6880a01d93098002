package source

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"
)

// Limits of the requests to one host at a time.
const (
	// firstPerHost is the limit before a host has answered.
	firstPerHost = 32
	// MaxPerHost is the largest number of requests to one host at a time.
	MaxPerHost = 128
	// maxBytesPerHost limits the bytes that these requests ask for, since the answers are in memory. A single request may
	// ask for more.
	maxBytesPerHost = 128 << 20
)

// hostLimit limits the requests to one host at a time, of all sources of an Opener. It finds a limit that suits the host:
//
//	an answer comes as fast as usual, and all slots are taken    the limit grows, by one in as many answers as it allows
//	429, 503, no answer in time                                  the limit becomes half of the requests in progress
//
// Requests that began before the limit was halved do not halve it again. The limit grows slowly again to a number of
// requests at a time at which the host refused one.
type hostLimit struct {
	mu      sync.Mutex
	limit   float64
	active  int
	bytes   int64          // requested by the active requests
	waiting []*hostRequest // in the order in which they came
	halved  time.Time
	usual   time.Duration // until an answer begins, if the host is not busy
	refused float64       // the number of requests at a time of which the host last refused one; 0 if it never did
}

// hostRequest is a request in progress, or one that waits.
type hostRequest struct {
	bytes int64
	may   chan struct{} // closed when the request may begin
	began time.Time
}

// hostLimits are the limits of all hosts.
type hostLimits struct{ hosts sync.Map }

func (l *hostLimits) of(host string) *hostLimit {
	h, _ := l.hosts.LoadOrStore(host, newHostLimit())
	return h.(*hostLimit)
}

func newHostLimit() *hostLimit { return &hostLimit{limit: firstPerHost} }

// acquire waits until a request for some bytes may begin.
func (h *hostLimit) acquire(ctx context.Context, bytes int64) (*hostRequest, error) {
	r := &hostRequest{bytes: bytes, may: make(chan struct{})}
	h.mu.Lock()
	h.waiting = append(h.waiting, r)
	h.admit()
	h.mu.Unlock()
	select {
	case <-r.may:
		return r, nil
	case <-ctx.Done():
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	select {
	case <-r.may: // it was admitted in the meantime
		h.end(r)
	default:
		for i := range h.waiting {
			if h.waiting[i] == r {
				h.waiting = append(h.waiting[:i], h.waiting[i+1:]...)
				break
			}
		}
		h.admit() // it may have been too large for those behind it
	}
	return nil, context.Cause(ctx)
}

// admit lets waiting requests begin, in their order.
func (h *hostLimit) admit() {
	for len(h.waiting) > 0 {
		r := h.waiting[0]
		if h.active > 0 && (h.active >= int(h.limit) || h.bytes+r.bytes > maxBytesPerHost) {
			return
		}
		h.waiting = h.waiting[1:]
		h.active++
		h.bytes += r.bytes
		r.began = time.Now()
		close(r.may)
	}
}

func (h *hostLimit) end(r *hostRequest) {
	h.active--
	h.bytes -= r.bytes
	h.admit()
}

// answered notes how long a host took to begin an answer, which tells whether it could take more requests.
func (h *hostLimit) answered(latency time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.usual == 0 || latency < h.usual {
		h.usual = latency
	} else {
		h.usual += h.usual / 256 // a host that stays slower than before is not busy
	}
	if h.active < int(h.limit) || latency > 2*h.usual {
		return
	}
	step := 1 / h.limit
	if h.limit < h.refused && h.limit+1 >= h.refused {
		step /= cautious
	}
	h.limit = min(h.limit+step, MaxPerHost)
	h.admit()
}

// cautious divides the growth of a limit that comes near the number of requests at which the host refused one.
const cautious = 16

// release ends a request. It reports whether the host refused the request while it had others, so that it may accept the
// request later.
func (h *hostLimit) release(r *hostRequest, err error) (crowded bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if crowded = h.active > 1 && isRefusal(err); crowded {
		h.refused = float64(h.active)
	}
	if isBusy(err) && r.began.After(h.halved) {
		h.limit, h.halved = max(min(h.limit, float64(h.active))/2, 1), time.Now()
	}
	h.end(r)
	return crowded
}

// isRefusal reports whether a host refused a request because it has too many.
func isRefusal(err error) bool {
	var status *statusError
	return errors.As(err, &status) && (status.code == http.StatusTooManyRequests || status.code == http.StatusServiceUnavailable)
}

// isBusy reports whether a request failed in a way in which requests to busy hosts fail.
func isBusy(err error) bool {
	var late net.Error
	return isRefusal(err) || errors.As(err, &late) && late.Timeout()
}
