package main

import (
	"runtime"
	"syscall"
	"unsafe"
)

// roomBytes is how much of the heap is asked for in large pages.
const roomBytes = 64 << 20

// makeRoom asks for large pages for the first part of the heap. Scans make a great many small
// things in a short time: in pages of 4 KiB, a fifth of the time of a build goes into faults
// (docs/architecture.md). The runtime gives no such advice on its heap, and takes it from the
// system piece by piece. So this makes a slice that has the room, gives the advice, and drops
// the slice untouched: what is made later lies there.
func makeRoom() {
	const large = 2 << 20
	room := make([]byte, roomBytes)
	skip := -uintptr(unsafe.Pointer(unsafe.SliceData(room))) % large
	if syscall.Madvise(room[skip:len(room)-int(large-skip)%large], syscall.MADV_HUGEPAGE) == nil {
		runtime.GC()
	}
}
