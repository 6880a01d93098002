package scan

import (
	"context"
	"sync/atomic"

	"golang.org/x/sync/semaphore"

	"varve/readers/source"
)

// memory limits the memory of the sources that are being scanned, or whose results wait for those of earlier sources.
// The more of them are scanned at once, the less memory each may use before it has to wait. The current source, whose
// results are collected next, never waits, so that the scan always goes on.
type memory struct {
	left     *semaphore.Weighted
	expected atomic.Int64 // for a source, from what those before it have read
}

const (
	// memoryAhead is the limit in bytes.
	memoryAhead = 256 << 20
	// firstExpected is the memory that is expected for a source before any was read.
	firstExpected = 1 << 20
	// leastClaim is the size in bytes from which the rows and values of a variable are counted. The expected memory of a
	// source includes smaller ones.
	leastClaim = 64 << 10
	// parsedBytes is the expected memory for each byte of metadata that is read.
	parsedBytes = 4
)

func newMemory() *memory {
	m := &memory{left: semaphore.NewWeighted(memoryAhead)}
	m.expected.Store(firstExpected)
	return m
}

// holding is the memory that one source has claimed.
type holding struct {
	of      *memory
	ctx     context.Context // of the scan
	waiting context.Context // ends when the source becomes the current one
	current context.CancelFunc
	bytes   int64
}

func (m *memory) hold(ctx context.Context) *holding {
	h := &holding{of: m, ctx: ctx}
	h.waiting, h.current = context.WithCancel(ctx)
	return h
}

// setCurrent makes the source the current one.
func (h *holding) setCurrent() { h.current() }

// release ends all claims. Nothing may be claimed any more.
func (h *holding) release() { h.of.left.Release(h.bytes) }

// begin claims the memory that is expected for a source.
func (h *holding) begin() error { return h.claim(h.of.expected.Load()) }

// claim waits until there is memory for more bytes, or until the source is the current one. A holding may be nil: then
// nothing is limited.
func (h *holding) claim(bytes int64) error {
	if h == nil || bytes < leastClaim {
		return nil
	}
	bytes = min(bytes, memoryAhead)
	if h.of.left.TryAcquire(bytes) || h.of.left.Acquire(h.waiting, bytes) == nil {
		h.bytes += bytes
		return nil
	}
	return h.ctx.Err()
}

// learn updates the expected memory with the metadata that was read of a source on a server.
func (h *holding) learn(src *source.Source) {
	if h == nil || !src.Far() {
		return
	}
	// A mean of about the last eight sources.
	old := h.of.expected.Load()
	h.of.expected.Store(max(old+(parsedBytes*src.Stats().Bytes-old)/8, leastClaim))
}
