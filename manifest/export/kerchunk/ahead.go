package kerchunk

import (
	"bytes"
	"context"
	"iter"
	"slices"
	"sync"

	"varve/grid"
	"varve/manifest"
)

// dropChunks removes the first n chunks of a run. Its coordinates stay.
func dropChunks(r *manifest.Run, n int64) {
	r.Chunks -= n
	if r.Offsets != nil {
		r.Offsets, r.Sizes = r.Offsets[n:], r.Sizes[n:]
	}
}

// part is a batch of runs of a slab, or the error that ended it.
type part struct {
	runs   []manifest.Run // without coordinates, which follow from the order
	chunks int64
	ranges []int64 // memory for offsets and sizes
	err    error
}

// Several cores locate chunks concurrently, each in one slab of chunks that are consecutive in C order. The
// size of slabs bounds the memory for locations that wait for the consumer.
const (
	partLength = 4096
	slabParts  = 8
)

// locations yields the locations of an array's chunks in C order in batches, starting at chunk number from. A
// batch is valid until the next one.
func (e *export) locations(ctx context.Context, a array, from int64) iter.Seq2[[]manifest.Run, error] {
	return func(yield func([]manifest.Run, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		l := &locator{array: a, free: make(chan *part, (e.opts.Workers+1)*slabParts)}
		defer l.working.Wait()
		defer cancel()
		slabs, before := slabsOf(a.Grid(), from)
		var ahead []<-chan *part
		for len(slabs) > 0 || len(ahead) > 0 {
			for len(slabs) > 0 && len(ahead) <= e.opts.Workers {
				ahead = append(ahead, l.start(ctx, slabs[0]))
				slabs = slabs[1:]
			}
			// Slabs are consumed in order, while later ones are located in the background.
			for p := range ahead[0] {
				if !yield(dropFirst(p.runs, &before), p.err) || p.err != nil {
					return
				}
				l.recycle(p)
			}
			ahead = ahead[1:]
		}
	}
}

// dropFirst removes the first *before chunks from runs, and subtracts them from *before.
func dropFirst(runs []manifest.Run, before *int64) []manifest.Run {
	for len(runs) > 0 && *before >= runs[0].Chunks {
		*before -= runs[0].Chunks
		runs = runs[1:]
	}
	if len(runs) > 0 && *before > 0 {
		dropChunks(&runs[0], *before)
		*before = 0
	}
	return runs
}

// locator locates the chunks of an array.
type locator struct {
	array
	working sync.WaitGroup
	free    chan *part
}

// start locates the chunks of a slab in the background.
func (l *locator) start(ctx context.Context, slab grid.Region) <-chan *part {
	out := make(chan *part, slabParts)
	send := func(p *part) bool {
		select {
		case out <- p:
			return true
		case <-ctx.Done():
			return false
		}
	}
	l.working.Go(func() {
		defer close(out)
		p := l.part()
		for r, err := range l.Runs(ctx, slab) {
			if err != nil {
				send(&part{err: err})
				return
			}
			if p.chunks > 0 && p.chunks+r.Chunks > partLength {
				if !send(p) {
					return
				}
				p = l.part()
			}
			p.add(r)
		}
		if err := ctx.Err(); err != nil {
			send(&part{err: err})
		} else if p.chunks > 0 {
			send(p)
		}
	})
	return out
}

// add appends a copy of a run.
func (p *part) add(r *manifest.Run) {
	p.chunks += r.Chunks
	// The store reuses r after the iteration, so all slices are copied.
	l := *r
	l.Coords, l.Inline = nil, bytes.Clone(r.Inline)
	if n := len(r.Offsets); n > 0 {
		at := len(p.ranges)
		p.ranges = append(append(p.ranges, r.Offsets...), r.Sizes...)
		l.Offsets, l.Sizes = p.ranges[at:at+n:at+n], p.ranges[at+n:at+2*n:at+2*n]
	}
	p.runs = append(p.runs, l)
}

// part returns an empty part, reusing memory if possible.
func (l *locator) part() *part {
	select {
	case p := <-l.free:
		clear(p.runs)
		*p = part{runs: p.runs[:0], ranges: p.ranges[:0]}
		return p
	default:
		return &part{ranges: make([]int64, 0, 2*partLength)}
	}
}

// recycle returns a part to the free list.
func (l *locator) recycle(p *part) {
	select {
	case l.free <- p:
	default:
	}
}

// slabsOf cuts a grid into slabs of chunks that are consecutive in C order, beginning with the slab that
// contains chunk from. before is the number of chunks in that slab before from.
func slabsOf(g *grid.Grid, from int64) (slabs []grid.Region, before int64) {
	counts := g.Counts()
	axis := slices.IndexFunc(counts, func(n int64) bool { return n != 1 })
	if axis < 0 || g.Chunks() == 0 {
		return []grid.Region{grid.Whole(counts)}, 0
	}
	row := g.Chunks() / counts[axis]
	length := max(partLength*slabParts/row, 1)
	for at := from / row; at < counts[axis]; at += length {
		slab := grid.Whole(slices.Clone(counts)).Clone()
		slab.Origin[axis], slab.Shape[axis] = at, min(length, counts[axis]-at)
		slabs = append(slabs, slab)
	}
	return slabs, from % row
}
