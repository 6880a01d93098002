package kerchunk

import (
	"context"
	"iter"
	"slices"
	"sync"

	"varve/grid"
	"varve/manifest/store"
)

// located is a store.Run that stays, without coordinates: they follow from the order.
type located struct {
	kind           store.Kind
	chunks         int64
	source         int64
	offsets, sizes []int64 // of each chunk that is a range
	inline         []byte
	patch          bool // in a file of the manifest
}

// skip takes chunks off the front.
func (l *located) skip(n int64) {
	l.chunks -= n
	if l.offsets != nil {
		l.offsets, l.sizes = l.offsets[n:], l.sizes[n:]
	}
}

// part is some runs of a slab, or the error that ended it.
type part struct {
	runs   []located
	chunks int64
	ranges []int64 // room for offsets and sizes
	err    error
}

// Locations of an array are found by several cores, each of them busy with a slab of chunks
// that follow each other in C order. Slabs are as large as memory ahead of the consumer may
// be.
const (
	partLength = 4096
	slabParts  = 8
)

// locations yields the locations of an array in C order from a chunk on, some at a time. The
// list is overwritten by the next.
func (e *export) locations(ctx context.Context, a array, from int64) iter.Seq2[[]located, error] {
	return func(yield func([]located, error) bool) {
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
			for p := range ahead[0] {
				if !yield(behind(p.runs, &before), p.err) || p.err != nil {
					return
				}
				l.recycle(p)
			}
			ahead = ahead[1:]
		}
	}
}

// behind is what is left of runs without as many chunks, which it counts down.
func behind(runs []located, before *int64) []located {
	for len(runs) > 0 && *before >= runs[0].chunks {
		*before -= runs[0].chunks
		runs = runs[1:]
	}
	if len(runs) > 0 && *before > 0 {
		runs[0].skip(*before)
		*before = 0
	}
	return runs
}

// locator finds the locations of an array.
type locator struct {
	array
	working sync.WaitGroup
	free    chan *part
}

// start has a slab worked on.
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

// add adds a copy of a run.
func (p *part) add(r *store.Run) {
	p.chunks += r.Chunks
	l := located{kind: r.Kind, chunks: r.Chunks, source: r.Source, patch: r.IsPatch()}
	if r.Inline != nil {
		l.inline = append([]byte{}, r.Inline...)
	}
	if n := len(r.Offsets); n > 0 {
		at := len(p.ranges)
		p.ranges = append(append(p.ranges, r.Offsets...), r.Sizes...)
		l.offsets, l.sizes = p.ranges[at:at+n:at+n], p.ranges[at+n:at+2*n:at+2*n]
	}
	p.runs = append(p.runs, l)
}

// part is room for a part.
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

// recycle takes a part whose runs have been used.
func (l *locator) recycle(p *part) {
	select {
	case l.free <- p:
	default:
	}
}

// slabsOf cuts a grid into boxes of chunks that follow each other in C order, those before a
// chunk left out. It returns how many chunks of the first box come before that.
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
