package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

const (
	// leastRoom is what garbage may always come to: all of what the scan of one file leaves behind.
	leastRoom = 40 << 20
	// mostGarbage is how much garbage there may be beside what lives, in percent of it.
	mostGarbage = 400
	// mostRoom is what garbage may come to before it is less than mostGarbage, but never less than
	// what lives.
	mostRoom = 512 << 20
	// leastLive is what the runtime takes for what lives, if it is less.
	leastLive = 4 << 20
)

// tuneMemory lets the memory grow further before it is swept, unless the user said how far:
// what lives here is small, and what scans and requests leave behind is much. Where much lives, as
// of an archive whose files each have a header of their own, it is swept as usual.
func tuneMemory() {
	if os.Getenv("GOGC") != "" {
		return
	}
	percent := garbagePercent(0)
	debug.SetGCPercent(percent)
	afterCollections(func() {
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(live)
		if now := garbagePercent(live[0].Value.Uint64()); now != percent { // which stops the world
			percent = now
			debug.SetGCPercent(percent)
		}
	})
}

// garbagePercent is how much garbage there may be beside so many bytes that live.
func garbagePercent(live uint64) int {
	live = max(live, leastLive)
	return int(max(min(mostRoom*100/live, mostGarbage), leastRoom*100/live, 100))
}

// afterCollections calls f after each collection of garbage: what nobody points at is finalized then.
func afterCollections(f func()) {
	type sentinel struct{ _ *byte }
	var again func(*sentinel)
	again = func(*sentinel) {
		runtime.SetFinalizer(&sentinel{}, again) // before f, so that a collection that f leads to counts
		f()
	}
	runtime.SetFinalizer(&sentinel{}, again)
}
