package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

const (
	// leastRoom is the garbage that is always allowed: as much as the scan of one file makes.
	leastRoom = 40 << 20
	// mostGarbage limits garbage, in percent of the live heap.
	mostGarbage = 400
	// mostRoom limits garbage in bytes, for heaps that are so large that mostGarbage would exceed it.
	// Garbage may always be as large as the live heap.
	mostRoom = 128 << 20
	// leastLive is the smallest live heap that the runtime assumes.
	leastLive = 4 << 20
)

// tuneMemory lets the heap grow further between garbage collections, unless the user has set GOGC. The
// live heap is usually small, while scans and requests make much garbage. A large live heap, for
// example of many different headers, is collected as usual.
func tuneMemory() {
	if os.Getenv("GOGC") != "" {
		return
	}
	percent := garbagePercent(0)
	debug.SetGCPercent(percent)
	afterCollections(func() {
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(live)
		if now := garbagePercent(live[0].Value.Uint64()); now != percent { // setting it stops all goroutines
			percent = now
			debug.SetGCPercent(percent)
		}
	})
}

// garbagePercent returns the value of GOGC for a live heap of this size.
func garbagePercent(live uint64) int {
	live = max(live, leastLive)
	return int(max(min(mostRoom*100/live, mostGarbage), leastRoom*100/live, 100))
}

// afterCollections calls f after each garbage collection, by the finalizer of an object without
// references.
func afterCollections(f func()) {
	type sentinel struct{ _ *byte }
	var again func(*sentinel)
	again = func(*sentinel) {
		runtime.SetFinalizer(&sentinel{}, again) // before f, so that a collection during f is noticed
		f()
	}
	runtime.SetFinalizer(&sentinel{}, again)
}
