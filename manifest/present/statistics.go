package present

import (
	"context"
	"math"
	"runtime"
	"sync"

	"golang.org/x/sync/errgroup"

	"varve/codec"
)

// Statistics are of the elements of a selection. NaN, and what the array's attributes call
// missing, count but are not Valid.
type Statistics struct {
	Count int64   `json:"count"`
	Valid int64   `json:"valid"`
	Min   float64 `json:"min"`
	Max   float64 `json:"max"`
	Mean  float64 `json:"mean"`
	Sum   float64 `json:"sum"`
}

// blockElements is how much is in memory at a time when a selection streams.
const blockElements = 8 << 20

// Measure reads a selection and returns its statistics. Memory does not grow with it.
func Measure(ctx context.Context, s *Selection, d *Decoder) (Statistics, error) {
	total := newStatistics()
	err := d.each(ctx, s, func(elems []byte) {
		total = total.plus(d.parallel(elems))
	})
	return total.done(), err
}

func newStatistics() Statistics {
	return Statistics{Min: math.Inf(1), Max: math.Inf(-1)}
}

func (t Statistics) plus(u Statistics) Statistics {
	return Statistics{Count: t.Count + u.Count, Valid: t.Valid + u.Valid, Min: min(t.Min, u.Min), Max: max(t.Max, u.Max), Sum: t.Sum + u.Sum}
}

func (t Statistics) done() Statistics {
	if t.Valid == 0 {
		t.Min, t.Max, t.Mean = math.NaN(), math.NaN(), math.NaN()
		return t
	}
	t.Mean = t.Sum / float64(t.Valid)
	return t
}

// each reads a selection block by block: the next one while the last one is looked at.
func (d *Decoder) each(ctx context.Context, s *Selection, look func(elems []byte)) error {
	group, ctx := errgroup.WithContext(ctx)
	blocks := make(chan []byte)
	free := sync.Pool{New: func() any { return new([]byte) }}
	group.Go(func() error {
		defer close(blocks)
		for _, block := range s.Blocks(blockElements) {
			ix, err := block.Indexer()
			if err != nil {
				return err
			}
			elems := sized(free.Get().(*[]byte), int(block.Count())*d.typ.Size)
			if err := s.Array.Read(ctx, ix, codec.Elems{Fixed: elems}); err != nil {
				return err
			}
			select {
			case blocks <- elems:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	})
	group.Go(func() error {
		for elems := range blocks {
			look(elems)
			free.Put(&elems)
		}
		return nil
	})
	return group.Wait()
}

func sized(b *[]byte, n int) []byte {
	if cap(*b) < n {
		*b = make([]byte, n)
	}
	return (*b)[:n]
}

// parallel measures elements on all cores, in the same pieces whatever their number, so that
// sums are always the same.
func (d *Decoder) parallel(elems []byte) Statistics {
	const piece = 1 << 18
	size := d.typ.Size
	pieces := (len(elems)/size + piece - 1) / piece
	parts := make([]Statistics, pieces)
	var next sync.Mutex
	at := 0
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), pieces) {
		workers.Go(func() {
			for {
				next.Lock()
				i := at
				at++
				next.Unlock()
				if i >= pieces {
					return
				}
				parts[i] = d.measure(elems[i*piece*size : min((i+1)*piece*size, len(elems))])
			}
		})
	}
	workers.Wait()
	total := newStatistics()
	for _, p := range parts {
		total = total.plus(p)
	}
	return total
}
