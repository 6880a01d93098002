package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"varve/manifest/repo"
)

func TestFailureText(t *testing.T) {
	far := errors.New("no such host")
	for _, c := range []struct {
		err  error
		want string
	}{
		{far, "no such host"},
		{context.Canceled, "interrupted"},
		{fmt.Errorf("a.nc: %w", context.Canceled), "interrupted: a.nc: context canceled"},
		{&repo.ConflictError{Name: "two/o.varve"}, "two/o.varve was created by another process in the meantime; nothing was written. Run varve append, or varve build --force"},
	} {
		if got := failureText(c.err); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

// TestGarbagePercent: a small heap may hold several times as much garbage as live data, and a large heap less.
func TestGarbagePercent(t *testing.T) {
	for _, c := range []struct {
		live uint64
		want int
	}{{0, 1000}, {4 << 20, 1000}, {8 << 20, 500}, {10 << 20, 400}, {32 << 20, 400}, {64 << 20, 200}, {100 << 20, 128}, {128 << 20, 100}, {8 << 30, 100}} {
		if got := garbagePercent(c.live); got != c.want {
			t.Errorf("%d %% of %d bytes, want %d", got, c.live, c.want)
		}
	}
}

func TestAfterCollections(t *testing.T) {
	calls := make(chan bool, 100)
	afterCollections(func() {
		select {
		case calls <- true:
		default:
		}
	})
	for range 3 {
		runtime.GC()
		select {
		case <-calls:
		case <-time.After(time.Minute):
			t.Fatal("not called after a collection")
		}
	}
}
