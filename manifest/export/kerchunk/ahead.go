package kerchunk

import (
	"context"
	"iter"
	"slices"
	"sync"

	"varve/grid"
	"varve/manifest/store"
)

// located is a store.Location that stays, without coordinates: they follow from the order.
type located struct {
	kind         store.Kind
	source       int64
	offset, size int64
	inline       []byte
	patch        bool // in a file of the manifest
}

// part is some locations of a slab, or the error that ended it.
type part struct {
	list []located
	err  error
}

// Locations of an array are found by several cores, each of them busy with a slab of chunks
// that follow each other in C order. Slabs are as large as memory ahead of the consumer may
// be.
const (
	partLength = 1024
	slabParts  = 32
)

// locations yields the locations of an array in C order from a chunk on, some at a time. The
// list is overwritten by the next.
func (e *export) locations(ctx context.Context, a array, from int64) iter.Seq2[[]located, error] {
	return func(yield func([]located, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		l := &locator{array: a, free: make(chan []located, (e.opts.Workers+1)*slabParts)}
		defer l.working.Wait()
		defer cancel()
		slabs, before := slabsOf(a.Grid(), from)
		var ahead []<-chan part
		for len(slabs) > 0 || len(ahead) > 0 {
			for len(slabs) > 0 && len(ahead) <= e.opts.Workers {
				ahead = append(ahead, l.start(ctx, slabs[0]))
				slabs = slabs[1:]
			}
			for p := range ahead[0] {
				skip := min(before, int64(len(p.list)))
				before -= skip
				if !yield(p.list[skip:], p.err) || p.err != nil {
					return
				}
				l.recycle(p.list)
			}
			ahead = ahead[1:]
		}
	}
}

// locator finds the locations of an array.
type locator struct {
	array
	working sync.WaitGroup
	free    chan []located
}

// start has a slab worked on.
func (l *locator) start(ctx context.Context, slab grid.Region) <-chan part {
	out := make(chan part, slabParts)
	send := func(p part) bool {
		select {
		case out <- p:
			return true
		case <-ctx.Done():
			return false
		}
	}
	l.working.Go(func() {
		defer close(out)
		list := l.list()
		for location, err := range l.Locations(ctx, slab) {
			if err != nil {
				send(part{err: err})
				return
			}
			list = append(list, located{location.Kind, location.Source, location.Offset, location.Size, cloned(location.Inline), location.IsPatch()})
			if len(list) == partLength {
				if !send(part{list: list}) {
					return
				}
				list = l.list()
			}
		}
		if err := ctx.Err(); err != nil {
			send(part{err: err})
		} else if len(list) > 0 {
			send(part{list: list})
		}
	})
	return out
}

func cloned(b []byte) []byte {
	if b == nil {
		return nil
	}
	return append([]byte{}, b...)
}

// list is room for a part.
func (l *locator) list() []located {
	select {
	case list := <-l.free:
		return list[:0]
	default:
		return make([]located, 0, partLength)
	}
}

// recycle takes a list whose locations have been used.
func (l *locator) recycle(list []located) {
	clear(list)
	select {
	case l.free <- list:
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
