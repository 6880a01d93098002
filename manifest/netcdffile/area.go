package netcdffile

import (
	"context"
	"sort"
)

// window is the number of chunks of a leaf of an index: twice the default K of libhdf5, which superblock 2 implies.
const window = 64

// chunk is a chunk of a variable.
type chunk struct {
	size int64 // 0 if it is not stored
	mask uint32
	from any // what chunks.read needs to find it
}

// chunks are the chunks of a variable, numbered in row order.
type chunks interface {
	// window returns chunks of the window that begins with a number.
	window(ctx context.Context, first int64) ([]chunk, error)
	// read reads bytes of a chunk, from an offset in it.
	read(ctx context.Context, number int64, c *chunk, b []byte, off int64) error
}

// area is the part of the file with the chunks of a variable.
type area struct {
	chunks chunks
	count  int64
	begin  int64
	slot   int64   // the room of each chunk, or 0 if the area is dense
	starts []int64 // if it is dense, where each window begins in the area; the last entry is the size of the area
}

func (a *area) size() int64 {
	if a.slot > 0 {
		return a.count * a.slot
	}
	if len(a.starts) == 0 {
		return 0
	}
	return a.starts[len(a.starts)-1]
}

// measure makes the area dense.
func (a *area) measure(sizes func(yield func(size int64)) error) error {
	a.starts = make([]int64, 1, (a.count+window-1)/window+1)
	n, total := int64(0), int64(0)
	err := sizes(func(size int64) {
		total += size
		if n++; n%window == 0 || n == a.count {
			a.starts = append(a.starts, total)
		}
	})
	return err
}

// addresses returns the addresses of the chunks of a window.
func (a *area) addresses(first int64, list []chunk) []int64 {
	out := make([]int64, len(list))
	if a.slot > 0 {
		for i := range out {
			out[i] = a.begin + (first+int64(i))*a.slot
		}
		return out
	}
	at := a.begin + a.starts[first/window]
	for i := range out {
		out[i] = at
		at += list[i].size
	}
	return out
}

// read fills b with the bytes at an offset in the area. Gaps are zeros.
func (a *area) read(ctx context.Context, b []byte, off int64) error {
	for len(b) > 0 {
		n, err := a.readWindow(ctx, b, off)
		if err != nil {
			return err
		}
		b, off = b[n:], off+int64(n)
	}
	return nil
}

// readWindow reads the first bytes of b, from one window.
func (a *area) readWindow(ctx context.Context, b []byte, off int64) (n int, err error) {
	var w int64
	end := a.size()
	if a.slot > 0 {
		w = off / (window * a.slot)
		end = min(end, (w+1)*window*a.slot)
	} else {
		w = int64(sort.Search(len(a.starts), func(i int) bool { return a.starts[i] > off })) - 1
		end = a.starts[w+1]
	}
	b = b[:min(int64(len(b)), end-off)]
	list, err := a.chunks.window(ctx, w*window)
	if err != nil {
		return 0, err
	}
	clear(b)
	at := a.addresses(w*window, list)
	i := sort.Search(len(list), func(i int) bool { return at[i]-a.begin+list[i].size > off })
	for ; i < len(list); i++ {
		from := at[i] - a.begin
		if from >= off+int64(len(b)) {
			break
		}
		c := &list[i]
		skip := max(off-from, 0)
		into := b[max(from-off, 0):]
		into = into[:min(int64(len(into)), max(c.size-skip, 0))]
		if len(into) == 0 {
			continue
		}
		if err := a.chunks.read(ctx, w*window+int64(i), c, into, skip); err != nil {
			return 0, err
		}
	}
	return len(b), nil
}
