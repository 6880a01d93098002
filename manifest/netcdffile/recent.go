package netcdffile

import "sync"

// recent keeps the windows and the large chunk that were read last, for all variables of a file together.
type recent struct {
	mu      sync.Mutex
	windows map[place][]chunk
	large   place // of the last large chunk
	data    []byte
}

// place is a chunk of an array.
type place struct {
	of     *arrayChunks
	number int64
}

const (
	// keptWindows limits the windows that are kept: each takes about 16 KiB.
	keptWindows = 1024
	// largeChunk is the size from which the cache of a store may not keep a decoded chunk. A program reads it in many pieces.
	largeChunk = 32 << 20
)

// window returns a window of chunks, if it is kept.
func (r *recent) window(of *arrayChunks, first int64) ([]chunk, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	list, ok := r.windows[place{of, first}]
	return list, ok
}

// keepWindow keeps a window of chunks.
func (r *recent) keepWindow(of *arrayChunks, first int64, list []chunk) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.windows) >= keptWindows || r.windows == nil {
		r.windows = map[place][]chunk{}
	}
	r.windows[place{of, first}] = list
}

// chunk returns a decoded chunk, if it is the last large one; else nil.
func (r *recent) chunk(of *arrayChunks, number int64) []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.large != (place{of, number}) {
		return nil
	}
	return r.data
}

// keepChunk keeps a decoded chunk if it is large.
func (r *recent) keepChunk(of *arrayChunks, number int64, data []byte) {
	if len(data) < largeChunk {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.large, r.data = place{of, number}, data
}
